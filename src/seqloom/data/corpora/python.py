"""The source code of Python's standard library: ASCII files without tests, tables and idlelib. Language: whole files
in an order drawn from the seed; the examples are characters (default: 2,000,000). Tag: logical lines as tokens, each
with its kind (keyword, call, parameter, ...); the length is the greatest number of tokens (default: 100), the examples
are lines (8,000), drawn from all files alike. It differs a little from one version of Python to the next.
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

CHARACTERS = 2_000_000
SENTENCES, WORDS = 8_000, 100
EXCLUDED = {
    *("test", "tests", "idlelib", "lib2to3", "turtledemo", "site-packages", "dist-packages", "__pycache__"),
    *("encodings", "pydoc_data"),  # tables, one line after the other, and texts
}
BUILD_DATA = "_sysconfigdata"  # how the interpreter was built: other paths on every machine


def text(seed: int, length: int | None, examples: int | None) -> Iterator[str]:
    """Files, each followed by an empty line, up to so many characters in all."""
    if length is not None:
        message = (
            f"the corpus python has no {KeyName('data.corpus_length')} for language, because it consists of whole files"
        )
        raise UserError(message, "Leave it out")
    return chunks(shuffled_files(Random(seed)), examples or CHARACTERS)


def chunks(files: list[Path], characters: int) -> Iterator[str]:
    for path in files:
        if (source := read(path)) is not None:
            yield f"{source}\n"[:characters]
            characters -= len(source) + 1
            if characters <= 0:
                return


def sentences(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """Distinct logical lines of at least two tokens: from every file the same number, if it has as many."""
    random = Random(seed)
    files, count, max_words = shuffled_files(random), examples or SENTENCES, length or WORDS
    seen: set[tuple[str, ...]] = set()
    for done, path in enumerate(files * 2):  # twice, since short files at the end may leave lines missing
        source = read(path)
        if source is None:
            continue
        enough = len(seen) + ceil((count - len(seen)) / max(1, len(files) - done))
        for words, tags in logical_lines(source, random):
            cut = words[:max_words]
            if len(words) < 2 or cut in seen:
                continue
            seen.add(cut)
            yield Record((cut, tags[:max_words]), Location("python", len(seen)))
            if len(seen) == enough:
                break
        if len(seen) == count:
            return


# Files ---------------------------------------------------------------------------------------------------------------


def shuffled_files(random: Random) -> list[Path]:
    """The files of the standard library in random order: sorted by name, the first would all be private ones."""
    files = list(python_files(Path(sysconfig.get_path("stdlib"))))
    if not files:
        message = "this Python installation lacks the source of its standard library"
        raise UserError(message, "Give a file, or another corpus")
    random.shuffle(files)
    return files


def python_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name in EXCLUDED or path.name.startswith(BUILD_DATA):
            continue
        if path.is_dir():
            yield from python_files(path)
        elif path.suffix == ".py":
            yield path


def read(path: Path) -> str | None:
    """A file's text, if it is ASCII and not empty: the vocabulary is then about a hundred characters."""
    try:
        return path.read_text(encoding="ascii") or None
    except (OSError, UnicodeDecodeError):
        return None


# Tokens --------------------------------------------------------------------------------------------------------------
#
# keyword     if, None, match where it is one          attribute   a name after a dot
# module      a name in `import` or after `from`       builtin     len, ValueError
# decorator   a name after @                           call        another name with a parenthesis after it
# parameter   a name that a function takes, where it   name        any other
#             is defined or given by name              number, string, operator, comment
# function, class   the name after `def`, `class`

# Not what an interactive session or `site` (quit, license) adds.
BUILTINS = frozenset(
    name for name, value in vars(builtins).items() if not name.startswith("_") and type(value).__module__ == "builtins"
)
LAYOUT = {tokenize.NL, tokenize.INDENT, tokenize.DEDENT}
# Python 3.12 and later split an f-string into tokens; 3.14 a t-string too.
STARTS = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "TSTRING_START")}
ENDS = {getattr(tokenize, name, -1) for name in ("FSTRING_END", "TSTRING_END")}
KINDS = {tokenize.NUMBER: "number", tokenize.STRING: "string", tokenize.COMMENT: "comment"}
MAX_CHARACTERS = 20  # of a string or a comment

Marks = dict[tuple[int, int], str]
"""The kinds of names that only `ast` knows, by (line from 1, column)."""


class Token(NamedTuple):
    type: int
    text: str
    start: tuple[int, int]


