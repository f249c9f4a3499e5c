"""What every head is: vectors to raw scores, and from these a loss and a prediction."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from seqloom.kernels.lengths import real, zero_beyond
from seqloom.nn.checks import check_lengths, check_sequence
from seqloom.nn.heads.loss import Loss
from seqloom.nn.heads.tied import TiedLinear
from seqloom.nn.initialisation import initialise, log_prior
from seqloom.spec.errors import ArgumentError

PADDING = -1  # a predicted class where there is no step: no class at all, so that nobody takes it for one


class Head(nn.Module, ABC):
    """Vectors to an answer. A head owns its loss and its prediction, so that a task needs no branches.

    y       [batch, time, input_size]
    lengths [batch], how much of each row is real; what y and the target hold beyond changes no result and no gradient
    """

    input_size: int

    @abstractmethod
    def forward(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch *time scores"]:
        """Raw scores, in the precision of y."""

    @abstractmethod
    def loss(
        self,
        y: Float[Tensor, "batch time dim"],
        target: Shaped[Tensor, "batch *time_and_outputs"],
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> Loss:
        """How far the answer is from the target: a sum, in float32 at least, and what it sums over."""

    @abstractmethod
    def predict(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Shaped[Tensor, "batch *time_and_outputs"]:
        """The one best answer, in the form of a target."""


class StepHead(Head):
    """A head that answers at each step: scores_t = W y_t + b.

    It writes `check_target`, `measure` and `decide`, which may count on scores in float32 at least, finite beyond the
    lengths too, and on a checked target.
    """

    def __init__(self, output: nn.Linear | TiedLinear) -> None:
        super().__init__()
        self.output = output
        self.input_size = output.in_features
        initialise(self)

    @abstractmethod
    def check_target(
        self, where: str, target: Tensor, scores: Float[Tensor, "*steps scores"], lengths: Int[Tensor, " batch"] | None
    ) -> Shaped[Tensor, "*steps_and_outputs"]:
        """The target, if it is one for these scores, with zeros beyond the lengths."""

    @abstractmethod
    def measure(
        self, scores: Float[Tensor, "batch time scores"], target: Tensor, lengths: Int[Tensor, " batch"] | None
    ) -> Loss:
        """The loss itself."""

    @abstractmethod
    def decide(
        self, scores: Float[Tensor, "batch time scores"], lengths: Int[Tensor, " batch"] | None
    ) -> Shaped[Tensor, "batch time *outputs"]:
        """The prediction itself."""

    def forward(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch time scores"]:
        lengths = self.check(y, lengths)
        return zero_beyond(self.output(zero_beyond(y, lengths)), lengths)

    def loss(
        self,
        y: Float[Tensor, "batch time dim"],
        target: Shaped[Tensor, "batch time *outputs"],
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> Loss:
        lengths = self.check(y, lengths)
        scores = self.scores(y, lengths)
        return self.measure(scores, self.check_target(type(self).__name__, target, scores, lengths), lengths)

    def predict(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Shaped[Tensor, "batch time *outputs"]:
        lengths = self.check(y, lengths)
        return self.decide(self.scores(y, lengths), lengths)

    def check(self, y: Tensor, lengths: Tensor | None) -> Int[Tensor, " batch"] | None:
        """y and its lengths, checked; the lengths on the device of y."""
        where = type(self).__name__
        check_sequence(where, y, self.input_size, self.output.weight, argument="y")
        return None if lengths is None else check_lengths(where, lengths, y.shape[0], y.shape[1], y.device)

    def scores(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch time scores"]:
        """Raw scores to count with: in float32 at least, since a sum of many in bfloat16 is not one."""
        raw: Tensor = self.output(zero_beyond(y, lengths))
        return raw.to(torch.promote_types(raw.dtype, torch.float32))


class ClassHead(StepHead):
    """A head that chooses among classes, and knows how likely each is."""

    @property
    def classes(self) -> int:
        """How many there are."""
        return self.output.out_features

    @abstractmethod
    def weigh(
        self, scores: Float[Tensor, "batch time classes"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch time classes"]:
        """The probabilities themselves."""

    def probabilities(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch time classes"]:
        """p of each class at each step; zero beyond a row's length."""
        lengths = self.check(y, lengths)
        return zero_beyond(self.weigh(self.scores(y, lengths), lengths), lengths)

    def scores_at(self, prior: Shaped[Tensor, " classes"]) -> Float[Tensor, " classes"]:
        """The scores that make each class as likely as it is frequent; counts will do."""
        return log_prior(prior.double())

    @torch.no_grad()
    def start_at_prior(self, prior: Shaped[Tensor, " classes"]) -> None:
        """Start b where classes are as likely as they are frequent: the first loss is then near their entropy."""
        where = type(self).__name__
        if self.output.bias is None:
            raise ArgumentError(where, "bias", "False", "True: it is what starts at the prior", verb="is")
        if prior.shape != (self.classes,):
            raise ArgumentError(where, "prior", f"shape {list(prior.shape)}", f"[{self.classes}], a number a class")
        self.output.bias.copy_(self.scores_at(prior))


def pad_beyond(classes: Int[Tensor, "batch time"], lengths: Int[Tensor, " batch"] | None) -> Int[Tensor, "batch time"]:
    """PADDING where a step is not real."""
    return classes if lengths is None else classes.masked_fill(~real(lengths, classes.shape[1]), PADDING)


def real_steps(scores: Shaped[Tensor, "batch time *outputs"], lengths: Int[Tensor, " batch"] | None) -> Int[Tensor, ""]:
    """How many there are."""
    if lengths is not None:
        return lengths.sum()
    rows, time = scores.shape[:2]
    return torch.full((), rows * time, dtype=torch.int64, device=scores.device)
