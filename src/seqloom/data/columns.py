"""The columns of a table that a task reads, which the config names or which are guessed; the examples in its rows."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path

from seqloom.core.problem import DataError, KeyName
from seqloom.core.wording import counted
from seqloom.data import column_guess as guess
from seqloom.data.formats import Cells, Format, TableData
from seqloom.data.records import FILL_IN, OR_SKIP, Field, Location, Record, check_encodable
from seqloom.data.spec import DataSpec, Role
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error

HEAD_RECORDS = 1000  # records from which columns are guessed
MAX_NAMES = 12  # of columns in a message
MAX_KEYS = 1000  # of JSON objects, for a guess by values: its cost is keys times objects

Records = list[tuple[Location, Cells]]


@dataclass(frozen=True)
class Columns:
    """The columns of a table that a task reads.

    indices: the column of each role, from 0
    header: whether the first row names the columns
    names: the names of all columns; without a header, their numbers from 1
    guessed: the config keys that are not set, `header` among them
    head: the first records, header included
    """

    roles: tuple[Role, ...]
    indices: tuple[int, ...]
    header: bool
    names: tuple[str, ...]
    guessed: tuple[str, ...]
    head: Records = field(default_factory=list, compare=False, repr=False)

    def describe(self) -> str:
        """One line for a person; a config key within it is a `KeyName`.

        >>> from seqloom.core.problem import render
        >>> roles = Role("source", "source"), Role("target", "target")
        >>> render(Columns(roles, (0, 1), False, ("1", "2"), ("source", "target", "header")).describe())
        'source: column 1, target: column 2, no header (data.source and data.target select other columns)'
        >>> roles = Role("text", "text", guess="text"), Role("label", "label", guess="label")
        >>> render(Columns(roles, (1, 0), False, ("1", "2"), ("text", "label", "header")).describe())
        'text: column 2, label: column 1, no header (guessed; data.text and data.label select other columns)'
        """
        shown = [repr(self.names[index]) if self.header else f"column {index + 1}" for index in self.indices]
        columns = ", ".join(f"{role.name}: {column}" for role, column in zip(self.roles, shown, strict=True))
        columns += "" if self.header else ", no header"
        guessed = [role for role in self.roles if role.key in self.guessed]
        notes = []
        if by_values := guessed_by_values(self.roles):
            notes += ["guessed"] if guessed else []
        elif guessed:  # by their order, so that to set one may change the others
            guessed = list(self.roles)
        if "header" in self.guessed and (not guessed if by_values else self.header):
            notes.append(f"header guessed; {KeyName('data.header', True)} or {KeyName('data.header', False)} sets it")
        if guessed:
            notes.append(f"{config_keys(guessed)} select{'s' if len(guessed) == 1 else ''} other columns")
        return f"{columns} ({'; '.join(notes)})" if notes else columns

    def examples(self, form: Format, data: TableData) -> Iterator[Record]:
        """The examples of the first records, without those that can't be used."""
        for location, record in self.head[1 if self.header and not form.keyed else 0 :]:
            with suppress(DataError):
                yield parse_record(record, location, form, self, data)

    def describe_row(self, separator: str) -> str:
        if self.header:
            return shorten(self.names)
        names = {index: role.name for role, index in zip(self.roles, self.indices, strict=True)}
        shown = [names.get(index, f"column {index + 1}") for index in range(len(self.names))]
        return shorten(shown) if guessed_by_values(self.roles) else separator.join(shown)

    def apply_to(self, data: TableData) -> TableData:
        """The config with these columns named (or numbered), so that later files are read like this one."""
        columns = {
            role.key: self.names[index] if self.header and self.names.count(self.names[index]) == 1 else str(index + 1)
            for role, index in zip(self.roles, self.indices, strict=True)
        }
        return data.model_copy(update={**columns, "header": self.header})


def guessed_by_values(roles: Sequence[Role]) -> bool:
    """Whether columns are guessed from their values, not from their names and order alone."""
    return any(role.guess != "order" for role in roles)


# Finding columns -----------------------------------------------------------------------------------------------------


