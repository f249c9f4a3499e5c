"""The base of tasks whose examples are rows: texts, sentences or pairs, each with its answer and its location."""

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
from seqloom.data.split import TRAIN
from seqloom.data.tokenizers import Tokenizer
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.task import SPLIT_NAMES, Batch, ModelT, Task

Rows = Integer[ndarray, " batch"]
"""The indices of rows in a split."""


class RowTask(Task[ModelT, Rows]):
    """A task over rows of unequal length, batched by length. A subclass defines its `schema` and `collate`.

    row_noun: what a row is called, in the plural ("texts")
    length_unit: what the length of a row counts ("tokens")
    length_column: the column whose length is the length of a row
    max_length: how many tokens or words of a row are read at once
    """

    row_noun: ClassVar[str]
    length_unit: ClassVar[str]
    length_column: ClassVar[str]

    def __init__(
        self, experiment: Experiment, encoders: Encoders, data: Dataset | None = None, source: DataSource | None = None
    ) -> None:
        super().__init__(experiment)
        self.encoders, self._data, self._data_source = encoders, data, source
        self.max_length = keys(experiment.data, RowData).max_length or 1 << 62

    @classmethod
    @abstractmethod
    def schema(cls, experiment: Experiment) -> Schema:
        """How examples become rows of numbers."""

    @abstractmethod
    def collate(self, split: Split, rows: Rows) -> Batch:
        """Rows of a split as tensors."""

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> Self:
        experiment = experiment.model_copy(update={"data": source.data})
        data = prepare(source, cls.schema(experiment))
        task = cls(experiment, data.encoders, data, source)
        task.learn(data)
        return task

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> Self:
        learners = cls.schema(experiment).learners
        task = cls(experiment, {file: learner.load(files[file], file) for file, learner in learners.items()})
        task.load(files)
        return task

    def learn(self, data: Dataset) -> None:
        """Compute from the training data what the task saves besides its encoders."""

    def load(self, files: Mapping[str, str]) -> None:
        """Read what `learn` computed from the files of a finished run."""

    def files(self) -> dict[str, str]:
        return {file: encoder.to_json() for file, encoder in self.encoders.items()}

    def read_test_files(self, files: Sequence[str], folder: Path) -> None:
        self._data_source = self.test_source(files)
        self._data = prepare_test(self._data_source, self.schema(self.experiment), self.encoders, folder)

    def test_source(self, files: Sequence[str]) -> DataSource:
        return DataSource.for_testing(self.experiment.data, self.experiment.data_spec, files)

    @property
    def data(self) -> Dataset:
        if self._data is None:
            raise UserError("this task was opened for prediction and has not read any data", location=self.name)
        return self._data

    @property
    def data_source(self) -> DataSource:
        if self._data_source is None:
            raise UserError("this task was opened for prediction and has not read any data", location=self.name)
        return self._data_source

    def source_names(self) -> Sequence[str]:
        return self._data_source.names() if self._data_source is not None else []

    def splits(self) -> tuple[str, ...]:
        return tuple(self.data.splits)

    def describe(self) -> str:
        counts = ", ".join(f"{len(split):,} {SPLIT_NAMES[name]}" for name, split in self.data.splits.items())
        cut, skipped = self.truncated_rows(), self.data.skipped
        notes = f"; {cut:,} truncated at {self.max_length:,} {self.length_unit}" if cut else ""
        notes += f"; {skipped:,} bad {'line' if skipped == 1 else 'lines'} skipped" if skipped else ""
        return f"{counts} ({self.row_noun}; {self.describe_encoders()}{notes})"

    def describe_encoders(self) -> str:
        return ", ".join(
            f"{len(encoder):,} {f'{encoder.kind} tokens' if isinstance(encoder, Tokenizer) else PurePath(file).stem}"
            for file, encoder in self.encoders.items()
        )

    def truncated_rows(self) -> int:
        return self.data.cut

    def lengths(self, split: Split) -> Integer[ndarray, "rows *sides"]:
        """The length of each row in a batch: of the source, or of source and target."""
        lengths: Integer[ndarray, " rows"] = np.minimum(split[self.length_column].lengths(), self.max_length)
        return lengths

    def epoch(self, number: int) -> Sequence[Rows]:
        lengths = self.lengths(self.data.splits[TRAIN])
        return self.batch_rows(lengths, seed=self.experiment.seed, epoch=number)

    def batch_rows(
        self, lengths: Integer[ndarray, "rows *sides"], *, seed: int = 0, epoch: int = 0, share: int = 1
    ) -> list[Rows]:
        """Batches of rows of similar length, each at most 1/`share` of a training batch."""
        train = self.experiment.train
        limits = (max(1, limit // share) if limit else None for limit in (train.batch_tokens, train.batch_size))
        return batches_by_length(lengths, *limits, seed=seed, epoch=epoch)

    def batch(self, item: Rows) -> Batch:
        return self.collate(self.data.splits[TRAIN], item)

    def batches(self, split: Split) -> Iterator[Batch]:
        """All rows of a split, in batches of the size of a training batch."""
        for rows in self.batch_rows(self.lengths(split)):
            yield self.collate(split, rows)

    def format_batch(self, batch: Batch) -> Iterator[str]:
        split = self.data.splits[TRAIN]
        for row in batch.rows:
            yield " -> ".join(split.text(name, row) for name in self.text_columns) or self.location(split, row)

    def example_inputs(self, split: str, count: int) -> list[str]:
        rows = self.data.splits[split]
        return [rows.text(name, row) for name in self.text_columns[:1] for row in range(min(count, len(rows)))]

    @property
    def text_columns(self) -> list[str]:
        return [column.name for column in self.schema(self.experiment).columns if isinstance(column, TextColumn)]

    def location(self, split: Split, row: int) -> str:
        return f"{split.files[split.file[row]].name(self.source_names())}:{split.line[row]}"
