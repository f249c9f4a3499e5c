"""What tasks over rows share: rows are texts or sentences, each with its answer and the place that it came from."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import ClassVar, Self

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.config.data import RowData
from seqloom.core.config.section import keys
from seqloom.core.problem import UserError
from seqloom.data.batches import batches_by_length
from seqloom.data.prepare import Dataset, Split, prepare, prepare_test
from seqloom.data.schema import Encoders, Schema, TextColumn
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.task import Batch, Built, Task

Rows = Integer[ndarray, " batch"]


class RowTask(Task[Built, Rows]):
    """A task whose examples are rows of unequal length, read in batches by length.

    A task says its `schema`, and by it data are prepared, saved and read again; `rows` is the column that has a length.
    """

    items: ClassVar[str]  # what rows are, and
    made_of: ClassVar[str]  # what they are made of, for a person
    rows: ClassVar[str]  # the column that the model reads

    def __init__(
        self, experiment: Experiment, encoders: Encoders, data: Dataset | None = None, source: DataSource | None = None
    ) -> None:
        super().__init__(experiment)
        self.encoders, self._data, self._data_source = encoders, data, source
        self.most = keys(experiment.data, RowData).max_length or 1 << 62  # tokens or words that are read together

    @classmethod
    @abstractmethod
    def schema(cls, experiment: Experiment) -> Schema:
        """How examples become rows of numbers."""

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> Self:
        experiment = experiment.model_copy(update={"data": source.data})
        data = prepare(source, cls.schema(experiment))
        return cls(experiment, data.encoders, data, source)

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> Self:
        return cls(experiment, cls.load_encoders(experiment, files))

    @classmethod
    def load_encoders(cls, experiment: Experiment, files: Mapping[str, str]) -> Encoders:
        """What was learned, from the files of the vocabulary folder."""
        learners = cls.schema(experiment).learners
        return {file: learner.load(files[file], file) for file, learner in learners.items()}

    def files(self) -> dict[str, str]:
        learners = self.schema(self.experiment).learners
        return {file: learner.save(self.encoders[file]) for file, learner in learners.items()}

    def read(self, files: Sequence[str], folder: Path) -> None:
        self._data_source = self.source_to_test(files)
        self._data = prepare_test(self._data_source, self.schema(self.experiment), self.encoders, folder)

    def source_to_test(self, files: Sequence[str]) -> DataSource:
        """Other files, read as the run's own were."""
        return DataSource.for_testing(self.experiment.data, self.experiment.data_spec, files)

    @property
    def data(self) -> Dataset:
        """What was read; a task that only predicts has none."""
        if self._data is None:
            raise UserError("this task was opened to predict, and has read no data", location=self.name)
        return self._data

    @property
    def data_source(self) -> DataSource:
        """Where the data come from; a task that only predicts has none."""
        if self._data_source is None:
            raise UserError("this task was opened to predict, and has read no data", location=self.name)
        return self._data_source

    def told_in(self) -> str:
        """The vocabularies, for a person."""
        return ", ".join(f"{len(encoder):,} {PurePath(file).stem}" for file, encoder in self.encoders.items())

    @abstractmethod
    def collate(self, part: Split, rows: Integer[ndarray, " batch"]) -> Batch:
        """Some rows of a part as tensors."""

    def parts(self) -> tuple[str, ...]:
        return tuple(self.data.splits)

    def describe(self) -> str:
        told = {TRAIN: "to learn from", VALID: "to choose by", TEST: "to test on"}
        counts = ", ".join(f"{len(part):,} {told[name]}" for name, part in self.data.splits.items())
        cut = f"; {self.cut():,} cut at {self.most:,} {self.made_of}" if self.cut() else ""
        lines = "line" if self.data.skipped == 1 else "lines"
        skipped = f"; {self.data.skipped:,} bad {lines} skipped" if self.data.skipped else ""
        return f"{counts} ({self.items}; {self.told_in()}{cut}{skipped})"

    def cut(self) -> int:
        """How many rows are not read to their end."""
        return self.data.cut

    def lengths(self, part: Split) -> Integer[ndarray, "rows *sides"]:
        """How much each row takes in a batch: of what is read, or of what is read and what is written."""
        lengths: Integer[ndarray, " rows"] = np.minimum(part[self.rows].lengths(), self.most)
        return lengths

    def epoch(self, number: int) -> Sequence[Integer[ndarray, " batch"]]:
        lengths = self.lengths(self.data.splits[TRAIN])
        return self.batches(lengths, seed=self.experiment.seed, epoch=number)

    def batches(
        self, lengths: Integer[ndarray, "rows *sides"], *, seed: int = 0, epoch: int = 0, share: int = 1
    ) -> list[Integer[ndarray, " batch"]]:
        """Batches of rows of nearly equal length, each at most 1/`share` of what `train` allows."""
        train = self.experiment.train
        limits = (max(1, limit // share) if limit else None for limit in (train.batch_tokens, train.batch_size))
        return batches_by_length(lengths, *limits, seed=seed, epoch=epoch)

    def batch(self, item: Integer[ndarray, " batch"]) -> Batch:
        return self.collate(self.data.splits[TRAIN], item)

    def all_of(self, part: Split) -> Iterator[Batch]:
        """A part in batches that fit where a training batch fits: the order does not matter to a score."""
        for rows in self.batches(self.lengths(part)):
            yield self.collate(part, rows)

    def show(self, batch: Batch) -> Iterator[str]:
        part = self.data.splits[TRAIN]
        for row in batch.rows:
            yield " -> ".join(part.text(name, row) for name in self.text_columns) or self.place(part, row)

    def examples(self, split: str, most: int) -> list[str]:
        part = self.data.splits[split]
        return [part.text(name, row) for name in self.text_columns[:1] for row in range(min(most, len(part)))]

    @property
    def text_columns(self) -> list[str]:
        """The columns that hold texts as they were written."""
        return [column.name for column in self.schema(self.experiment).columns if isinstance(column, TextColumn)]

    def place(self, part: Split, row: int) -> str:
        """Where a row stood."""
        named = self._data_source.names() if self._data_source is not None else []
        return f"{part.files[part.file[row]].name(named)}:{part.line[row]}"
