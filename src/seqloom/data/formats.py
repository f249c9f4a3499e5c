"""The formats of files: a line each, and a reader in a file of its own. Which is meant goes by a file's name."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

from seqloom.core.config.data import DataSection
from seqloom.core.part_checks import as_function, each, misfit
from seqloom.core.part_origin import Origin
from seqloom.core.problem import DataError, KeyName
from seqloom.core.registry import Registry, shown
from seqloom.data.class_folder import read_classes
from seqloom.data.conll import read_conll, read_conllu
from seqloom.data.examples import Place
from seqloom.data.parallel_text import pair_up, read_parallel
from seqloom.data.paths import split_named, without_gz
from seqloom.data.reads import Reads, unlike_kind
from seqloom.data.tables import csv_rows, json_objects, tsv_rows
from seqloom.data.text_io import Bad, Skipped, is_directory, read_lines, refuse

Cells = Sequence[object] | Mapping[str, object]
"""A record: cells in order, or an object of JSON."""
Records = Iterator[tuple[Place, Cells]]
Read = Callable[[Sequence[Path], Any, Bad], Records]
"""From the files of one input (of parallel text two), the data section of the config, and what to do with a line that
can't be read, to records with their locations. Of a table: the cells of each row, the first one among them, or an
object of JSON with its keys; of other kinds, the values of an example."""


@dataclass(frozen=True)
class Format:
    """One way to write examples down.

    name: as `data.format` says it
    kind: which tasks can read it (`Reads.kinds`): table, folder, parallel, conll; text has no records, and no reader
    suffixes: of files that are written so; none for what takes every other name
    separator: what stands between two cells of a row, for messages
    keyed: whether the records of a table have names for their values, so that no row is a header
    """

    name: str
    kind: str
    read: Read | None
    suffixes: tuple[str, ...] = ()
    separator: str = ", "
    keyed: bool = False


FORMATS: Registry[Format] = Registry(
    "reader",
    {
        "csv": Format("csv", "table", csv_rows, (".csv",), ", comma, "),
        "tsv": Format("tsv", "table", tsv_rows, (".tsv", ".tab"), ", tab, "),
        "jsonl": Format("jsonl", "table", json_objects, (".jsonl", ".ndjson", ".json"), keyed=True),
        "folder": Format("folder", "folder", read_classes),
        "conllu": Format("conllu", "conll", read_conllu, (".conllu",)),
        "conll": Format(
            "conll", "conll", read_conll, (".conll", ".conll2003", ".iob", ".iob2", ".bio", ".bioes", ".iobes")
        ),
        "parallel": Format("text", "parallel", read_parallel),
        "text": Format("text", "text", None),
    },
)
AUTO = "auto"


def formats_read(reads: Reads) -> list[Format]:
    """The formats that a task reads, by the order of the kinds that it names."""
    return [form for kind in reads.kinds for form in FORMATS.values() if form.kind == kind]


def formats_of(
    paths: Sequence[Path], reads: Reads, name: str = AUTO, on_problem: Bad = refuse
) -> list[tuple[Path, Format]]:
    """The files that the task can read, each with its format; what is wrong with the others goes to `on_problem`.

    To a task that reads classes of files, several .txt files are one file per class.
    """
    text_files = [path for path in paths if without_gz(path).suffix.lower() == ".txt" and not path.is_dir()]
    classes = "folder" in reads.kinds and name == AUTO and len(text_files) == len(paths) > 1
    found: list[tuple[Path, Format]] = []
    for path in paths:
        try:
            found.append((path, class_file(path, reads) if classes else format_of(path, reads, name)))
        except DataError as problem:
            on_problem(problem)
    texts = [each for each in found if each[1].kind == "parallel"]
    try:
        pair_up([path for path, _ in texts])
    except DataError as problem:
        on_problem(problem)
        found.remove(texts[-1])
    return found


def class_file(path: Path, reads: Reads) -> Format:
    """The format of one of several .txt files, if it is the texts of a class."""
    refuse_tabs(path)
    if split_named(without_gz(path).stem):
        message = "several .txt files are read as one file per class, and this is not the name of a class"
        raise DataError(path, message, f"{reads.task} reads {reads.description}", code="split-as-class")
    return FORMATS["folder"]


def format_of(path: Path, reads: Reads, name: str = AUTO) -> Format:
    """How a file is written: as given, or by its name (.gz aside); a DataError where the task can't read that."""
    known = {form.name: form for form in formats_read(reads)}
    if path.is_dir() and (name not in (AUTO, "folder") or "folder" not in known):
        suffix = f".{name}" if "folder" in known else reads.suffix
        raise is_directory(path, f"*{suffix}")
    if name != AUTO:
        return check_read(path, reads, name, known)
    if path.is_dir():
        return known["folder"]
    suffix = without_gz(path).suffix.lower()
    found = next((form.name for form in FORMATS.values() if suffix in form.suffixes), "text")
    if "table" in reads.kinds and found == "text":
        refuse_tabs(path)
    form = check_read(path, reads, found, known)
    return form


