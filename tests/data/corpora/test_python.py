"""The standard library as text and as tagged lines."""

import sysconfig
from pathlib import Path
from random import Random

import pytest

from seqloom.core.problem import UserError
from seqloom.data.corpora import python
from seqloom.data.corpora.python import BUILTINS, logical_lines


def test_text_is_whole_files() -> None:
    chunks = list(python.text(0, None, 300_000))
    text = "".join(chunks)
    assert len(text) == 300_000
    assert text.isascii()
    assert len(set(text)) <= 110
    files = {
        path.read_text(errors="replace") + "\n" for path in python.python_files(Path(sysconfig.get_path("stdlib")))
    }
    assert files.issuperset(chunks[:-1])
    assert any(file.startswith(chunks[-1]) for file in files)


def test_text_has_no_length() -> None:
    with pytest.raises(UserError, match="Leave it out"):
        python.text(0, 5, None)


def test_files_leave_out_tests_and_packages() -> None:
    root = Path(sysconfig.get_path("stdlib"))
    files = [path.relative_to(root) for path in python.python_files(root)]
    assert files == sorted(files)
    assert Path("ast.py") in files
    assert Path("json/decoder.py") in files
    parts = {part for path in files for part in path.parts}
    assert not parts & {"test", "tests", "idlelib", "lib2to3", "site-packages", "__pycache__", "encodings"}
    assert not any(part.startswith("_sysconfigdata") for part in parts)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small standard library for the test."""
    monkeypatch.setattr(sysconfig, "get_path", {"stdlib": str(tmp_path)}.__getitem__)
    return tmp_path


def test_lines_are_drawn_from_all_files(library: Path) -> None:
    for name in "abcd":
        (library / f"{name}.py").write_text("".join(f"{name}{number} = 1\n" for number in range(100)))
    (library / "few.py").write_text("few = 1\nalone\nfew = 1\n")
    (library / "empty.py").write_text("")
    (library / "latin.py").write_bytes(b"x = '\xe9'\n")
    (library / "broken.py").write_text("x = (\n")
    (library / "tests").mkdir()
    (library / "tests" / "some.py").write_text("never = 1\n")
    sentences = list(python.sentences(1, None, 41))
    words = [words for (words, _), _ in sentences]
    assert len(set(words)) == len(words) == 41
    by_file = [sum(word[0].startswith(name) and word[0] != "few" for word in words) for name in "abcd"]
    assert sum(by_file) in (40, 41)
    assert min(by_file) >= 5
    all_sentences = list(python.sentences(1, None, 10_000))
    assert len(all_sentences) == 401  # the line `alone` has one token and is left out


def test_long_lines_are_cut(library: Path) -> None:
    (library / "long.py").write_text("x = [" + "1, " * 100 + "]\n")
    assert [len(words) for (words, _), _ in python.sentences(0, None, 10)] == [100]
    [sentence] = python.sentences(0, 4, 10)
    assert sentence.values == (("x", "=", "[", "1"), ("name", "operator", "operator", "number"))


def test_no_source_is_refused(library: Path) -> None:
    with pytest.raises(UserError, match="lacks the source"):
        python.text(0, None, None)
    library.rmdir()
    with pytest.raises(UserError, match="lacks the source"):
        python.shuffled_files(Random(0))


# The tags of tokens ---------------------------------------------------------------------------------------------------


LINES = {
    "import os.path as p, re": "import/keyword os/module . path/module as/keyword p/module , re/module",
    "from a.b import (c as d,\n    e)": "from/keyword a/module . b/module import/keyword "
    "( c/name as/keyword d/name , e/name )",
    "from . import x": "from/keyword . import/keyword x/name",
    "raise E(1) from exc": "raise/keyword E/call ( 1/number ) from/keyword exc/name",
    "x = len(y.size) + f(y.g(0x1F))": "x/name = len/builtin ( y/name . size/attribute ) "
    "+ f/call ( y/name . g/attribute ( 0x1F/number ) )",
    "f(len, key=lambda a, *b: id)": "f/call ( len/builtin , key/parameter = "
    "lambda/keyword a/parameter , * b/parameter : id/builtin )",
    "x = 'two words' # a  b": "x/name = 'twowords'/string #ab/comment",
    "x = '''one\n\ttwo''', \\\n  3": "x/name = '''onetwo'''/string , 3/number",
    "x = " + "'" + "a" * 50 + "'": "x/name = '" + "a" * 19 + "/string",
    'f(f"{x!r:>{w}} and " f"more", y)': 'f/call ( f"{x!r:>{w}}and"/string f"more"/string , y/name )',
    "x = [  # first\n    1,\n    # alone\n    2]": "x/name = [ #first/comment 1/number , #alone/comment 2/number ]",
    "match = match.case(case)": "match/name = match/name . case/attribute ( case/name )",
    "x.print = None": "x/name . print/attribute = None/keyword",
    "a: int = -1": "a/name : int/builtin = - 1/number",
    "with open(p) as f: f.read()": "with/keyword open/builtin ( p/name ) as/keyword f/name : "
    "f/name . read/attribute ( )",
}

BLOCK = '''\
@functools.wraps(f, x=g)
@cached
async def area(self, r: float = 2, *args, sep=len, **rest) -> float:
    """Doc string."""
    try:
        x = 1; y = 2
    except (OSError, x.E) as e:
        if (a and
                b): return c
    else:
        pass

class Shape(Base, metaclass=Meta):

    # alone
    @property
    def id(self): return self._id

match point:
    case Point(x=0, y=[_, *rest]):
        pass
'''

BLOCK_LINES = [
    "@ functools/decorator . wraps/decorator ( f/name , x/parameter = g/name )",
    "@ cached/decorator",
    "async/keyword def/keyword area/function ( self/parameter , r/parameter : float/builtin = 2/number , "
    "* args/parameter , sep/parameter = len/builtin , ** rest/parameter ) -> float/builtin :",
    '"""Docstring."""/string',
    "try/keyword :",
    "x/name = 1/number ; y/name = 2/number",
    "except/keyword ( OSError/builtin , x/name . E/attribute ) as/keyword e/name :",
    "if/keyword ( a/name and/keyword b/name ) : return/keyword c/name",
    "pass/keyword",
    "class/keyword Shape/class ( Base/name , metaclass/parameter = Meta/name ) :",
    "@ property/decorator",
    "def/keyword id/function ( self/parameter ) : return/keyword self/name . _id/attribute",
    "match/keyword point/name :",
    "case/keyword Point/call ( x/name = 0/number , y/name = [ _/name , * rest/name ] ) :",
    "pass/keyword",
]


def tagged_lines(source: str) -> list[str]:
    return [
        " ".join(word if tag == "operator" else f"{word}/{tag}" for word, tag in zip(words, tags, strict=True))
        for words, tags in logical_lines(source, Random(0))
    ]


@pytest.mark.parametrize("source", list(LINES))
@pytest.mark.parametrize("end", ["", "\n"])
def test_tokens_of_a_line_have_their_tags(source: str, end: str) -> None:
    assert tagged_lines(source + end) == [LINES[source]]


def test_tokens_of_a_block_have_their_tags() -> None:
    assert sorted(tagged_lines(BLOCK)) == sorted(BLOCK_LINES)


def test_invalid_python_has_no_lines() -> None:
    assert tagged_lines("x = (") == []
    assert tagged_lines("") == []
    assert tagged_lines("# nothing\n") == []


def test_builtins_are_those_of_the_language() -> None:
    assert {"len", "ValueError", "int"} <= BUILTINS
    assert not {"_", "quit", "license"} & BUILTINS
