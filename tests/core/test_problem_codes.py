"""Every kind of problem has a code of its own, and nothing takes a sentence apart: read from the source."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import seqloom

SOURCE = Path(seqloom.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
CODE = "[a-z][a-z-]*"

# Codes that several lines raise, since to who groups problems they are one.
SHARED = {
    "option-without-use": "of the command line, and of Python",
    "part-misfit": "a part that does not fit, and a module that has none",
    "invalid-value": "a value of a wrong type, and none",
    "key-without-use": "a key that changes nothing, whatever decides that",
    "unknown-language": "one language, and one of several",
    "unknown-name": "a name that no registry has",
    "unknown-prompt": "a prompt that the run can't write, in part or at all",
    "decode-limit": "a text that would be longer than the model can write",
    "rotary": "what rotary positions do not go with",
    "tag-column": "a column that holds no tags, in both forms of CoNLL",
    "no-such-file": "a file that is named, and one that is opened",
    "known-binary": "a file whose first bytes say what it is; the archive's are not the first",
    "empty-{}": "a value that is missing, in tables, parallel text and CoNLL",
}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in FILES:
        yield path.relative_to(SOURCE), ast.parse(path.read_text(encoding="utf-8"))


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def codes_of(value: ast.expr) -> Iterator[str]:
    """The codes that an expression may be; of an f-string its form, and none of what another problem has."""
    match value:
        case ast.Constant(value=str(code)):
            yield code
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.IfExp(body=body, orelse=orelse):
            yield from codes_of(body)
            yield from codes_of(orelse)
        case _:
            pass


def sites() -> dict[str, list[str]]:
    """Where each code is given."""
    sites_found: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            codes = [word.value for word in call.keywords if word.arg == "code"]
            codes += call.args[:1] if name_of(call) == "Problem" else []
            for code in (code for value in codes for code in codes_of(value)):
                sites_found[code].append(f"{path}:{call.lineno}")
    return sites_found


def test_each_kind_of_problem_has_a_code_of_its_own() -> None:
    sites_found = sites()
    assert len(sites_found) > 100
    assert {code: where for code, where in sites_found.items() if len(where) > 1 and code not in SHARED} == {}
    assert [code for code in SHARED if len(sites_found[code]) < 2] == []


def test_each_error_of_data_has_a_code() -> None:
    for path, tree in trees():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if name_of(call) in ("DataError", "TextError"):
                assert "code" in {word.arg for word in call.keywords}, f"{path}:{call.lineno}"


# What would take a sentence apart, and what holds one.
TAKING_APART = {"startswith", "endswith", "partition", "rpartition", "split", "removeprefix", "removesuffix", "find"}
PATTERNS = {"search", "match", "fullmatch", "sub", "findall", "finditer"}
# The message of TOML's parser, which has the line nowhere else; what another library raised, in one line.
OTHERS = {"core/config/toml.py", "core/wording.py"}


def is_sentence(value: ast.expr) -> bool:
    """str(error), or what a problem, an error or a finding says."""
    match value:
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in ("wrong", "error", "problem", "exception", "damaged")
        case ast.Attribute(attr="message" | "advice" | "sentence"):
            return True
        case ast.Call(func=ast.Attribute(value=inside)):
            return is_sentence(inside)
        case _:
            return False


def test_no_code_takes_a_sentence_apart() -> None:
    sites_found = []
    for path, tree in trees():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if path.as_posix() in OTHERS or not isinstance(call.func, ast.Attribute):
                continue
            read = call.func.attr in TAKING_APART and is_sentence(call.func.value)
            if read or (call.func.attr in PATTERNS and any(map(is_sentence, call.args))):
                sites_found.append(f"{path}:{call.lineno}")
    assert sites_found == []


@pytest.mark.parametrize(
    ("source", "taken"),
    [
        ("str(wrong).partition('. ')", True),
        ("error.problem.message.startswith('a')", True),
        ("re.sub('a', 'b', str(error))", True),
        ("path.name.startswith('a')", False),
    ],
)
def test_it_would_be_seen(source: str, taken: bool) -> None:
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    assert (is_sentence(call.func.value) or any(map(is_sentence, call.args))) == taken
