"""Two columns of a table: a text and its translation, or an image's path and its caption."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from seqloom.data.examples import Place
from seqloom.data.files import Format
from seqloom.data.lines import Bad, Skipped, refuse
from seqloom.data.readers.columns import first_objects, first_rows, given_column, keys_of, listed, names_of, width_of
from seqloom.data.readers.guess import by_name
from seqloom.data.readers.jsonl import check_encodable, text_of, value_of
from seqloom.data.readers.rows import OR_SKIP, ROWS, json_objects
from seqloom.data.readers.table import mend
from seqloom.data.wording import counted
from seqloom.spec.config.data import LANGUAGES, Data
from seqloom.spec.errors import DataError

LANGUAGE_NAMES = {
    *({*LANGUAGES} - {"id", "no"}),  # which number rows more often than they name Indonesian and Norwegian
    *("bg", "el", "et", "hi", "hr", "zh"),
    *("arabic", "chinese", "czech", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi"),
    *("hungarian", "italian", "japanese", "korean", "norwegian", "polish", "portuguese", "romanian", "russian"),
    *("spanish", "swedish", "turkish", "ukrainian", "vietnamese"),
}
WORDS = {"be", "ce", "da", "el", "es", "et", "fa", "he", "hi", "is", "it", "ja", "te", "vi"}
"""Codes that are everyday words somewhere: a dictionary's first row may be it, es. Of en and de, that is too rare."""
SENTENCE = 4  # words at least, where a row is more than an entry of a dictionary
BETWEEN = {"tsv": ", tab, ", "csv": ", comma, "}


class Roles(NamedTuple):
    """What the two are called in sentences, and names that their columns have in data that people share."""

    source: str
    target: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]


TRANSLATION = Roles(
    "source",
    "target",
    ("source", "src", "input", "from", "original", "question", "text"),
    ("target", "tgt", "trg", "output", "to", "translation", "answer"),
)
CAPTION = Roles(
    "image",
    "caption",
    ("image", "path", "file", "filename", "photo", "picture", "source", "features"),
    ("caption", "description", "text", "sentence", "comment", "target", "title"),
)

ROLES = {"translate": TRANSLATION, "caption": CAPTION}  # by task


class Sides(NamedTuple):
    """Where source and target stand, from 0; `names` are all columns, `given` whether a person named both, `guessed`
    whether nobody said that row 1 is a header.

    >>> Sides(0, 1, header=False, names=("1", "2"), given=False).describe()
    'source: column 1, target: column 2, no header (--data.source and --data.target name others)'
    """

    source: int
    target: int
    header: bool
    names: tuple[str, ...]
    given: bool
    roles: Roles = TRANSLATION
    guessed: bool = False

    def describe(self) -> str:
        """One line for a person."""
        told = [repr(self.names[index]) if self.header else f"column {index + 1}" for index in self.both]
        what = f"{self.roles.source}: {told[0]}, {self.roles.target}: {told[1]}{'' if self.header else ', no header'}"
        guessed = ["header guessed; --data.header and --no-data.header say"] if self.header and self.guessed else []
        others = [] if self.given else ["--data.source and --data.target name others"]
        return f"{what} ({'; '.join(guessed + others)})" if guessed or others else what

    @property
    def both(self) -> tuple[int, int]:
        """Their numbers."""
        return self.source, self.target

    def shape(self, written: str) -> str:
        """What a row looks like, in a few words."""
        roles = {self.source: self.roles.source, self.target: self.roles.target}
        if self.header:
            return listed(self.names)
        return BETWEEN[written].join(roles.get(index, f"column {index + 1}") for index in range(len(self.names)))

    def said_in(self, data: Data) -> Data:
        """The config with these columns said, by name or number: so that other files are read as this one was."""
        source, target = (
            self.names[index] if self.header and self.names.count(self.names[index]) == 1 else str(index + 1)
            for index in self.both
        )
        return data.model_copy(update={"source": source, "target": target})


def find_sides(path: Path, written: Format, data: Data, roles: Roles = TRANSLATION) -> Sides:
    """The columns of a CSV, TSV or JSONL file, from its first 1,000 records and what `data` says."""
    bad = refuse if data.on_bad_line == "refuse" else Skipped()
    one = f"{'an' if roles.source[0] in 'aeiou' else 'a'} {roles.source}"
    if written == "jsonl":
        names, header = keys_of(path, first_objects(path, data, bad), one, roles.target), True
        guessed = False
    else:
        rows = first_rows(path, written, data, bad)
        width = width_of(path, rows, one, roles.target)
        guessed = data.header is None and not _by_name(data)
        header = _header(rows, width, data, roles)
        names = names_of(path, rows, width, header)
    source = given_column(path, "source", names, header, data.source)
    target = given_column(path, "target", names, header, data.target)
    given = source is not None and target is not None
    if given and source == target:
        what = f"{roles.source} and {roles.target} are the same column ({names[source or 0]!r})"
        raise DataError(path, what, "Name two with --data.source and --data.target")
    named = _located(names if header else (), roles, source, target)
    source = named[0] if named[0] is not None else int(named[1] == 0)
    target = named[1] if named[1] is not None else int(source != 1)
    return Sides(source, target, header, names, given, roles, guessed)


