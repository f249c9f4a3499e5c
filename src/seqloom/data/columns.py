"""Which column of a table holds what: as a person says, or guessed from the first rows, and shown."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from pathlib import Path

from seqloom.core.config.data import RowData
from seqloom.core.plurals import counted
from seqloom.core.problem import DataError, KeyName
from seqloom.data import column_guess as guess
from seqloom.data.formats import Cells, Format, TableData
from seqloom.data.records import FILL_IN, OR_SKIP, Field, Location, Record, check_encodable
from seqloom.data.spec import DataSpec, Role
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error

HEAD = 1000  # records that are looked at
SHOWN = 12  # names of columns in a message
MOST_KEYS = 1000  # of JSON objects: more are no columns of a table, and each is looked at in each object

Records = list[tuple[Location, Cells]]


@dataclass(frozen=True)
class Columns:
    """Where the values of an example stand in a table.

    indices: the column of each role, from 0
    header: whether the first row names the columns
    names: of all columns; without a header their numbers, from 1
    guessed: the config keys that nobody gave, `header` among them
    """

    roles: tuple[Role, ...]
    indices: tuple[int, ...]
    header: bool
    names: tuple[str, ...]
    guessed: tuple[str, ...]
    head: Records = field(default_factory=list, compare=False, repr=False)  # the first records, header included

    @cached_property
    def named_roles(self) -> tuple[tuple[Role, str], ...]:
        """Each role with the name of its column."""
        return tuple((role, self.names[index]) for role, index in zip(self.roles, self.indices, strict=True))

    def describe(self) -> str:
        """One line for a person; a config key within it is a `KeyName`.

        >>> from seqloom.core.problem import render
        >>> roles = Role("source", "source"), Role("target", "target")
        >>> render(Columns(roles, (0, 1), False, ("1", "2"), ("source", "target", "header")).describe())
        'source: column 1, target: column 2, no header (data.source and data.target name others)'
        >>> roles = Role("text", "text", guess="text"), Role("label", "label", guess="label")
        >>> render(Columns(roles, (1, 0), False, ("1", "2"), ("text", "label", "header")).describe())
        'text: column 2, label: column 1, no header (guessed; data.text and data.label name others)'
        """
        shown = [repr(self.names[index]) if self.header else f"column {index + 1}" for index in self.indices]
        what = ", ".join(f"{role.name}: {column}" for role, column in zip(self.roles, shown, strict=True))
        what += "" if self.header else ", no header"
        options = [key_of(role) for role in self.roles if role.key in self.guessed]
        notes = []
        if by_content(self.roles):
            notes += ["guessed"] if options else []
        else:
            options = list(map(key_of, self.roles)) if options else []
        if "header" in self.guessed and (not options if by_content(self.roles) else self.header):
            notes.append(f"header guessed; {KeyName('data.header', True)} and {KeyName('data.header', False)} say")
        if options:
            notes.append(f"{' and '.join(options)} name{'s' if len(options) == 1 else ''} others")
        return f"{what} ({'; '.join(notes)})" if notes else what

    def examples(self, form: Format, data: TableData) -> Iterator[Record]:
        """What the first records of the table hold; those that can't be used are left out."""
        for location, record in self.head[1 if self.header and not form.keyed else 0 :]:
            with suppress(DataError):
                yield values_of(record, location, form, self, data)

    def shape(self, separator: str) -> str:
        """What a row looks like, in a few words."""
        if self.header:
            return listed(self.names)
        names = {index: role.name for role, index in zip(self.roles, self.indices, strict=True)}
        shown = [names.get(index, f"column {index + 1}") for index in range(len(self.names))]
        return listed(shown) if by_content(self.roles) else separator.join(shown)

    def named_in(self, data: TableData) -> TableData:
        """The config with these columns named (or numbered), so that later files are read as this one is."""
        named = {
            role.key: self.names[index] if self.header and self.names.count(self.names[index]) == 1 else str(index + 1)
            for role, index in zip(self.roles, self.indices, strict=True)
        }
        return data.model_copy(update={**named, "header": self.header})


def by_content(roles: Sequence[Role]) -> bool:
    """Whether columns are guessed from what they hold, not from their names and order alone."""
    return any(role.guess != "order" for role in roles)


def read_head(path: Path, form: Format, data: RowData) -> Records:
    """The first records of a table, its header among them."""
    assert form.read is not None
    on_bad_line = raise_error if data.on_bad_line == "refuse" else SkipBadLines()
    return list(islice(form.read([path], data, on_bad_line), HEAD))