def logical_lines(source: str, random: Random) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words and tags of a file's logical lines, in random order; nothing for what is not Python.

    >>> for words, tags in logical_lines("area = pi * radius(shape.size) ** 2  # flat", Random(0)):
    ...     print(*(f"{word}/{tag}" for word, tag in zip(words, tags, strict=True) if tag != "operator"))
    area/name pi/name radius/call shape/name size/attribute 2/number #flat/comment
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    text = [line + "\n" for line in source.split("\n")]
    lines = list(line_heads(tree, text))
    random.shuffle(lines)
    for number, node in lines:
        tokens = list(tokens_from(text, number))
        marks = marks_of(number, node, text)
        neighbors = ["", *(token.text for token in tokens), ""]
        triples = zip(tokens, neighbors, neighbors[2:], strict=False)
        tags = tuple(kind(token, before, after, marks) for token, before, after in triples)
        yield tuple(map(word, tokens)), tags


def line_heads(node: ast.AST, text: list[str]) -> Iterator[tuple[int, ast.AST]]:
    """The number and the node of each logical line below a node; a node inside a line belongs to that line."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            for decorator in getattr(child, "decorator_list", ()):
                yield decorator.lineno, decorator
            number = child.pattern.lineno if isinstance(child, ast.match_case) else child.lineno
            before = text[number - 1][: getattr(child, "col_offset", 0)]
            if not before.strip():
                yield number, child
            yield from line_heads(child, text)


def tokens_from(text: list[str], number: int) -> Iterator[Token]:
    """The tokens of the logical line that begins on this line of the text; an f-string is one."""
    depth, start = 0, (0, 0)
    for token in tokenize.generate_tokens(iter(text[number - 1 :]).__next__):
        position = (token.start[0] + number - 1, token.start[1])
        if token.type in STARTS:
            start = start if depth else position
            depth += 1
        elif token.type in ENDS:
            depth -= 1
            if depth == 0:
                rows = text[start[0] - 1 : token.end[0] + number - 1]
                rows[-1] = rows[-1][: token.end[1]]
                rows[0] = rows[0][start[1] :]
                yield Token(tokenize.STRING, "".join(rows), start)
        elif depth == 0:
            if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
                return
            if token.type not in LAYOUT:
                yield Token(token.type, token.string, position)


def word(token: Token) -> str:
    """The token's text; the beginning of a string or a comment, without white space."""
    if token.type in (tokenize.STRING, tokenize.COMMENT):
        return "".join(token.text.split())[:MAX_CHARACTERS]
    return token.text


def kind(token: Token, before: str, after: str, marks: Marks) -> str:
    """The tag of one token, from the texts of its neighbors and from what `ast` knows."""
    if token.type != tokenize.NAME:
        return KINDS.get(token.type, "operator")
    if keyword.iskeyword(token.text):
        return "keyword"
    if token.start in marks:
        return marks[token.start]
    if before in ("def", "class"):
        return "function" if before == "def" else "class"
    if before == ".":
        return "attribute"
    if token.text in BUILTINS:
        return "builtin"
    return "call" if after == "(" else "name"


def marks_of(number: int, head: ast.AST, text: list[str]) -> Marks:
    """The kinds of the names in a logical line that the syntax tree knows."""
    marks: Marks = {}

    def mark_names(line: int, start: int, end: int | None, tag: str) -> None:
        for name in re.finditer(r"\w+", text[line - 1][start:end]):
            marks[line, start + name.start()] = tag

    if isinstance(head, ast.expr):
        path = head.func if isinstance(head, ast.Call) else head
        mark_names(path.lineno, path.col_offset, path.end_col_offset, "decorator")
    for node in nodes_of_line(head):
        match node:
            case ast.arg() | ast.keyword(arg=str()):
                marks[node.lineno, node.col_offset] = "parameter"
            case ast.Import():
                for alias in node.names:
                    mark_names(alias.lineno, alias.col_offset, alias.end_col_offset, "module")
            case ast.ImportFrom():
                end = text[node.lineno - 1].find(" import", node.col_offset)
                mark_names(node.lineno, node.col_offset, end, "module")
            case ast.Match():
                marks[node.lineno, node.col_offset] = "keyword"
            case ast.match_case():
                row = text[number - 1]
                marks[number, len(row) - len(row.lstrip())] = "keyword"
    return marks


def nodes_of_line(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it without the statements inside, which are other lines."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from nodes_of_line(child)
