"""Examples prepared for training: read once, split by content, encoded as a schema says, cached."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import SupportsIndex

from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.cache import find_or_create
from seqloom.data.records import Location, Record, Value
from seqloom.data.row_store import ArrayWriter, Ragged, SourceFile, read_arrays
from seqloom.data.schema import Counts, Encoders, Notes, RowArrays, Schema
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS, TEST, TRAIN, batched, check_filled
from seqloom.data.text_io import OnBadLine, count_skipped

META, FILES, COPY = "meta.json", "files.json", "copy.jsonl"
BATCH = 1 << 20  # characters encoded at a time, about

ExampleReader = Callable[[OnBadLine], Iterator[tuple[str, Record]]]
"""Reads all examples, each with the split of its file."""

to_json = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True)
class Split:
    """The rows of one split: arrays by the names of their columns, and the file and line of each row."""

    columns: Mapping[str, Ragged]
    files: tuple[SourceFile, ...]
    file: Integer[ndarray, " rows"]
    line: Integer[ndarray, " rows"]

    def __len__(self) -> int:
        return len(self.line)

    def __getitem__(self, name: str) -> Ragged:
        return self.columns[name]

    def text(self, name: str, row: SupportsIndex) -> str:
        return bytes(self.columns[name][row]).decode()


@dataclass(frozen=True)
class Meta:
    """What is saved with the rows: see `Dataset`."""

    splits: Sequence[str]
    cut: int
    notes: Notes
    skipped: int = 0
    single: bool = True


@dataclass(frozen=True)
class Dataset:
    """Prepared examples, memory-mapped.

    cut: rows of which the end was cut off
    skipped: lines that could not be read
    notes: the counts of a filter, and whether every example has one answer (`single`)
    """

    splits: dict[str, Split]
    encoders: Encoders
    cut: int
    skipped: int
    notes: Notes
    folder: Path


class SplitExamples:
    """All examples, each with its split: that of its file, or one by its content.

    The first reading is of the files, and writes a copy; later ones are of the copy, which nobody else changes.
    """

    def __init__(self, source: DataSource, schema: Schema, read: ExampleReader, copy: Path) -> None:
        self.source, self.schema, self.read, self.copy = source, schema, read, copy
        self.on_bad_line = source.on_bad_line()
        self.moved: set[str] = set()  # contents that are moved from a held-out split to training
        self.left_out: frozenset[str] = frozenset()  # answers whose examples are left out

    def read_files(self) -> Iterator[tuple[str, Record]]:
        with self.copy.open("w", encoding="utf-8", newline="\n") as file:
            for split, example in self.read(self.on_bad_line):
                split = self.source.split_of(self.schema.content_of(example.values), split)
                file.write(to_json((split, example)) + "\n")
                yield split, example

    def __iter__(self) -> Iterator[tuple[str, Record]]:
        with self.copy.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                split, (values, location) = json.loads(line)
                if self.left_out and self.left_out.intersection(self.answers(values)):
                    continue
                if self.moved and not self.source.has(split) and self.schema.content_of(values) in self.moved:
                    split = TRAIN
                values = tuple(tuple(value) if isinstance(value, list) else value for value in values)
                yield split, Record(values, Location(*location))

    def answers(self, values: Sequence[Value]) -> Sequence[str]:
        return () if self.schema.answers is None else values[self.schema.answers]

    def count(self) -> tuple[Counter[str], Counts, bool]:
        """Read the files: the size of each split, the counts of each answer, and whether each example has one."""
        sizes, counts, single = Counter[str](), Counts(), True
        for split, example in self.read_files():
            sizes[split] += 1
            answers = self.answers(example.values)
            single &= len(answers) == 1
            for answer in answers:
                counts.setdefault(answer, Counter())[split] += 1
        return sizes, counts, single

    def move_missing(self, counts: Counts) -> None:
        """Move to training the examples of an answer that are all held out by chance, and their duplicates."""
        if missing := missing_from_train(self.source, counts):
            self.moved = {
                self.schema.content_of(example.values)
                for split, example in self
                if not self.source.has(split) and missing.intersection(self.answers(example.values))
            }

    def training_values(self, roles: Sequence[int]) -> Iterator[Value]:
        return (example.values[role] for split, example in self if split == TRAIN for role in roles)

    def first_location(self, answer: str) -> Location:
        return next(example.location for _, example in self if answer in self.answers(example.values))


def missing_from_train(source: DataSource, counts: Counts) -> set[str]:
    """Answers that training lacks although the training files have them: all were held out by their content."""
    return {
        answer
        for answer, splits in counts.items()
        if not splits[TRAIN] and any(count and not source.has(split) for split, count in splits.items())
    }


def never_in_train(source: DataSource, counts: Counts) -> list[str]:
    """Answers that only files of other splits have."""
    missing = missing_from_train(source, counts)
    return [answer for answer, splits in counts.items() if not splits[TRAIN] and answer not in missing]


# From a source to a dataset ------------------------------------------------------------------------------------------


def prepare(
    source: DataSource, schema: Schema, read: ExampleReader | None = None, key: Mapping[str, object] | None = None
) -> Dataset:
    """The prepared examples of a source, from the cache or new; never from a file that changed meanwhile.

    read: what reads the examples, if not the source itself; `key` has what else they depend on
    """

    def fill(folder: Path) -> None:
        write_dataset(source, schema, read or source.examples, folder)
        source.check_unchanged()

    folder = find_or_create({**source.cache_key(), "schema": repr(schema), **(key or {})}, fill)
    meta = Meta(**json.loads((folder / META).read_text(encoding="utf-8")))
    files = {file: (folder / file).read_text(encoding="utf-8") for file in schema.learners}
    encoders = {file: learner.load(files[file], file) for file, learner in schema.learners.items()}
    return open_dataset(folder, schema, encoders, meta)


def write_dataset(source: DataSource, schema: Schema, read: ExampleReader, folder: Path) -> None:
    """Read the files once, counting; then learn the encoders, and write the rows of each split."""
    examples, learners = SplitExamples(source, schema, read, folder / COPY), schema.learners.items()
    sizes, counts, single = examples.count()
    if schema.answers is None:
        check_filled(source.name, sizes)
    else:
        examples.left_out = frozenset(schema.check_answers(examples, counts, single))
        counts = {answer: splits for answer, splits in counts.items() if answer not in examples.left_out}
        examples.move_missing(counts)
    encoders = {file: learner.learn(examples.training_values(learner.roles), counts) for file, learner in learners}
    meta = write_splits(source, schema, encoders, examples, folder)
    check_filled(source.name, meta.splits)
    meta = replace(meta, skipped=count_skipped(examples.on_bad_line), single=single)
    for file, encoder in encoders.items():
        (folder / file).write_text(encoder.to_json(), encoding="utf-8")
    (folder / META).write_text(json.dumps(asdict(meta)), encoding="utf-8")
    examples.copy.unlink()


def write_splits(
    source: DataSource, schema: Schema, encoders: Encoders, examples: Iterable[tuple[str, Record]], folder: Path
) -> Meta:
    """Encode the examples, and write the rows of each split to a folder of its name, with the file and line of each."""
    columns = {column.name: column.open(encoders) for column in schema.columns}
    types = {name: column.dtype for name, column in columns.items()}
    types |= {f"{name}_end": "int64" for name in columns} | {"file": "int32", "line": "int64"}
    row_filter, files, cut = schema.row_filter(source), dict[str, int](), 0
    with ExitStack() as stack:
        writers = {split: stack.enter_context(ArrayWriter(folder / split, types)) for split in SPLITS}
        for group in batched(examples, BATCH, example_size):
            locations = [example.location for _, example in group]
            encoded = [
                columns[column.name].encode([example.values[column.role] for _, example in group], locations)
                for column in schema.columns
            ]
            rows: dict[str, list[tuple[Location, RowArrays]]] = {split: [] for split in SPLITS}
            for (split, example), *arrays in zip(group, *encoded, strict=True):
                full = dict(zip(columns, arrays, strict=True))
                if row_filter.keeps(split, example.location, full):
                    row = {column.name: full[column.name][: column.max_length] for column in schema.columns}
                    cut += any(len(row[name]) < len(full[name]) for name in row)
                    rows[split].append((example.location, row))
            for split, writer in writers.items():
                for name in columns:
                    writer.append_rows(name, [row[name] for _, row in rows[split]])
                writer.append("file", [files.setdefault(location.file, len(files)) for location, _ in rows[split]])
                writer.append("line", [location.line for location, _ in rows[split]])
    for column in columns.values():
        column.close(folder)
    numbers = {name: number for number, name in enumerate(source.names())}
    (folder / FILES).write_text(json.dumps([SourceFile.of(file, numbers) for file in files]), encoding="utf-8")
    return Meta([split for split in SPLITS if writers[split].sizes["line"]], cut, row_filter.notes())


def example_size(item: tuple[str, Record]) -> int:
    """About how many characters or words an example has."""
    return 1 + sum(len(value) for value in item[1].values if isinstance(value, Sized))


def open_dataset(folder: Path, schema: Schema, encoders: Encoders, meta: Meta) -> Dataset:
    files = tuple(SourceFile(*file) for file in json.loads((folder / FILES).read_text(encoding="utf-8")))
    splits = {}
    for split in meta.splits:
        arrays = read_arrays(folder / split)
        columns = {column.name: Ragged.of(arrays, column.name) for column in schema.columns}
        splits[split] = Split(columns, files, arrays["file"], arrays["line"])
    return Dataset(splits, encoders, meta.cut, meta.skipped, {**meta.notes, "single": meta.single}, folder)


def prepare_test(
    source: DataSource, schema: Schema, encoders: Encoders, folder: Path, read: ExampleReader | None = None
) -> Dataset:
    """Files to test on, encoded with a run's encoders; `folder` is for the arrays."""
    on_bad_line = source.on_bad_line()
    examples = ((TEST, example) for _, example in (read or source.examples)(on_bad_line))
    meta = write_splits(source, schema, encoders, examples, folder)
    return open_dataset(folder, schema, encoders, replace(meta, skipped=count_skipped(on_bad_line)))
