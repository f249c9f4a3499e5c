"""Every kind of problem has a code of its own, and no code parses a message; both are read from the source."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import seqloom

SOURCE = Path(seqloom.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
CODE = "[a-z][a-z-]*"

# Codes that several lines raise, since they are one kind of problem.
SHARED = {
    "option-without-use": "on the command line, and in Python",
    "part-misfit": "a part that does not fit, and a module that has none",
    "invalid-value": "a value of a wrong type, and a missing value",
    "key-without-use": "a key that changes nothing, for any reason",
    "unknown-language": "a single language, and one in a list",
    "unknown-name": "a name that no registry has",
    "unknown-prompt": "a prompt that the run can't encode, wholly or in part",
    "decode-limit": "a text that would be longer than the model can generate",
    "rotary": "options that do not go with rotary positions",
    "tag-column": "a column that holds no tags, in both forms of CoNLL",
    "no-such-file": "a file that is checked, and one that is opened",
    "known-binary": "a file that is known by its first bytes, and an archive, which is not",
    "empty-{}": "a value that is missing, in tables, parallel text and CoNLL",
}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in FILES:
        yield path.relative_to(SOURCE), ast.parse(path.read_text(encoding="utf-8"))


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def codes_of(value: ast.expr) -> Iterator[str]:
    """The codes that an expression may have; an f-string gives its pattern; a code of another problem gives none."""
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


def locations_of_codes() -> dict[str, list[str]]:
    """The locations that give each code."""
    locations: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            codes = [argument.value for argument in call.keywords if argument.arg == "code"]
            codes += call.args[:1] if name_of(call) == "Problem" else []
            for code in (code for value in codes for code in codes_of(value)):
                locations[code].append(f"{path}:{call.lineno}")
    return locations


def test_each_kind_of_problem_has_a_code_of_its_own() -> None:
    locations = locations_of_codes()
    assert len(locations) > 100
    assert {code: lines for code, lines in locations.items() if len(lines) > 1 and code not in SHARED} == {}
    assert [code for code in SHARED if len(locations[code]) < 2] == []


def test_each_error_of_data_has_a_code() -> None:
    for path, tree in trees():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if name_of(call) in ("DataError", "TextError"):
                assert "code" in {argument.arg for argument in call.keywords}, f"{path}:{call.lineno}"


# Methods and functions that would parse a message.
PARSING = {"startswith", "endswith", "partition", "rpartition", "split", "removeprefix", "removesuffix", "find"}
PATTERNS = {"search", "match", "fullmatch", "sub", "findall", "finditer"}
# The message of TOML's parser, the only source of the line; and the exception of another library, in one line.
OTHERS = {"core/config/toml.py", "core/wording.py"}


def is_message(value: ast.expr) -> bool:
    """str(error), or the message of a problem, an error or a finding."""
    match value:
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in ("wrong", "error", "problem", "exception", "damaged")
        case ast.Attribute(attr="message" | "advice" | "sentence"):
            return True
        case ast.Call(func=ast.Attribute(value=inside)):
            return is_message(inside)
        case _:
            return False


def test_no_code_parses_a_message() -> None:
    locations = []
    for path, tree in trees():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if path.as_posix() in OTHERS or not isinstance(call.func, ast.Attribute):
                continue
            is_parsed = call.func.attr in PARSING and is_message(call.func.value)
            if is_parsed or (call.func.attr in PATTERNS and any(map(is_message, call.args))):
                locations.append(f"{path}:{call.lineno}")
    assert locations == []


@pytest.mark.parametrize(
    ("source", "parsed"),
    [
        ("str(wrong).partition('. ')", True),
        ("error.problem.message.startswith('a')", True),
        ("re.sub('a', 'b', str(error))", True),
        ("path.name.startswith('a')", False),
    ],
)
def test_parsing_of_a_message_is_detected(source: str, parsed: bool) -> None:
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    assert (is_message(call.func.value) or any(map(is_message, call.args))) == parsed
