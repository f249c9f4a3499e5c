"""What a task is: what ties files to a model and a number."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import torch
from jaxtyping import Float, Int, Shaped
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

Built = TypeVar("Built", bound=GenerativeModel)
"""The model that a task's `build` makes."""
Item = TypeVar("Item")
"""What a task reads in an epoch, and makes a batch of."""
Answer = dict[str, Any]
"""What a run says of one input, as JSON holds it."""
Details = dict[str, object]
"""What a report shows beside the scores, as JSON holds it."""


@dataclass(frozen=True)
class Batch:
    """What a model reads, what it should answer, how much of each row is real; whether its state goes on.

    A model that writes an answer of its own length also reads that answer, one step behind: `given`.
    """

    source: Shaped[Tensor, "batch *rest"]
    target: Shaped[Tensor, "batch *answer"]
    lengths: Int[Tensor, " batch"] | None = None  # on the host: layers then know how long rows are without waiting
    continues: bool = False
    rows: tuple[int, ...] = ()  # of the part, for who wants to show them
    starts: tuple[int, ...] = ()  # where in its row each begins, if long rows are read in pieces
    given: Int[Tensor, "batch written"] | None = None  # what a decoder reads: target_t comes after given_1 .. given_t
    target_lengths: Int[Tensor, " batch"] | None = None  # of `given` and `target`, where there is `given`; on the host

    @property
    def tokens(self) -> int:
        """The real ones, of source and answer; the regions of an image are none.

        >>> Batch(torch.ones(2, 5), torch.ones(2, 5)).tokens
        10
        >>> given, lengths = torch.ones(2, 4, dtype=torch.long), torch.tensor([2, 4])
        >>> Batch(torch.ones(2, 5), given, torch.tensor([5, 1]), given=given, target_lengths=lengths).tokens
        12
        """
        if self.given is None:
            return counted(self.source, self.lengths)
        read = 0 if self.lengths is None else int(self.lengths.sum())
        return read + counted(self.given, self.target_lengths)

    def to(self, device: torch.device) -> "Batch":
        """On another device, without waiting for what that is doing."""
        if device.type == "cpu":
            return self
        source, target = (tensor.to(device, non_blocking=True) for tensor in (self.source, self.target))
        given = None if self.given is None else self.given.to(device, non_blocking=True)
        return replace(self, source=source, target=target, given=given)


def counted(tokens: Shaped[Tensor, "batch time *rest"], lengths: Int[Tensor, " batch"] | None) -> int:
    """How many are real."""
    return int(lengths.sum()) if lengths is not None else tokens.shape[0] * tokens.shape[1]


@dataclass(frozen=True)
class StepOutput:
    """What a model made of a batch: its loss, the state after it, and the outputs that its head reads."""

    loss: Loss
    state: State | None
    y: Float[Tensor, "batch time dim"]
    lengths: Int[Tensor, " batch"] | None = None  # of y, where they are not those of the source


@dataclass(frozen=True)
class Evaluation:
    """Scores by name, and what a report shows beside them."""

    scores: dict[str, float]
    details: Details = field(default_factory=dict)


class Task(ABC, Generic[Built, Item]):
    """From files to batches, from batches to a loss, from a model to answers.

    A task with data (`prepare`) trains; one with its vocabularies alone (`from_files`) predicts.
    """

    chosen_by: str  # the score by which the best model is known
    higher_is_better: bool

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    @property
    def name(self) -> str:
        """As the registry has it."""
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
    def parts(self) -> tuple[str, ...]:
        """Which of train, valid and test there are."""

    @abstractmethod
    def read(self, files: Sequence[str], folder: Path) -> None:
        """More data, as the part `test`, told in the vocabularies that there are; `folder` is for its arrays."""

    @abstractmethod
    def describe(self) -> str:
        """The data in one line, for a person."""

    @abstractmethod
    def epoch(self, number: int) -> Sequence[Item]:
        """What is read in one epoch of training: a pure function of the seed and the number."""

    @abstractmethod
    def batch(self, item: Item) -> Batch:
        """One item of an epoch as tensors."""

    @abstractmethod
    def show(self, batch: Batch) -> Iterator[str]:
        """A batch as a person would read it, a line a row."""

    # Model -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def build(self) -> Built:
        """A fresh model."""

    @abstractmethod
    def step(self, model: Built, batch: Batch, state: State | None, done: float) -> StepOutput:
        """The loss of a training batch; `done` is the share of training that is over, from 0 to 1."""

    @abstractmethod
    def evaluate(self, model: Built, part: str, device: torch.device) -> Evaluation:
        """Scores on a part."""

    def validate(self, model: Built, part: str, device: torch.device) -> Evaluation:
        """Scores on a part in the course of training, to choose by: a task may have a quicker way to them."""
        return self.evaluate(model, part, device)

    # Answers ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def predict(self, model: Built, texts: Sequence[str], device: torch.device) -> list[Answer]:
        """An answer for each text, or for each file that it names; one that is generated, as the run was trained to."""

    def answer(
        self,
        model: Built,
        texts: Sequence[str],
        options: DecodeSection,
        device: torch.device,
        *,
        attention: bool = False,
    ) -> list[Answer]:
        """The same of a task that generates its answers (`Use.DECODE`), as these options say.

        attention: whether an answer says where the model looked
        """
        raise UserError("this task generates no answers", "Use predict", location=self.name)

    def stream(
        self, model: Built, prompts: Sequence[str], options: DecodeSection, seed: int, device: torch.device
    ) -> Iterator[dict[int, str]]:
        """Of a task that continues text (`Use.GENERATE`): what follows each prompt, piece by piece, by number."""
        raise UserError("this task continues no text", "Use predict", location=self.name)

    def unknown(self, text: str) -> list[str]:
        """The characters or words of a text that the model has never seen, each once, where that can be said."""
        return []

    def examples(self, split: str, most: int) -> list[str]:
        """Some inputs of a split, as a person would give them."""
        return []

    def example_input(self, folder: Path) -> str:
        """An input to try the run in this folder with, short and easily quoted. If it must be a file, it is made."""
        texts = [" ".join(text.split()[:8]) for text in self.examples(VALID, 20) if text.strip()]
        return min(map(one_line, texts), key=lambda text: ("'" in text, abs(len(text) - 30)), default="a text")

    def samples(self, model: Built, device: torch.device) -> Iterator[dict[str, str]]:
        """Texts for the log, each with its prompt; a task that does not write has none."""
        yield from ()
