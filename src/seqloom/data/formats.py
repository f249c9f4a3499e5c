"""File formats, each with its reader; `data.format` or the name of a file decides its format."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

from seqloom.core.config.data import DataSection, RowData
from seqloom.core.config.section import key
from seqloom.core.part import Part
from seqloom.core.problem import DataError, KeyName
from seqloom.core.registry import Registry
from seqloom.core.wording import short_repr
from seqloom.data.class_folder import read_classes
from seqloom.data.conll import read_conll, read_conllu, read_words
from seqloom.data.parallel_text import pair_files, read_parallel
from seqloom.data.paths import split_from_name, without_gz
from seqloom.data.records import Location
from seqloom.data.spec import DataSpec, expected_values
from seqloom.data.tables import csv_rows, json_objects, tsv_rows
from seqloom.data.text_io import OnBadLine, SkipBadLines, directory_error, raise_error, read_lines

Cells = Sequence[object] | Mapping[str, object]
"""A record: cells in order, or a JSON object."""
Records = Iterator[tuple[Location, Cells]]
Reader = Callable[[Sequence[Path], Any, OnBadLine], Records]
"""Reads the records of one input (a file, a folder, or two parallel files), with their locations.

Its arguments are the files, the data section of the config, and a handler of lines that can't be read. A record of a
table has the cells of a row, a header row included, or the keys and values of a JSON object; a record of another kind
has the values of an example."""
AUTO = "auto"


@dataclass(frozen=True)
class Format:
    """A way to store examples in files.

    name: the value of `data.format`
    kind: which tasks can read it (`DataSpec.kinds`): table, folder, parallel, conll; text has no records and no reader
    suffixes: of such files; empty for the format of all other names
    separator: between two cells of a row, in messages
    keyed: whether the records of a table have names for their values, so that no row is a header
    read_inputs: reads files that may lack the answers, if `read` does not
    """

    name: str
    kind: str
    read: Reader | None
    suffixes: tuple[str, ...] = ()
    separator: str = ", "
    keyed: bool = False
    read_inputs: Reader | None = None


CONLL_SUFFIXES = (".conll", ".conll2003", ".iob", ".iob2", ".bio", ".bioes", ".iobes")
FORMATS: Registry[Format] = Registry(
    "reader",
    {
        "csv": Format("csv", "table", csv_rows, (".csv",), ", comma, "),
        "tsv": Format("tsv", "table", tsv_rows, (".tsv", ".tab"), ", tab, "),
        "jsonl": Format("jsonl", "table", json_objects, (".jsonl", ".ndjson", ".json"), keyed=True),
        "folder": Format("folder", "folder", read_classes),
        "conllu": Format("conllu", "conll", read_conllu, (".conllu",)),
        "conll": Format("conll", "conll", read_conll, CONLL_SUFFIXES, read_inputs=read_words),
        "parallel": Format("text", "parallel", read_parallel),
        "text": Format("text", "text", None),
    },
)


# Config keys of tasks that read tables -------------------------------------------------------------------------------


def table_formats() -> tuple[str, ...]:
    """The values of `data.format` with which a column can be named."""
    return (AUTO, *(form.name for form in FORMATS.values() if form.kind == "table"))


def header_formats() -> tuple[str, ...]:
    """The values of `data.format` with which the first row may be a header."""
    return (AUTO, *(form.name for form in FORMATS.values() if form.kind == "table" and not form.keyed))


def column_key(description: str) -> Any:
    """The key of a column, whose value is the column's name or its number from 1."""
    only_with = {"data.format": table_formats}
    return key(None, description, only_with=only_with, of_file=True, coerce_numbers_to_str=True)


class TableData(RowData):
    header: bool | None = key(
        None,
        "Whether the first row contains the column names; default: guessed.",
        only_with={"data.format": header_formats},
        of_file=True,
    )


# The format of a file ------------------------------------------------------------------------------------------------


def formats_read(spec: DataSpec) -> list[Format]:
    """The formats that a task reads, in the order of its kinds."""
    return [form for kind in spec.kinds for form in FORMATS.values() if form.kind == kind]


def formats_of(
    paths: Sequence[Path], spec: DataSpec, name: str = AUTO, on_problem: OnBadLine = raise_error
) -> list[tuple[Path, Format]]:
    """The files that the task can read, each with its format; errors about the others go to `on_problem`.

    For a task that reads classes of files, several .txt files are one file per class.
    """
    text_files = [path for path in paths if without_gz(path).suffix.lower() == ".txt" and not path.is_dir()]
    are_classes = "folder" in spec.kinds and name == AUTO and len(text_files) == len(paths) > 1
    files: list[tuple[Path, Format]] = []
    for path in paths:
        try:
            files.append((path, class_file(path, spec) if are_classes else format_of(path, spec, name)))
        except DataError as problem:
            on_problem(problem)
    parallel = [(path, form) for path, form in files if form.kind == "parallel"]
    try:
        pair_files([path for path, _ in parallel])
    except DataError as problem:
        on_problem(problem)
        files.remove(parallel[-1])
    return files


