"""What a run predicts from: the inputs in a file, which needs no answers (labels, tags, targets)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from seqloom.core.config.data import DataSection, RowData
from seqloom.core.problem import DataError, KeyName, UserError
from seqloom.data.column_guess import NAME
from seqloom.data.columns import Columns, find_columns, guess_header, named_columns, read_rows, row_width, shorten
from seqloom.data.formats import AUTO, FORMATS, Format, TableData, format_of, formats_read, refuse_tabs
from seqloom.data.parallel_text import pair_files
from seqloom.data.paths import without_gz
from seqloom.data.records import FILL_IN, Location
from seqloom.data.spec import DataSpec
from seqloom.data.text_io import EmptyFile, OnBadLine, SkipBadLines, raise_error, read_lines

LocatedText = tuple[str, str]  # location, text


class Words(str):
    """A text that is divided into words already, which may have spaces in them.

    >>> Words(["10 000", "people"]), Words(["10 000", "people"]).words
    ('10 000 people', ('10 000', 'people'))
    """

    words: tuple[str, ...]

    def __new__(cls, words: Sequence[str]) -> "Words":
        text = super().__new__(cls, " ".join(words))
        text.words = tuple(words)
        return text


class Inputs(NamedTuple):
    """The inputs of a file in its order.

    description: how they are read; empty for a text per line
    skipped: the lines that were left out so far
    """

    description: str
    texts: Iterator[LocatedText]
    skipped: SkipBadLines


def read_inputs(
    path: Path, spec: DataSpec, data: DataSection, file_advice: str, keys_of_file: Collection[str] = ()
) -> Inputs:
    """The inputs of a file: the column of a table, words of a CoNLL file, texts of a folder, or a text per line.

    data: the section of the run's config, whose columns and format are used
    keys_of_file: the keys of `data` that were set for this file. A bad line is skipped only if `on_bad_line` was:
        answers match lines.
    """
    form, skipped = input_format(path, spec, data.format), SkipBadLines()
    if form.kind == "text" and isinstance(data, TableData):
        refuse_header(path, spec, data)
    if isinstance(data, RowData) and "on_bad_line" not in keys_of_file:
        data = data.model_copy(update={"on_bad_line": "refuse"})
    on_bad_line = skipped if isinstance(data, RowData) and data.on_bad_line == "skip" else raise_error
    if form.kind in ("text", "parallel"):
        return Inputs("", refuse_blank_lines(str(path), read_lines(path), file_advice), skipped)
    if form.kind == "table":
        assert isinstance(data, TableData)
        columns = input_columns(path, form, spec, data, keys_of_file)
        role, (index,) = spec.roles[0], columns.indices
        name = f"column {columns.names[index]!r}" if columns.header else f"column {index + 1}, no header"
        records = read_rows(path, form, columns, data, on_bad_line)
        texts = ((location, in_folder(path, value) if role.is_path else str(value)) for (value,), location in records)
        return Inputs(f"{role.name} from {name}", refuse_empty(texts, role.name, on_bad_line), skipped)
    read = form.read_inputs or form.read
    assert read is not None
    examples: Iterator[tuple[Location, Any]]
    examples = ((location, next(iter(values))) for location, values in read([path], data, on_bad_line))
    if form.kind == "conll":
        return Inputs("words", ((str(location), Words(words)) for location, words in examples), skipped)
    return Inputs("texts", refuse_empty(examples, "text", on_bad_line), skipped)


def input_format(path: Path, spec: DataSpec, name: str) -> Format:
    """The format of a file, as in training; but any task also reads a text per line."""
    suffixes = {suffix for form in FORMATS.values() for suffix in form.suffixes}
    if name == AUTO and without_gz(path).suffix.lower() not in suffixes and not path.is_dir():
        if "table" in spec.kinds:
            refuse_tabs(path)
        return FORMATS["text"]
    return format_of(path, spec, name)


def is_table(path: str, spec: DataSpec) -> bool:
    """Whether a path has the suffix of a table that the task reads."""
    return any(form.kind == "table" for form in formats_of_suffix(path, spec))


def has_input_suffix(path: str, spec: DataSpec) -> bool:
    """Whether a path has the suffix of a file that the task reads: any task reads a text per line."""
    return bool(formats_of_suffix(path, spec)) or without_gz(Path(path)).suffix.lower() == ".txt"


def formats_of_suffix(path: str, spec: DataSpec) -> list[Format]:
    suffix = without_gz(Path(path)).suffix.lower()
    return [form for form in formats_read(spec) if suffix in form.suffixes]


def refuse_header(path: Path, spec: DataSpec, data: TableData) -> None:
    """Refuse a table whose name is that of a text file, if its first record has the names of the run's columns."""
    for form in FORMATS.values():
        if form.kind == "table" and has_columns(names := first_names(path, form, data), spec, data, form.keyed):
            rename = f"Rename it to {form.suffixes[0]}, or pass" if form.suffixes else "Pass"
            raise header_in_text(path, names, f"{rename} {KeyName('data.format', form.name)}")
    line = next((line for _, line in read_lines(path, on_bad_line=SkipBadLines())), "")
    for mark in ";|":
        if has_columns(names := line.split(mark), spec, data):
            raise header_in_text(path, names, "Rewrite it with commas (.csv) or tabs (.tsv) between the columns")


