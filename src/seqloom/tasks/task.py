"""The interface of a task: it turns files into batches, batches into a loss, and a model into scores and answers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.core.config.decode import DecodeSection
from seqloom.core.problem import UserError
from seqloom.data.source import DataSource
from seqloom.data.split import VALID
from seqloom.nn.heads.head import Loss
from seqloom.nn.model import GenerativeModel
from seqloom.nn.state import State
from seqloom.tasks.experiment import Experiment
from seqloom.views.format import one_line

ModelT = TypeVar("ModelT", bound=GenerativeModel)
ItemT = TypeVar("ItemT")
"""An item of an epoch, from which a task makes a batch."""
Answer = dict[str, Any]
"""What a run predicts for one input, as JSON."""
Details = dict[str, object]
"""What a report shows besides the scores, as JSON."""

SPLIT_NAMES = {"train": "training", "valid": "validation", "test": "test"}


@dataclass(frozen=True)
class Batch:
    """What a model reads (`source`), what it should predict (`target`), and the length of each row.

    continues: whether the rows continue those of the previous batch, so that state is carried
    rows: the indices of the rows in their split
    starts: where in its row each chunk begins, if long rows are read in chunks
    decoder_input: what a decoder reads; target_t follows decoder_input_1 .. decoder_input_t
    target_lengths: of `decoder_input` and `target`, if there is a decoder

    Lengths stay on the CPU: layers then know the length of each row without synchronizing.
    """

    source: Shaped[Tensor, "batch *rest"]
    target: Shaped[Tensor, "batch *answer"]
    lengths: Int[Tensor, " batch"] | None = None
    continues: bool = False
    rows: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    decoder_input: Int[Tensor, "batch target"] | None = None
    target_lengths: Int[Tensor, " batch"] | None = None

    @property
    def tokens(self) -> int:
        """The number of source and target tokens without padding; the regions of an image are not counted.

        >>> Batch(torch.ones(2, 5), torch.ones(2, 5)).tokens
        10
        >>> target, lengths = torch.ones(2, 4, dtype=torch.long), torch.tensor([2, 4])
        >>> source_lengths = torch.tensor([5, 1])
        >>> Batch(torch.ones(2, 5), target, source_lengths, decoder_input=target, target_lengths=lengths).tokens
        12
        """
        if self.decoder_input is None:
            return count_tokens(self.source, self.lengths)
        source = 0 if self.lengths is None else int(self.lengths.sum())
        return source + count_tokens(self.decoder_input, self.target_lengths)

    def to(self, device: torch.device) -> "Batch":
        """Copy to another device without synchronizing."""
        if device.type == "cpu":
            return self
        source, target = (tensor.to(device, non_blocking=True) for tensor in (self.source, self.target))
        decoder_input = None if self.decoder_input is None else self.decoder_input.to(device, non_blocking=True)
        return replace(self, source=source, target=target, decoder_input=decoder_input)


def count_tokens(tokens: Shaped[Tensor, "batch time *rest"], lengths: Int[Tensor, " batch"] | None) -> int:
    return int(lengths.sum()) if lengths is not None else tokens.shape[0] * tokens.shape[1]


def pad_rows(rows: Sequence[Shaped[ndarray, " _"]]) -> tuple[Int[Tensor, "batch time"], Int[Tensor, " batch"]]:
    """Rows of unequal length as one tensor, padded with zeros, at least one step long; and their lengths.

    >>> tokens, lengths = pad_rows([np.array([3, 1, 2]), np.array([5])])
    >>> tokens.tolist(), lengths.tolist()
    ([[3, 1, 2], [5, 0, 0]], [3, 1])
    """
    lengths = torch.tensor([len(row) for row in rows])
    table = np.zeros((len(rows), max(1, int(lengths.max()))), dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table), lengths


@dataclass(frozen=True)
class StepOutput:
    """What a model returns for a training batch: its loss, its new state, and the outputs that its head reads."""

    loss: Loss
    state: State | None
    y: Float[Tensor, "batch time dim"]
    lengths: Int[Tensor, " batch"] | None = None  # of y, if they are not those of the source


@dataclass(frozen=True)
class Evaluation:
    """Scores by name, and the details that a report shows."""

    scores: dict[str, float]
    details: Details = field(default_factory=dict)


class Task(ABC, Generic[ModelT, ItemT]):
    """A task with data (`prepare`) trains; one with its vocabularies only (`from_files`) predicts.

    chosen_by: the score by which the best model is chosen
    loss_margin: if it is set, only validations whose loss is at most this above the lowest one can be the best
    """

    chosen_by: str
    higher_is_better: bool
    loss_margin: float | None = None

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    @property
    def name(self) -> str:
        return self.experiment.task

    # Data ------------------------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> Self:
        """Read the data, as the config says."""

    @classmethod
    @abstractmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> Self:
        """The task of a finished run, from the files of its vocabulary folder."""

    @abstractmethod
    def files(self) -> dict[str, str]:
        """The vocabulary folder: name of file to content."""

    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Which of train, valid and test the data have."""

    @abstractmethod
    def read_test_files(self, files: Sequence[str], folder: Path) -> None:
        """Read other files as the split `test`, with this run's vocabularies; `folder` is for their arrays."""

    @abstractmethod
    def describe(self) -> str:
        """The data in one line."""

    @abstractmethod
    def epoch(self, number: int) -> Sequence[ItemT]:
        """The items of an epoch of training: a pure function of the seed and the number."""

    @abstractmethod
    def batch(self, item: ItemT) -> Batch:
        """An item of an epoch as tensors."""

    @abstractmethod
    def format_batch(self, batch: Batch) -> Iterator[str]:
        """A batch as text, one line per row."""

    # Model -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def build(self) -> ModelT:
        """A freshly initialized model."""

    @abstractmethod
    def step(self, model: ModelT, batch: Batch, state: State | None, progress: float) -> StepOutput:
        """The loss of a training batch; `progress` goes from 0 to 1 in the course of training."""

    @abstractmethod
    def evaluate(self, model: ModelT, split: str, device: torch.device) -> Evaluation:
        """Scores on a split."""

    def validate(self, model: ModelT, split: str, device: torch.device) -> Evaluation:
        """Scores during training, by which the best model is chosen. A task may compute them faster than `evaluate`."""
        return self.evaluate(model, split, device)

    # Answers ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def predict(self, model: ModelT, texts: Sequence[str], device: torch.device) -> list[Answer]:
        """An answer for each text (or file name), generated with the run's own decoding options if it is generated."""

    def generate(
        self,
        model: ModelT,
        texts: Sequence[str],
        options: DecodeSection,
        device: torch.device,
        *,
        attention: bool = False,
    ) -> list[Answer]:
        """Like `predict`, with other decoding options; only for a task that generates its answers (`Use.DECODE`).

        attention: whether an answer includes the attention weights
        """
        raise UserError("this task generates no answers", "Use predict", location=self.name)

    def stream(
        self, model: ModelT, prompts: Sequence[str], options: DecodeSection, seed: int, device: torch.device
    ) -> Iterator[dict[int, str]]:
        """The continuation of each prompt, piece by piece, by the prompt's index; only for `Use.GENERATE`."""
        raise UserError("this task continues no text", "Use predict", location=self.name)

    def unknown_tokens(self, text: str) -> list[str]:
        """The characters or words of a text that are not in the training data, each once, if the task knows them."""
        return []

    def example_inputs(self, split: str, count: int) -> list[str]:
        """The first inputs of a split, as a user would type them."""
        return []

    def example_input(self, folder: Path) -> str:
        """A short input, easily quoted, to try the run in this folder with. If it must be a file, it is created."""
        texts = [" ".join(text.split()[:8]) for text in self.example_inputs(VALID, 20) if text.strip()]
        return min(map(one_line, texts), key=lambda text: ("'" in text, abs(len(text) - 30)), default="a text")

    def samples(self, model: ModelT, device: torch.device) -> Iterator[dict[str, str]]:
        """Generated texts for the log, each with its prompt; none by default."""
        yield from ()