def find_columns(path: Path, form: Format, data_spec: DataSpec, data: TableData) -> Columns:
    """The columns of a table, from its first 1,000 records and what `data` says."""
    head = read_head(path, form, data)
    roles = data_spec.roles
    given = {role.key: getattr(data, role.key) for role in roles}
    header_named = any(name is not None and not name.isdecimal() for name in given.values())
    if form.keyed:
        objects = [record for _, record in head if isinstance(record, Mapping)]
        names, header, header_guessed = keys_of(path, form, objects, roles), True, False
        if len(names) > MOST_KEYS and by_content(roles) and None in given.values():
            which = in_words(roles, " and which the ", "the ")
            message = f"{len(names):,} different keys, too many to guess which is {which}"
            raise DataError(path, message, f"Name {both(roles)} with {options_of(roles)}", code="too-many-keys")
        values: guess.Columns = KeyValues(objects, names)
    else:
        rows = [list(map(str, record)) for _, record in head]
        width = width_of(path, rows, form, roles)
        header_guessed = data.header is None and not header_named
        header = has_header(rows, width, roles, data.header, header_named)
        names = names_of(path, rows, width, header)
        values = list(zip(*(row for row in rows[header:] if len(row) == width), strict=True))
    indices = locate(path, roles, given, names, header, values)
    guessed = [key for key, name in given.items() if name is None] + (["header"] if header_guessed else [])
    return Columns(roles, indices, header, names, tuple(guessed), head)


def locate(
    path: Path,
    roles: Sequence[Role],
    given: Mapping[str, str | None],
    names: tuple[str, ...],
    header: bool,
    values: guess.Columns,
) -> tuple[int, ...]:
    """The column of each role: as it was named, by a name that such columns have, by its values, or by its position."""
    found = {role.key: given_column(path, role.key, names, header, given[role.key]) for role in roles}
    taken = [index for index in found.values() if index is not None]
    for column in taken:
        if len(same := [role for role in roles if found[role.key] == column]) > 1:
            message = f"{in_words(same, ' and ', '')} are the same column ({names[column]!r})"
            advice = f"Name {counted_roles(same)} with {options_of(same)}"
            raise DataError(path, message, advice, code="column-named-twice")
    found |= named_columns(names if header else (), roles, found)
    for role in sorted(roles, key=lambda role: role.guess != "label"):  # few distinct values tell most
        if found[role.key] is None:
            others = {index for index in found.values() if index is not None}
            found[role.key] = guessed_column(path, role, roles.index(role), names, others, values)
    return tuple(index for role in roles if (index := found[role.key]) is not None)


def guessed_column(
    path: Path, role: Role, position: int, names: tuple[str, ...], taken: set[int], values: guess.Columns
) -> int:
    """The column that is likely a role's, of those that no other has; by order, the one at the role's own position."""
    if role.guess == "label":
        index = guess.label_column(values, taken)
        if index is None:
            message = f"no column looks like a {role.name}: the values of each hardly repeat (columns: {listed(names)})"
            raise DataError(path, message, f"Name the {role.name}'s with {key_of(role)}", code="no-label-column")
        return index
    if role.guess == "text":
        index = guess.text_column(values, taken)
    else:
        left = [index for index in range(len(names)) if index not in taken]
        index = position if position in left else next(iter(left), None)
    if index is None:
        message = f"no column is left for the {role.name}"
        raise DataError(path, message, f"Name it with {key_of(role)}", code="no-column-left")
    return index


def named_columns(
    names: Sequence[str], roles: Sequence[Role], found: Mapping[str, int | None]
) -> dict[str, int | None]:
    """The columns by their names: as such columns are called, or else by a language."""
    located = dict(found)

    def taken() -> set[int]:
        return {index for index in located.values() if index is not None}

    for role in sorted(roles, key=lambda role: role.guess != "label"):
        if located[role.key] is None:
            located[role.key] = guess.by_name(names, role.synonyms, taken())
    for role in roles:
        if located[role.key] is None and role.languages:
            spoken = (index for index, name in enumerate(names) if guess.is_language(name))
            located[role.key] = next((index for index in spoken if index not in taken()), None)
    return located


