"""The source of Python's own standard library, ASCII files without tests, tables and idlelib. Language: whole files
in an order drawn from the seed; the examples are characters (2,000,000 unless said). Tag: logical lines as tokens,
each with its kind (keyword, call, parameter, ...); the length is the greatest number of tokens (100 unless said), the
examples are lines (8,000), drawn from all files alike. It differs a little from one version of Python to the next.
"""

import sysconfig
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from random import Random

from seqloom.data.corpora.python_tokens import logical_lines
from seqloom.data.examples import Place, Record
from seqloom.spec.errors import UserError
from seqloom.spec.problem import KeyName

CHARACTERS = 2_000_000
SENTENCES, WORDS = 8_000, 100

LEFT_OUT = {
    *("test", "tests", "idlelib", "lib2to3", "turtledemo", "site-packages", "dist-packages", "__pycache__"),
    *("encodings", "pydoc_data"),  # tables, one line after the other, and texts
}
MACHINES = "_sysconfigdata"
"""How the interpreter was built: other paths on every machine."""


def text(seed: int, length: int | None, examples: int | None) -> Iterator[str]:
    """Files, each followed by an empty line, up to so many characters in all."""
    if length is not None:
        raise UserError(
            f"the corpus python has no {KeyName('data.length')} for language: its files are as long as they are",
            "Leave it out",
        )
    return chunks(shuffled(Random(seed)), examples or CHARACTERS)


def chunks(files: list[Path], characters: int) -> Iterator[str]:
    """The text of the files, the last one cut."""
    for path in files:
        source = read(path)
        if source is None:
            continue
        yield f"{source}\n"[:characters]
        characters -= len(source) + 1
        if characters <= 0:
            return


def sentences(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """Logical lines of two tokens or more, each once: of every file the same number, where it has as many."""
    random = Random(seed)
    files, wanted, longest = shuffled(random), examples or SENTENCES, length or WORDS
    seen: set[tuple[str, ...]] = set()
    for done, path in enumerate(files * 2):  # once more for what short files at the end left open
        source = read(path)
        if source is None:
            continue
        enough = len(seen) + ceil((wanted - len(seen)) / max(1, len(files) - done))
        for words, tags in logical_lines(source, random):
            cut = words[:longest]
            if len(words) < 2 or cut in seen:
                continue
            seen.add(cut)
            yield Record((cut, tags[:longest]), Place("python", len(seen)))
            if len(seen) == enough:
                break
        if len(seen) == wanted:
            return


def shuffled(random: Random) -> list[Path]:
    """The files of the standard library, in an order of chance: by name, the first would all be private ones."""
    files = list(sources(Path(sysconfig.get_path("stdlib"))))
    if not files:
        raise UserError(
            "this Python comes without the source of its standard library", "Give a file, or another corpus"
        )
    random.shuffle(files)
    return files


def sources(folder: Path) -> Iterator[Path]:
    """Its Python files, sorted, and those of the folders in it."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name in LEFT_OUT or path.name.startswith(MACHINES):
            continue
        if path.is_dir():
            yield from sources(path)
        elif path.suffix == ".py":
            yield path


def read(path: Path) -> str | None:
    """A file's text, if it is ASCII and there is some: a hundred characters are then a whole vocabulary."""
    try:
        return path.read_text(encoding="ascii") or None
    except (OSError, UnicodeDecodeError):
        return None