def _by_name(data: Data) -> bool:
    """Whether a person named a column, which only a header can do."""
    return any(given is not None and not given.isdecimal() for given in (data.source, data.target))


def _header(rows: list[list[str]], width: int, data: Data, roles: Roles) -> bool:
    """Whether row 1 names the columns: a column of it is called as sources are, another as targets are."""
    if data.header is not None:
        return data.header
    if _by_name(data):
        return True
    first, below = rows[0], rows[1:]
    if len(first) != width:
        return False
    names = ["" if any(map(str.isspace, cell.strip())) else cell for cell in first]  # of "to bed", to is no name
    found = _located(names, roles, None, None)
    if WORDS.issuperset(first[index].strip().lower() for index in found if index is not None):
        longest = sorted(max((len(cell.split()) for cell in row), default=0) for row in below)
        if not longest or longest[len(longest) // 2] < SENTENCE:
            return False
    return all(
        index is not None and all(len(row) <= index or row[index] != first[index] for row in below) for index in found
    )


def _located(
    names: Sequence[str], roles: Roles, source: int | None, target: int | None
) -> tuple[int | None, int | None]:
    """The columns by their names: as such columns are called, or else by a language."""
    if source is None:
        source = by_name(names, roles.sources, beside=target)
    if target is None:
        target = by_name(names, roles.targets, beside=source)
    spoken = [index for index, name in enumerate(names) if by_name([name], sorted(LANGUAGE_NAMES), None) is not None]
    if source is None:
        source = next((index for index in spoken if index != target), None)
    if target is None:
        target = next((index for index in spoken if index != source), None)
    return source, target


def read_sides(
    path: Path, written: Format, data: Data, bad: Bad = refuse, roles: Roles = TRANSLATION
) -> Iterator[tuple[str, str, Place]]:
    """Both sides of each row, without white space at their ends. A row that lacks one goes to `bad`.

    >>> path = getfixture("tmp_path") / "pairs.tsv"
    >>> _ = path.write_text("en\\tfr\\nninety\\tquatre-vingt-dix\\n")
    >>> [(source, target, place.line) for source, target, place in read_sides(path, "tsv", Data())]
    [('ninety', 'quatre-vingt-dix', 2)]
    """
    columns = find_sides(path, written, data, roles)
    read = _objects(path, columns, data, bad) if written == "jsonl" else _rows(path, written, columns, data, bad)
    found = False
    for source, target, place in read:
        source, target = source.strip(), target.strip()
        if not (source and target):
            bad(empty_side(roles, source, target, place))
            continue
        found = True
        yield source, target, place
    if not found:
        do = f"Name a file with {roles.source} and {roles.target} in each"
        raise DataError(path, f"there is no {'line' if written == 'jsonl' else 'row'} that can be read", do)


def empty_side(roles: Roles, source: str, target: str, place: Place) -> DataError:
    """The sentence for a pair that is none."""
    which = f"the {roles.target} is" if source else f"the {roles.source} is" if target else "both sides are"
    return DataError(place, f"{which} empty", f"Fill it in, remove the line, {OR_SKIP}")


def _rows(path: Path, written: Format, columns: Sides, data: Data, bad: Bad) -> Iterator[tuple[str, str, Place]]:
    rows, width = ROWS[written](path, data.max_characters, bad), len(columns.names)
    if columns.header:
        next(rows, None)
    for number, row in rows:
        place = Place(str(path), number)
        if len(row) == width:
            yield row[columns.source], row[columns.target], place
        else:
            what = f"{counted(len(row), 'field')}, expected {width} ({columns.shape(written)})"
            bad(DataError(place, what, f"{mend(written, len(row), width)}, {OR_SKIP}"))


def _objects(path: Path, columns: Sides, data: Data, bad: Bad) -> Iterator[tuple[str, str, Place]]:
    keys = [columns.names[index] for index in columns.both]
    for number, record in json_objects(path, data.max_characters, bad):
        place = Place(str(path), number)
        try:
            source, target = (text_of(value_of(record, key, place), key, place) for key in keys)
            check_encodable(source, target, place=place)
        except DataError as error:
            bad(error)
            continue
        yield source, target, place
