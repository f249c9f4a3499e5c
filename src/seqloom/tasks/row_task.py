"""What tasks over rows share: rows are texts or sentences, each with its answer and the place that it came from."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.arrays import Ragged
from seqloom.data.batches import by_length
from seqloom.data.origin import Origin
from seqloom.data.rows import Placed
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.spec.errors import UserError
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.task import Batch, Task


class Part(Protocol):
    """Rows, and where each stood."""

    @property
    def rows(self) -> Ragged:
        """What is read of each."""

    @property
    def file(self) -> Integer[ndarray, " rows"]:
        """By its number among the files of the part."""

    @property
    def line(self) -> Integer[ndarray, " rows"]:
        """In that file."""

    def __len__(self) -> int: ...


SomePart = TypeVar("SomePart", bound=Part)
PartRead = TypeVar("PartRead", bound=Part, covariant=True)


class Parts(Protocol[PartRead]):
    """All parts, and what had to be left out of them."""

    @property
    def parts(self) -> Mapping[str, PartRead]:
        """train, valid, test: those that there are."""

    @property
    def cut(self) -> int:
        """Rows longer than the most that is read."""

    @property
    def skipped(self) -> int:
        """Lines that could not be read."""


SomeData = TypeVar("SomeData", bound=Parts[Any])


class RowTask(Task, Generic[SomeData, SomePart]):
    """A task whose examples are rows of unequal length, read in batches by length."""

    items: ClassVar[str]  # what rows are, and
    made_of: ClassVar[str]  # what they are made of, for a person

    def __init__(self, experiment: Experiment, data: SomeData | None, origin: Origin | None) -> None:
        super().__init__(experiment)
        self._data, self._origin = data, origin
        self.most = experiment.data.max_length or 1 << 62  # tokens or words of a row that are read together

    @property
    def data(self) -> SomeData:
        """What was read; a task that only predicts has none."""
        if self._data is None:
            raise UserError(f"{self.name}: this task was opened to predict, and has read no data.")
        return self._data

    @abstractmethod
    def told_in(self) -> str:
        """The vocabularies, for a person."""

    @abstractmethod
    def collate(self, part: SomePart, rows: Integer[ndarray, " batch"]) -> Batch:
        """Some rows of a part as tensors."""

    def parts(self) -> tuple[str, ...]:
        return tuple(self.data.parts)

    def describe(self) -> str:
        told = {TRAIN: "to learn from", VALID: "to choose by", TEST: "to test on"}
        counts = ", ".join(f"{len(part):,} {told[name]}" for name, part in self.data.parts.items())
        cut = f"; {self.cut():,} cut at {self.most:,} {self.made_of}" if self.cut() else ""
        lines = "line" if self.data.skipped == 1 else "lines"
        skipped = f"; {self.data.skipped:,} bad {lines} skipped" if self.data.skipped else ""
        return f"{counts} ({self.items}; {self.told_in()}{cut}{skipped})"

    def cut(self) -> int:
        """How many rows are not read to their end."""
        return self.data.cut

    def lengths(self, part: SomePart) -> Integer[ndarray, "rows *sides"]:
        """How much each row takes in a batch: of what is read, or of what is read and what is written."""
        lengths: Integer[ndarray, " rows"] = np.minimum(part.rows.lengths(), self.most)
        return lengths

    def epoch(self, number: int) -> Sequence[Integer[ndarray, " batch"]]:
        lengths = self.lengths(self.data.parts[TRAIN])
        return by_length(lengths, self.experiment.train.batch, seed=self.experiment.seed, epoch=number)

    def batch(self, item: Integer[ndarray, " batch"]) -> Batch:
        return self.collate(self.data.parts[TRAIN], item)

    def all_of(self, part: SomePart) -> Iterator[Batch]:
        """A part in batches that fit where a training batch fits: the order does not matter to a score."""
        for rows in by_length(self.lengths(part), self.experiment.train.batch, seed=0, epoch=0):
            yield self.collate(part, rows)

    def place(self, part: Placed, row: int) -> str:
        """Where a row stood."""
        named = self._origin.names() if self._origin is not None else []
        return f"{part.files[part.file[row]].name(named)}:{part.line[row]}"
