"""Python source as tokens and their kinds: what `tokenize` sees, and what only `ast` knows.

keyword     if, None, match where it is one
module      a name in `import` or after `from`
decorator   a name after @
parameter   a name that a function takes, where it is defined or given by name
function    the name after `def`
class       the name after `class`
attribute   a name after a dot
builtin     len, ValueError
call        another name with a parenthesis after it
name        any other
number, string, operator, comment
"""

import ast
import builtins
import keyword
import re
import sysconfig
import tokenize
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from random import Random
from typing import NamedTuple

from seqloom.core.problem import KeyName, UserError
from seqloom.data.records import Location, Record

# Not what an interactive session or `site` (quit, license) adds.
BUILTINS = frozenset(
    name for name, value in vars(builtins).items() if not name.startswith("_") and type(value).__module__ == "builtins"
)
LAYOUT = {tokenize.NL, tokenize.INDENT, tokenize.DEDENT}
# Python 3.12 and later take an f-string apart; 3.14 a t-string too.
STARTS = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "TSTRING_START")}
ENDS = {getattr(tokenize, name, -1) for name in ("FSTRING_END", "TSTRING_END")}
SHOWN = 20

Marks = dict[tuple[int, int], str]
"""What `ast` knows of a name: (line from 1, column) to its kind."""


class Token(NamedTuple):
    """One token: what `tokenize` calls it, its text, and where it begins."""

    type: int
    text: str
    start: tuple[int, int]


class Line(NamedTuple):
    """A logical line: where it begins, and the part of the tree that it is the head of."""

    number: int
    node: ast.AST


def logical_lines(source: str, random: Random) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words and tags of a file's logical lines, in an order of chance; nothing for what is not Python.

    >>> for words, tags in logical_lines("area = pi * radius(shape.size) ** 2  # flat", Random(0)):
    ...     print(*(f"{word}/{tag}" for word, tag in zip(words, tags, strict=True) if tag != "operator"))
    area/name pi/name radius/call shape/name size/attribute 2/number #flat/comment
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    text = [line + "\n" for line in source.split("\n")]
    lines = list(heads(tree, text))
    random.shuffle(lines)
    for line in lines:
        tokens = list(tokens_from(text, line.number))
        yield tuple(map(word, tokens)), kinds(tokens, marks(line, text))


def heads(node: ast.AST, text: list[str]) -> Iterator[Line]:
    """The logical lines below a node. What stands in the middle of a line is part of the line that begins there."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            for decorator in getattr(child, "decorator_list", ()):
                yield Line(decorator.lineno, decorator)
            number = child.pattern.lineno if isinstance(child, ast.match_case) else child.lineno
            before = text[number - 1][: getattr(child, "col_offset", 0)]
            if not before.strip():
                yield Line(number, child)
            yield from heads(child, text)


def tokens_from(text: list[str], number: int) -> Iterator[Token]:
    """The tokens of the logical line that begins on this line of the text; an f-string is one."""
    depth, start = 0, (0, 0)
    for token in tokenize.generate_tokens(iter(text[number - 1 :]).__next__):
        here = (token.start[0] + number - 1, token.start[1])
        if token.type in STARTS:
            start = start if depth else here
            depth += 1
        elif token.type in ENDS:
            depth -= 1
            if depth == 0:
                yield Token(tokenize.STRING, between(text, start, (token.end[0] + number - 1, token.end[1])), start)
        elif depth == 0:
            if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
                return
            if token.type not in LAYOUT:
                yield Token(token.type, token.string, here)


def between(text: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """What stands from one location to another."""
    rows = text[start[0] - 1 : end[0]]
    rows[-1] = rows[-1][: end[1]]
    rows[0] = rows[0][start[1] :]
    return "".join(rows)


def word(token: Token) -> str:
    """The token's text; of a string or a comment the beginning, without white space."""
    if token.type in (tokenize.STRING, tokenize.COMMENT):
        return "".join(token.text.split())[:SHOWN]
    return token.text


def kinds(tokens: list[Token], known: Marks) -> tuple[str, ...]:
    """The tag of each token of a line."""
    texts = ["", *(token.text for token in tokens), ""]
    return tuple(
        kind(token, before, after, known) for token, before, after in zip(tokens, texts, texts[2:], strict=False)
    )


def kind(token: Token, before: str, after: str, known: Marks) -> str:
    """The tag of one token, from its neighbours and what `ast` knows of it."""
    if token.type != tokenize.NAME:
        return {tokenize.NUMBER: "number", tokenize.STRING: "string", tokenize.COMMENT: "comment"}.get(
            token.type, "operator"
        )
    if keyword.iskeyword(token.text):
        return "keyword"
    if token.start in known:
        return known[token.start]
    if before in ("def", "class"):
        return "function" if before == "def" else "class"
    if before == ".":
        return "attribute"
    if token.text in BUILTINS:
        return "builtin"
    return "call" if after == "(" else "name"


def marks(line: Line, text: list[str]) -> Marks:
    """What the tree says of the names in a logical line."""
    found: Marks = {}
    if isinstance(line.node, ast.expr):
        path = line.node.func if isinstance(line.node, ast.Call) else line.node
        found |= names(text, path.lineno, path.col_offset, path.end_col_offset, "decorator")
    for node in head(line.node):
        match node:
            case ast.arg() | ast.keyword(arg=str()):
                found[node.lineno, node.col_offset] = "parameter"
            case ast.Import():
                for one in node.names:
                    found |= names(text, one.lineno, one.col_offset, one.end_col_offset, "module")
            case ast.ImportFrom():
                end = text[node.lineno - 1].find(" import", node.col_offset)
                found |= names(text, node.lineno, node.col_offset, end, "module")
            case ast.Match():
                found[node.lineno, node.col_offset] = "keyword"
            case ast.match_case():
                row = text[line.number - 1]
                found[line.number, len(row) - len(row.lstrip())] = "keyword"
    return found


def head(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it but the statements inside: those are other lines."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from head(child)


def names(text: list[str], number: int, start: int, end: int | None, tag: str) -> Marks:
    """The same mark for every name from one column of a line to another."""
    return {(number, start + found.start()): tag for found in re.finditer(r"\w+", text[number - 1][start:end])}


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
            f"the corpus python has no {KeyName('data.corpus_length')} for language: its files are as long as they are",
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
            yield Record((cut, tags[:longest]), Location("python", len(seen)))
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
