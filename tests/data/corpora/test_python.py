"""The standard library as text and as tagged lines."""

import sysconfig
from pathlib import Path
from random import Random

import pytest

from seqloom.core.problem import UserError
from seqloom.data.corpora import python


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


def test_files_are_those_said() -> None:
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
    """A standard library of our own."""
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
    everything = list(python.sentences(1, None, 10_000))
    assert len(everything) == 401  # `alone` is one token


def test_long_lines_are_cut(library: Path) -> None:
    (library / "long.py").write_text("x = [" + "1, " * 100 + "]\n")
    assert [len(words) for (words, _), _ in python.sentences(0, None, 10)] == [100]
    [sentence] = python.sentences(0, 4, 10)
    assert sentence.values == (("x", "=", "[", "1"), ("name", "operator", "operator", "number"))


def test_no_source_is_refused(library: Path) -> None:
    with pytest.raises(UserError, match="without the source"):
        python.text(0, None, None)
    library.rmdir()
    with pytest.raises(UserError, match="without the source"):
        python.shuffled_files(Random(0))