def check_read(path: Path, reads: Reads, name: str, known: Mapping[str, Format]) -> Format:
    """The format of this name, if the task reads it."""
    if name in known:
        return known[name]
    a = "plain text" if name == "text" else "a folder" if name == "folder" else f"a {name} file"
    advice = f"Name another file, or say how it is written: {KeyName('data.format', '|'.join(known))}"
    raise DataError(path, f"{a}, and {reads.task} reads {reads.description}", advice, code="format-not-read")


def refuse_tabs(path: Path) -> None:
    """A table under a text's name is common enough to be recognised. Bad lines are left to the reader."""
    lines = [line for _, line in islice(read_lines(path, bad=Skipped()), 20)]
    tabs = {line.count("\t") for line in lines}
    if len(tabs) == 1 and (each := tabs.pop()):
        message = f"named as plain text, but each line has {'one tab' if each == 1 else f'{each} tabs'}, as in a table"
        raise DataError(
            path, message, f"Rename it to .tsv, or pass {KeyName('data.format', 'tsv')}", code="tabs-in-text"
        )


def refuse_twice(patterns: Sequence[str], reads: Reads, data: DataSection) -> None:
    """Of parallel text each file is one side of one pair: which pairs are meant if one is named twice?"""
    seen: set[Path] = set()
    suffixes = {suffix for form in FORMATS.values() for suffix in form.suffixes}
    for pattern in patterns if "parallel" in reads.kinds and data.format in (AUTO, "text") else ():
        path = Path(pattern)
        if data.format == AUTO and without_gz(path).suffix.lower() in suffixes:
            continue
        if path.absolute() in seen:
            message = "this text file is named twice, and each is one side of one pair"
            advice = "Name it once; a copy of it, under another name, may stand in another pair"
            raise DataError(pattern, message, advice, code="text-named-twice")
        seen.add(path.absolute())


def register(
    name: str, part: object, suffixes: Sequence[str], kind: str, kinds: Collection[str], separator: str, keyed: bool
) -> None:
    """Add a user-defined reader: a function of (paths, data, bad), as `Read` says, of one of the kinds that there are.

    kinds: those that tasks read
    """
    function = as_function("reader", name, part, "paths", "data", "bad")
    readable = sorted(set(kinds) - {"text"})
    if kind not in readable:
        reason = f"is of the kind {kind!r}, which no task reads from records"
        raise misfit("reader", name, part, reason, f"Give one of {', '.join(readable)}")
    FORMATS.names.check(name, Origin.registered(part))
    taken = {suffix: form.name for form in FORMATS.values() for suffix in form.suffixes if form.name != name}
    taken |= {".txt": "text", ".gz": "gzip"}
    for suffix in suffixes:
        if not re.fullmatch(r"\.[a-z0-9]+", suffix):
            advice = "Write a dot, then lower-case letters and digits: .abc"
            raise misfit("reader", name, part, f"has the suffix {suffix!r}", advice)
        if suffix in taken:
            reason = f"has the suffix {suffix!r}, which {taken[suffix]} has"
            raise misfit("reader", name, part, reason, "Give it another, or none: data.format then names it")

    @wraps(function)
    def read(paths: Sequence[Path], data: object, bad: Bad) -> Records:
        for record in each("reader", name, part, lambda: function(paths, data, bad)):
            match record:
                case (Place(file=str(), line=int()) as place, Mapping() as values) if keyed:
                    yield place, values
                case (Place(file=str(), line=int()) as place, list() | tuple() as cells) if not keyed:
                    if (wanted := unlike_kind(kind, cells)) is not None:
                        reason = f"gave {shown(cells)}, and examples of the kind {kind} are {wanted}"
                        raise misfit("reader", name, part, reason, "Give that")
                    yield place, cells
                case _:
                    expected = "a mapping" if keyed else "a list of cells"
                    reason = f"gave {shown(record)}, not (Place(file, line), {expected})"
                    raise misfit("reader", name, part, reason, "Give that for each record")

    FORMATS.register(name, Format(name, kind, read, tuple(suffixes), separator, keyed), Origin.registered(part))