def first_names(path: Path, form: Format, data: TableData) -> list[str]:
    """The cells of the first row, or the keys of the first object; empty if it can't be read."""
    assert form.read is not None
    with suppress(UserError):
        for _, record in form.read([path], data, raise_error):
            return [str(name) for name in record]
    return []


def has_columns(names: Sequence[str], spec: DataSpec, data: TableData, keyed: bool = False) -> bool:
    """Whether these are the names of columns: the run's own name of the input is among them, or a name of each column.

    A row of one cell is a header only if it is the run's own name; an object (`keyed`) may have a single name.
    """
    configured = [getattr(data, role.key) for role in spec.roles]
    own = [[] if name is None or name.isdecimal() else [name.lower()] for name in configured]
    cells = {name.strip().lower() for name in names}
    if not cells.isdisjoint(own[0]) and all(NAME.fullmatch(name) or not name for name in names):
        return True
    of_each = (not cells.isdisjoint((*role.synonyms, *name)) for role, name in zip(spec.roles, own, strict=True))
    return (len(names) > 1 or keyed) and all(of_each)


def header_in_text(path: Path, names: Sequence[str], advice: str) -> DataError:
    columns = shorten([name.strip() for name in names])
    message = f"named as plain text, but its first line has the names of columns ({columns}), as in a table"
    return DataError(path, message, advice, code="header-in-text")


def refuse_pairs(paths: Sequence[Path], spec: DataSpec, name: str) -> None:
    """Refuse the two sides of parallel text, since only the sources are inputs."""
    if "parallel" not in spec.kinds:
        return
    texts = [path for path in paths if input_format(path, spec, name).kind in ("text", "parallel")]
    for source, target in pair_files(texts) if len(texts) % 2 == 0 else ():
        if without_gz(source).suffix != without_gz(target).suffix:
            message = f"this and {target} look like the two sides of a parallel text, of which only one is the input"
            raise DataError(source, message, "Name the source alone", code="input-pair")


def input_columns(path: Path, form: Format, spec: DataSpec, data: TableData, keys_of_file: Collection[str]) -> Columns:
    """The column of the first role alone: the run's own name or number, or a guess as in training."""
    role = spec.roles[0]
    columns = find_columns(path, form, replace(spec, roles=(role,)), data)
    configured = getattr(data, role.key)
    if (
        form.keyed
        and configured != columns.names[columns.indices[0]]
        and configured is not None
        and role.key not in keys_of_file
    ):
        message = f"the run reads column {configured}, which is no key here (keys: {shorten(columns.names)})"
        raise DataError(path, message, f"Name the key with {KeyName(f'data.{role.key}')}", code="number-of-key")
    named = f"Name the column with {KeyName(f'data.{role.key}')}"
    if columns.header and not form.keyed and role.key not in keys_of_file and (configured or "").isdecimal():
        usual = named_columns(columns.names, (role,), {role.key: None})[role.key]
        if usual != columns.indices[0]:  # the number is of a file without names, which may have other columns
            names = f"the columns here have names ({shorten(columns.names)})"
            raise DataError(path, f"the run reads column {configured}, but {names}", named, code="number-of-name")
    if not (form.keyed or columns.header or {"header", role.key} & set(keys_of_file)):
        rows = [list(map(str, record)) for _, record in columns.head]
        width = row_width(path, rows, (role,))
        if any(guess_header(rows, width, roles) for roles in (spec.roles, (role,))):
            names = f"the first row looks like the names of columns ({shorten(rows[0])})"
            message, without = f"{names}, and the run's own files have none", KeyName("data.header", False)
            raise DataError(Location(str(path), 1), message, f"{named}, or pass {without}", code="header-differs")
    columns.head.clear()
    return columns


def in_folder(table: Path, value: str) -> str:
    """A path in a table, which is relative to the table's folder."""
    return str(table.parent / value) if value else ""


def refuse_empty(texts: Iterable[tuple[Location, str]], noun: str, on_bad_line: OnBadLine) -> Iterator[LocatedText]:
    for location, text in texts:
        if text.strip():
            yield str(location), text
        else:
            on_bad_line(DataError(location, f"the {noun} is empty", FILL_IN, code="empty-cell"))


def refuse_blank_lines(name: str, lines: Iterable[tuple[int, str]], advice: str) -> Iterator[LocatedText]:
    """Lines with their locations. A blank line is an error, since answers would not match lines, except at the end."""
    blank, count = 0, 0
    with suppress(EmptyFile):
        for number, line in lines:
            if not line.strip():
                blank = blank or number
                continue
            if blank:
                message, remove = "an empty line", "Remove it, since each line is a text"
                raise DataError(f"{name}:{blank}", message, remove, code="empty-line")
            count += 1
            yield f"{name}:{number}", line
    if not count:
        raise DataError(name, "nothing to read", advice, code="nothing-to-read")