def find_columns(path: Path, form: Format, spec: DataSpec, data: TableData) -> Columns:
    assert form.read is not None
    on_bad_line = raise_error if data.on_bad_line == "refuse" else SkipBadLines()
    head = list(islice(form.read([path], data, on_bad_line), HEAD_RECORDS))
    roles = spec.roles
    configured = {role.key: getattr(data, role.key) for role in roles}
    header_guessed = False
    if not head:
        raise no_records(path, form, roles)
    if form.keyed:
        objects = [record for _, record in head if isinstance(record, Mapping)]
        names, header = object_keys(path, objects, roles), True
        if len(names) > MAX_KEYS and guessed_by_values(roles) and None in configured.values():
            which = join_roles(roles, " and which the ", "the ")
            message = f"{len(names):,} different keys, too many to guess which is {which}"
            pronoun = {1: "it", 2: "both"}.get(len(roles), "all")
            raise DataError(path, message, f"Name {pronoun} with {config_keys(roles)}", code="too-many-keys")
        values: Callable[[], guess.ColumnValues] = partial(key_values, objects, names)
    else:
        rows = [list(map(str, record)) for _, record in head]
        is_named = any(name is not None and not name.isdecimal() for name in configured.values())
        header_guessed = data.header is None and not is_named
        width = row_width(path, rows, roles)
        header = guess_header(rows, width, roles) if header_guessed else data.header is not False
        names = column_names(path, rows, width, header)
        full_rows = [row for row in rows[header:] if len(row) == width]
        values = partial(zip, *full_rows, strict=True)
    indices = column_indices(path, roles, configured, names, header, values)
    guessed = [key for key, name in configured.items() if name is None] + (["header"] if header_guessed else [])
    return Columns(roles, indices, header, names, tuple(guessed), head)