def has_header(
    rows: list[list[str]], width: int, roles: Sequence[Role], given: bool | None, header_named: bool
) -> bool:
    """Whether row 1 names the columns: as a person says, or by how it looks."""
    if given is not None:
        return given
    if header_named:
        return True
    if by_content(roles):
        alike = [row for row in rows if len(row) == width]
        return rows[0] is alike[0] and guess.has_header(alike, [role.synonyms for role in roles])
    if len(rows[0]) != width:
        return False
    first, below = rows[0], rows[1:]
    names = ["" if any(map(str.isspace, cell.strip())) else cell for cell in first]  # of "to bed", to is no name
    found = named_columns(names, roles, {role.key: None for role in roles}).values()
    if guess.are_words([first[index] for index in found if index is not None], below):
        return False
    return all(
        index is not None and all(len(row) <= index or row[index] != first[index] for row in below) for index in found
    )


def width_of(path: Path, rows: list[list[str]], form: Format, roles: Sequence[Role]) -> int:
    """How many fields most rows have: as many as there are roles, at least."""
    if not rows:
        raise no_records(path, form, roles)
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < min(2, len(roles)):
        mark = next((f"; the fields may be separated by {mark!r}" for mark in ";\t|" if mark in rows[0][0]), "")
        advice = f"Rewrite it with commas (.csv) or tabs (.tsv) between {in_words(roles, ' and its ')}"
        raise DataError(path, f"there is only one column{mark}", advice, code="one-column")
    return width


def names_of(path: Path, rows: list[list[str]], width: int, header: bool) -> tuple[str, ...]:
    """The columns' names; without a header their numbers, from 1."""
    if header and len(rows[0]) != width and len(rows) > 1:
        message = f"the header has {counted(len(rows[0]), 'field')} and most rows have {width}"
        advice = f"Name every column once, or remove the header and pass {KeyName('data.header', False)}"
        raise DataError(Location(str(path), 1), message, advice, code="header-width")
    return tuple(rows[0]) if header else tuple(str(index + 1) for index in range(width))


def no_records(path: Path, form: Format, roles: Sequence[Role]) -> DataError:
    """The message for a table without a single record that can be read."""
    if form.keyed:
        advice = "Name a file with one JSON object per line"
        return DataError(path, "there is no line that can be read", advice, code="no-objects")
    advice = f"Name a file with {in_words(roles, ' and its ')} in each row"
    return DataError(path, "there is no row that can be read", advice, code="no-rows")


def keys_of(path: Path, form: Format, objects: list[Mapping[str, object]], roles: Sequence[Role]) -> tuple[str, ...]:
    """The keys of JSON objects, in the order of their coming: as many as there are roles, at least."""
    if not objects:
        raise no_records(path, form, roles)
    names = tuple(dict.fromkeys(key for record in objects for key in record))
    if len(names) < min(2, len(roles)):
        message = f"there is only one key ({names[0]!r})" if names else "the objects have no keys"
        raise DataError(path, message, f"Give each object {in_words(roles, ' and its ')}", code="too-few-keys")
    return names


class KeyValues:
    """The values of JSON objects, key by key; one that is missing is an empty cell.

    Each key's are made when they are looked at: objects may have few keys in common, and a table of all with all would
    be many times what they are.
    """

    def __init__(self, objects: list[Mapping[str, object]], names: tuple[str, ...]) -> None:
        self.objects, self.names = objects, names

    def __iter__(self) -> Iterator[list[str]]:
        for name in self.names:
            values = (record.get(name) for record in self.objects)
            yield ["" if value is None or isinstance(value, dict) else str(value) for value in values]


def given_column(path: Path, key: str, names: tuple[str, ...], header: bool, value: str | None) -> int | None:
    """The column that a person named: by its name in the header, or by its number from 1."""
    if value is None:
        return None
    if header and names.count(value) == 1:
        return names.index(value)
    if value.isdecimal() and 1 <= int(value) <= len(names):
        return int(value) - 1
    name = KeyName(f"data.{key}")
    if value.isdecimal():
        message = f"no column {value} (there are {len(names)})"
        raise DataError(path, message, f"Count from 1 in {name}", code="column-number")
    if not header:
        message = f"{name} {value!r} is a name, and there is no header"
        raise DataError(path, message, "Give the column's number, from 1", code="column-name-without-header")
    if value in names:
        message = f"several columns are called {value!r}"
        raise DataError(path, message, f"Give a number, from 1, in {name}", code="ambiguous-column")
    some = names[:MOST_KEYS]
    nearest = get_close_matches(value, some, n=1) or get_close_matches(value.lower(), some, n=1)
    advice = f"The nearest is {nearest[0]!r}; name it with {name}" if nearest else f"Name one of them with {name}"
    message = f"no column {value!r} (columns: {listed(names)})"
    values = {"column": value, "columns": list(names)}
    raise DataError(Location(str(path), 1), message, advice, code="unknown-column", values=values)