def class_file(path: Path, spec: DataSpec) -> Format:
    """The format of one of several .txt files, if it holds the texts of a class."""
    refuse_tabs(path)
    if split_from_name(without_gz(path).stem):
        message = "several .txt files are read as one file per class, and this is not the name of a class"
        raise DataError(path, message, f"{spec.task} reads {spec.description}", code="split-as-class")
    return FORMATS["folder"]


def format_of(path: Path, spec: DataSpec, name: str = AUTO) -> Format:
    """The format of a file: as given, or by its name (.gz aside); a DataError where the task can't read it."""
    readable = {form.name: form for form in formats_read(spec)}
    if path.is_dir() and (name not in (AUTO, "folder") or "folder" not in readable):
        raise directory_error(path, f"*.{name}" if "folder" in readable else f"*{spec.suffix}")
    if name == AUTO:
        suffix = without_gz(path).suffix.lower()
        name = next((form.name for form in FORMATS.values() if suffix in form.suffixes), "text")
        name = "folder" if path.is_dir() else name
        if "table" in spec.kinds and name == "text":
            refuse_tabs(path)
    if name in readable:
        return readable[name]
    kind = "plain text" if name == "text" else "a folder" if name == "folder" else f"a {name} file"
    advice = f"Name another file, or set its format: {KeyName('data.format', '|'.join(readable))}"
    raise DataError(path, f"{kind}, and {spec.task} reads {spec.description}", advice, code="format-not-read")


def refuse_tabs(path: Path) -> None:
    """Refuse a table whose name is that of a text file, a common mistake. The reader reports bad lines."""
    lines = [line for _, line in islice(read_lines(path, on_bad_line=SkipBadLines()), 20)]
    tabs = {line.count("\t") for line in lines}
    if len(tabs) == 1 and (count := tabs.pop()):
        message = (
            f"named as plain text, but each line has {'one tab' if count == 1 else f'{count} tabs'}, as in a table"
        )
        advice = f"Rename it to .tsv, or pass {KeyName('data.format', 'tsv')}"
        raise DataError(path, message, advice, code="tabs-in-text")


def refuse_repeated_files(patterns: Sequence[str], spec: DataSpec, data: DataSection) -> None:
    """Refuse a file of parallel text that is named twice: it is one side of one pair, so the pairs are not clear."""
    seen: set[Path] = set()
    suffixes = {suffix for form in FORMATS.values() for suffix in form.suffixes}
    for pattern in patterns if "parallel" in spec.kinds and data.format in (AUTO, "text") else ():
        path = Path(pattern)
        if data.format == AUTO and without_gz(path).suffix.lower() in suffixes:
            continue
        if path.absolute() in seen:
            message = "this text file is named twice, but each file is one side of a pair"
            advice = "Name it once; a copy of it, under another name, may be in another pair"
            raise DataError(pattern, message, advice, code="text-named-twice")
        seen.add(path.absolute())


# User-defined readers ------------------------------------------------------------------------------------------------


def register(
    part: Part, suffixes: Sequence[str], kind: str, kinds: Collection[str], separator: str, keyed: bool
) -> None:
    """Add a user-defined `Reader` of one of the kinds that tasks read (`kinds`)."""
    function = part.as_function("paths, data, on_bad_line")
    readable = sorted(set(kinds) - {"text"})
    if kind not in readable:
        reason = f"is of the kind {kind!r}, which no task reads from records"
        raise part.misfit(reason, f"Give one of {', '.join(readable)}")
    FORMATS.names.check(part.name, part.origin)
    taken = {suffix: form.name for form in FORMATS.values() for suffix in form.suffixes if form.name != part.name}
    taken |= {".txt": "text", ".gz": "gzip"}
    for suffix in suffixes:
        if not re.fullmatch(r"\.[a-z0-9]+", suffix):
            advice = "Write a dot, then lower-case letters and digits: .abc"
            raise part.misfit(f"has the suffix {suffix!r}", advice)
        if suffix in taken:
            reason = f"has the suffix {suffix!r}, which {taken[suffix]} has"
            raise part.misfit(reason, "Give it another, or none: data.format then names it")

    @wraps(function)
    def read(paths: Sequence[Path], data: object, on_bad_line: OnBadLine) -> Records:
        for record in part.iterate(function, paths, data, on_bad_line):
            match record:
                case (Location(file=str(), line=int()) as location, Mapping() as values) if keyed:
                    yield location, values
                case (Location(file=str(), line=int()) as location, list() | tuple() as cells) if not keyed:
                    if (expected := expected_values(kind, cells)) is not None:
                        reason = f"gave {short_repr(cells)}, and examples of the kind {kind} are {expected}"
                        raise part.misfit(reason, "Give that")
                    yield location, cells
                case _:
                    expected = "a mapping" if keyed else "a list of cells"
                    reason = f"gave {short_repr(record)}, not (Location(file, line), {expected})"
                    raise part.misfit(reason, "Give that for each record")

    FORMATS.register(part.name, Format(part.name, kind, read, tuple(suffixes), separator, keyed), part.origin)