def key_values(objects: list[Mapping[str, object]], names: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the values of each key, one key at a time, since a table of all keys may be far larger than the objects."""
    for name in names:
        values = (record.get(name) for record in objects)
        yield ["" if value is None or isinstance(value, dict) else str(value) for value in values]


def column_indices(
    path: Path,
    roles: Sequence[Role],
    configured: Mapping[str, str | None],
    names: tuple[str, ...],
    header: bool,
    values: Callable[[], guess.ColumnValues],
) -> tuple[int, ...]:
    """The column of each role: configured, or found by a usual name, by values or by position."""
    columns = {role.key: configured_column(path, role.key, names, header, configured[role.key]) for role in roles}
    for column in used_indices(columns):
        if len(sharing := [role for role in roles if columns[role.key] == column]) > 1:
            message = f"{join_roles(sharing, ' and ', '')} are the same column ({names[column]!r})"
            count = {2: "two", 3: "three"}.get(len(sharing), str(len(sharing)))
            raise DataError(path, message, f"Name {count} with {config_keys(sharing)}", code="column-named-twice")
    columns = named_columns(names if header else (), roles, columns)
    for role in sorted(roles, key=lambda role: role.guess != "label"):  # labels are easiest to find
        if columns[role.key] is None:
            columns[role.key] = guess_column(path, role, roles.index(role), names, used_indices(columns), values)
    return tuple(index for role in roles if (index := columns[role.key]) is not None)


def used_indices(columns: Mapping[str, int | None]) -> set[int]:
    return {index for index in columns.values() if index is not None}


def guess_column(
    path: Path,
    role: Role,
    position: int,
    names: tuple[str, ...],
    taken: set[int],
    values: Callable[[], guess.ColumnValues],
) -> int:
    """The most likely column of a role among those not taken; without a guess by values, the one at its position."""
    if role.guess == "label":
        index = guess.label_column(values(), taken)
        if index is None:
            reason = f"in each, nearly all values are different (columns: {shorten(names)})"
            message = f"no column looks like a {role.name}: {reason}"
            raise DataError(
                path, message, f"Name the column of the {role.name} with {config_key(role)}", code="no-label-column"
            )
    elif role.guess == "text":
        index = guess.text_column(values(), taken)
    else:
        free = [index for index in range(len(names)) if index not in taken]
        index = position if position in free else next(iter(free), None)
    if index is None:
        message = f"no column is left for the {role.name}"
        raise DataError(path, message, f"Name it with {config_key(role)}", code="no-column-left")
    return index


def named_columns(
    names: Sequence[str], roles: Sequence[Role], columns: Mapping[str, int | None]
) -> dict[str, int | None]:
    """Fill in missing columns: a column that has a usual name of a role, or else the name of a language."""
    columns = dict(columns)
    for role in sorted(roles, key=lambda role: role.guess != "label"):
        if columns[role.key] is None:
            columns[role.key] = guess.find_named(names, role.synonyms, used_indices(columns))
    for role in roles:
        if columns[role.key] is None and role.languages:
            languages = (index for index, name in enumerate(names) if guess.is_language(name))
            columns[role.key] = next((index for index in languages if index not in used_indices(columns)), None)
    return columns


def guess_header(rows: list[list[str]], width: int, roles: Sequence[Role]) -> bool:
    if guessed_by_values(roles):
        full = [row for row in rows if len(row) == width]
        return rows[0] is full[0] and guess.has_header(full, [role.synonyms for role in roles])
    first, below = rows[0], rows[1:]
    if len(first) != width:
        return False
    names = ["" if any(map(str.isspace, cell.strip())) else cell for cell in first]  # several words are a text
    indices = named_columns(names, roles, {role.key: None for role in roles}).values()
    if guess.are_words([first[index] for index in indices if index is not None], below):
        return False
    return all(
        index is not None and all(len(row) <= index or row[index] != first[index] for row in below) for index in indices
    )


def row_width(path: Path, rows: list[list[str]], roles: Sequence[Role]) -> int:
    """The number of fields that most rows have; an error if there are fewer than roles."""
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width < min(2, len(roles)):
        mark = next((f"; the fields may be separated by {mark!r}" for mark in ";\t|" if mark in rows[0][0]), "")
        advice = f"Rewrite it with commas (.csv) or tabs (.tsv) between {join_roles(roles, ' and its ')}"
        raise DataError(path, f"there is only one column{mark}", advice, code="one-column")
    return width


def column_names(path: Path, rows: list[list[str]], width: int, header: bool) -> tuple[str, ...]:
    """The names of the columns; without a header, their numbers from 1."""
    if header and len(rows[0]) != width and len(rows) > 1:
        message = f"the header has {counted(len(rows[0]), 'field')} and most rows have {width}"
        advice = f"Name every column once, or remove the header and pass {KeyName('data.header', False)}"
        raise DataError(Location(str(path), 1), message, advice, code="header-width")
    return tuple(rows[0]) if header else tuple(str(index + 1) for index in range(width))


def object_keys(path: Path, objects: Iterable[Mapping[str, object]], roles: Sequence[Role]) -> tuple[str, ...]:
    """The keys of JSON objects in the order in which they appear; an error if there are fewer than roles."""
    names = tuple(dict.fromkeys(key for record in objects for key in record))
    if len(names) < min(2, len(roles)):
        message = f"there is only one key ({names[0]!r})" if names else "the objects have no keys"
        raise DataError(path, message, f"Give each object {join_roles(roles, ' and its ')}", code="too-few-keys")
    return names


def configured_column(path: Path, key: str, names: tuple[str, ...], header: bool, value: str | None) -> int | None:
    """The column that the config gives by name or by number from 1; None if it gives none."""
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
        message = f"{name} {value!r} is a name, but the file has no header"
        raise DataError(path, message, "Give the column's number, from 1", code="column-name-without-header")
    if value in names:
        message = f"several columns are called {value!r}"
        raise DataError(path, message, f"Give a number, from 1, in {name}", code="ambiguous-column")
    candidates = names[:MAX_KEYS]
    nearest = get_close_matches(value, candidates, n=1) or get_close_matches(value.lower(), candidates, n=1)
    advice = f"The nearest is {nearest[0]!r}; name it with {name}" if nearest else f"Name one of them with {name}"
    message, values = f"no column {value!r} (columns: {shorten(names)})", {"column": value, "columns": list(names)}
    raise DataError(Location(str(path), 1), message, advice, code="unknown-column", values=values)


# Reading rows --------------------------------------------------------------------------------------------------------


def read_rows(
    path: Path, form: Format, columns: Columns, data: TableData, on_bad_line: OnBadLine = raise_error
) -> Iterator[Record]:
    """The example in each row of a table, in the file's order; a row that can't be used goes to `on_bad_line`."""
    assert form.read is not None
    records = form.read([path], data, on_bad_line)
    if columns.header and not form.keyed:
        next(records, None)
    empty = True
    for location, record in records:
        try:
            example = parse_record(record, location, form, columns, data)
        except DataError as error:
            on_bad_line(error)
            continue
        empty = False
        yield example
    if empty:
        raise no_records(path, form, columns.roles)


def no_records(path: Path, form: Format, roles: Sequence[Role]) -> DataError:
    if form.keyed:
        advice = "Name a file with one JSON object per line"
        return DataError(path, "there is no line that can be read", advice, code="no-objects")
    advice = f"Name a file with {join_roles(roles, ' and its ')} in each row"
    return DataError(path, "there is no row that can be read", advice, code="no-rows")


def parse_record(record: Cells, location: Location, form: Format, columns: Columns, data: TableData) -> Record:
    names = [columns.names[index] for index in columns.indices]
    if isinstance(record, Mapping):
        for name in names:
            if name not in record:
                message = f"no key {name!r} (it has {', '.join(map(repr, list(record)[:10])) or 'none'})"
                raise DataError(location, message, f"Add it, {OR_SKIP}", code="missing-key")
        cells = [record[name] for name in names]
        check_encodable(cells, location)
    else:
        if len(record) != len(columns.names):
            raise wrong_width(len(record), location, form, columns)
        cells = [record[index] for index in columns.indices]
    fields = zip(columns.roles, cells, names, strict=True)
    values = tuple(role.parse(Field(cell, name, location), data) for role, cell, name in fields)
    empty = [role.name for role, value in zip(columns.roles, values, strict=True) if role.required and value == ""]
    if empty:
        message = f"the {' and the '.join(empty)} {'is' if len(empty) == 1 else 'are'} empty"
        raise DataError(location, message, FILL_IN, code=f"empty-{'-'.join(empty)}")
    return Record(values, location)


def wrong_width(fields: int, location: Location, form: Format, columns: Columns) -> DataError:
    width = len(columns.names)
    separator = "tab" if form.name == "tsv" else f"{form.separator.strip()!r}"
    advice = f"Remove a {separator}" if fields > width else f"Add the {separator} that is missing"
    if form.name == "csv":
        advice = 'Put quotes around a field that has a comma in it ("a, b")'
    message = f"{counted(fields, 'field')}, expected {width} ({columns.describe_row(form.separator)})"
    code = "too-many-fields" if fields > width else "too-few-fields"
    return DataError(location, message, f"{advice}, {OR_SKIP}", code=code)


# Words of messages ---------------------------------------------------------------------------------------------------


def join_roles(roles: Sequence[Role], between: str = " and ", article: str | None = None) -> str:
    """The names of roles, for a message.

    >>> roles = Role("image", "source"), Role("caption", "target")
    >>> join_roles(roles, " and its "), join_roles(roles, " and ", "")
    ('an image and its caption', 'image and caption')
    """
    first, *others = (role.name for role in roles)
    article = ("an " if first[0] in "aeiou" else "a ") if article is None else article
    return between.join([f"{article}{first}", *others])


def config_key(role: Role) -> str:
    return str(KeyName(f"data.{role.key}"))


def config_keys(roles: Sequence[Role]) -> str:
    return " and ".join(map(config_key, roles))


def shorten(names: Sequence[str]) -> str:
    """The first few names, cut short: a file without a header may have sentences there.

    >>> shorten(["id", "a long sentence that is no name of a column"])
    'id, a long sentence that is no nam…'
    """
    few = [name if len(name) <= 30 else f"{name[:30]}…" for name in names[:MAX_NAMES]]
    return ", ".join(few) + (", …" if len(names) > MAX_NAMES else "")