# The values of rows ------------------------------------------------------------------------------------------------


def read_rows(
    path: Path, form: Format, columns: Columns, data: TableData, on_bad_line: OnBadLine = raise_error
) -> Iterator[Record]:
    """The values of each row of a table, in the file's order; a row that can't be used goes to `bad`."""
    assert form.read is not None
    records = form.read([path], data, on_bad_line)
    if columns.header and not form.keyed:
        next(records, None)
    found = False
    for location, record in records:
        try:
            example = values_of(record, location, form, columns, data)
        except DataError as error:
            on_bad_line(error)
            continue
        found = True
        yield example
    if not found:
        raise no_records(path, form, columns.roles)


def values_of(record: Cells, location: Location, form: Format, columns: Columns, data: TableData) -> Record:
    """What a record says in each role."""
    cells: list[object]
    if isinstance(record, Mapping):
        cells = [value_of(record, name, location) for _, name in columns.named_roles]
        check_encodable(cells, location)
    else:
        if len(record) != len(columns.names):
            shape = columns.shape(form.separator)
            message = f"{counted(len(record), 'field')}, expected {len(columns.names)} ({shape})"
            advice = f"{mend(form, len(record), len(columns.names))}, {OR_SKIP}"
            code = "too-many-fields" if len(record) > len(columns.names) else "too-few-fields"
            raise DataError(location, message, advice, code=code)
        cells = [record[index] for index in columns.indices]
    values = [
        role.parse(Field(cell, name, location), data)
        for (role, name), cell in zip(columns.named_roles, cells, strict=True)
    ]
    if "" in values:
        empty = [role.name for role, value in zip(columns.roles, values, strict=True) if role.required and value == ""]
        if empty:
            message = f"the {' and the '.join(empty)} {'is' if len(empty) == 1 else 'are'} empty"
            raise DataError(location, message, FILL_IN, code=f"empty-{'-'.join(empty)}")
    return Record(tuple(values), location)


def value_of(record: Mapping[str, object], key: str, location: Location) -> object:
    """What an object has for a key."""
    if key not in record:
        keys = ", ".join(repr(one) for one in list(record)[:10])
        message = f"no key {key!r} (it has {keys or 'none'})"
        raise DataError(location, message, f"Add it, {OR_SKIP}", code="missing-key")
    return record[key]


def mend(form: Format, fields: int, width: int) -> str:
    """What to do about a row of so many fields."""
    if form.name == "csv":
        return 'Put quotes around a field that has a comma in it ("a, b")'
    what = "tab" if form.name == "tsv" else f"{form.separator.strip()!r}"
    return f"Remove a {what}" if fields > width else f"Add the {what} that is missing"


# Words ---------------------------------------------------------------------------------------------------------------


def in_words(roles: Sequence[Role], between: str = " and ", article: str | None = None) -> str:
    """The roles in a message.

    >>> roles = Role("image", "source"), Role("caption", "target")
    >>> in_words(roles, " and its "), in_words(roles, " and ", "")
    ('an image and its caption', 'image and caption')
    """
    first, *others = (role.name for role in roles)
    a = ("an " if first[0] in "aeiou" else "a ") if article is None else article
    return between.join([f"{a}{first}", *others])


def key_of(role: Role) -> str:
    """The config key that names the column."""
    return str(KeyName(f"data.{role.key}"))


def options_of(roles: Sequence[Role]) -> str:
    """The config keys that name the columns."""
    return " and ".join(map(key_of, roles))


def both(roles: Sequence[Role]) -> str:
    """All of them, in a word."""
    return {1: "it", 2: "both"}.get(len(roles), "all")


def counted_roles(roles: Sequence[Role]) -> str:
    """How many columns are to be named."""
    return {2: "two", 3: "three"}.get(len(roles), str(len(roles)))


def listed(names: Sequence[str]) -> str:
    """The first few names, cut short: a file without a header may have sentences there.

    >>> listed(["id", "a long sentence that is no name of a column"])
    'id, a long sentence that is no nam…'
    """
    few = [name if len(name) <= 30 else f"{name[:30]}…" for name in names[:SHOWN]]
    return ", ".join(few) + (", …" if len(names) > SHOWN else "")
