"""A loss is a sum and what it sums over."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.kernels.masks import mask_padding, readable, sequence_mask
from seqloom.nn.heads.tied import TiedLinear
from seqloom.nn.initialization import initialize, log_prior
from seqloom.nn.validation import check_device, check_lengths, check_sequence


class Loss(NamedTuple):
    """A sum over real items and their number, so that splitting a batch, by rows or over processes, changes nothing.

    >>> whole = Loss(torch.tensor(6.0), torch.tensor(3)) + Loss(torch.tensor(2.0), torch.tensor(1))
    >>> whole.mean
    tensor(2.)
    >>> Loss(torch.tensor(0.0), torch.tensor(0)).mean
    tensor(0.)
    """

    total: Float[Tensor, ""]
    count: Int[Tensor, ""]  # type: ignore[assignment]  # of tuples, how often a thing is in them

    @property
    def mean(self) -> Float[Tensor, ""]:
        """total / count; zero where there is nothing."""
        return self.total / self.count.clamp(min=1)

    def __add__(self, other: "Loss") -> "Loss":  # type: ignore[override]  # of tuples, + would chain them
        """The loss of both batches together."""
        return Loss(self.total + other.total, self.count + other.count)


Lengths = Int[Tensor, " batch"] | None


def class_target(
    where: str, target: Tensor, scores: Float[Tensor, "*steps classes"], lengths: Lengths
) -> Int[Tensor, "*steps"]:
    """Whole numbers [*steps], each a class that has a score."""
    check_form(where, target, scores.shape[:-1], "a class each", scores)
    if target.dtype not in (torch.int32, torch.int64):
        raise ArgumentError(where, "target", f"type {target.dtype}", "whole numbers, torch.int64 or torch.int32")
    target = silence(target, lengths)
    check_range(where, target, scores.shape[-1] - 1, "the classes; `lengths` says what is padding")
    return target.long()


def label_target(
    where: str, target: Tensor, scores: Float[Tensor, "*steps labels"], lengths: Lengths
) -> Float[Tensor, "*steps labels"]:
    """Whether each label holds [*steps, labels]: bool, or numbers from 0 to 1."""
    check_form(where, target, scores.shape, "yes or no for each label", scores)
    target = silence(target, lengths)
    check_range(where, target, 1, "no to yes")
    return target.to(scores.dtype)


def value_target(
    where: str, target: Tensor, outputs: int, scores: Float[Tensor, "*steps scores"], lengths: Lengths
) -> Float[Tensor, "*steps outputs"]:
    """Real values [*steps, outputs], all finite."""
    check_form(where, target, (*scores.shape[:-1], outputs), "a value for each output", scores)
    if not target.is_floating_point():
        raise ArgumentError(where, "target", f"type {target.dtype}", "real values, such as torch.float32")
    target = silence(target, lengths)
    if readable(target) and not bool(target.isfinite().all()):
        raise ArgumentError(where, "target", "a value that is not finite", "numbers; leave out or fill what is missing")
    return target.to(scores.dtype)


def silence(target: Shaped[Tensor, "*steps"], lengths: Lengths) -> Shaped[Tensor, "*steps"]:
    """Zeros where a step is not real; a pooled target has no steps, and no lengths."""
    return target if lengths is None else mask_padding(target, lengths)


def check_form(where: str, target: Tensor, shape: Sequence[int], meaning: str, scores: Tensor) -> None:
    """A tensor of this shape, where the scores are."""
    wanted = f"{list(shape)}, {meaning}"
    if not isinstance(target, Tensor):
        raise ArgumentError(where, "target", type(target).__name__, f"a tensor {wanted}", verb="is a")
    if target.shape != tuple(shape):
        raise ArgumentError(where, "target", f"shape {list(target.shape)}", wanted)
    check_device(where, "target", target, scores)


def check_range(where: str, target: Tensor, highest: int, meaning: str) -> None:
    """No value below 0 or above the highest, where looking is free."""
    if readable(target) and target.numel() and target.dtype != torch.bool:
        low, high = (end.item() for end in torch.aminmax(target))
        if not (low >= 0 and high <= highest):  # so put, NaN fails too
            wrong = high if low >= 0 else low
            raise ArgumentError(where, "target", f"the value {wrong}", f"0 to {highest} ({meaning})")


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
        initialize(self)

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
        return mask_padding(self.output(mask_padding(y, lengths)), lengths)

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
        raw: Tensor = self.output(mask_padding(y, lengths))
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
        return mask_padding(self.weigh(self.scores(y, lengths), lengths), lengths)

    def scores_at(self, prior: Shaped[Tensor, " classes"]) -> Float[Tensor, " classes"]:
        """The scores that make each class as likely as it is frequent; counts will do."""
        return log_prior(prior.double())

    @torch.no_grad()
    def init_bias_from_prior(self, prior: Shaped[Tensor, " classes"]) -> None:
        """Start b where classes are as likely as they are frequent: the first loss is then near their entropy."""
        where = type(self).__name__
        if self.output.bias is None:
            raise ArgumentError(where, "bias", "False", "True: it is what starts at the prior", verb="is")
        if prior.shape != (self.classes,):
            raise ArgumentError(where, "prior", f"shape {list(prior.shape)}", f"[{self.classes}], a number a class")
        self.output.bias.copy_(self.scores_at(prior))


def pad_beyond(classes: Int[Tensor, "batch time"], lengths: Int[Tensor, " batch"] | None) -> Int[Tensor, "batch time"]:
    """PADDING where a step is not real."""
    return classes if lengths is None else classes.masked_fill(~sequence_mask(lengths, classes.shape[1]), PADDING)


def real_steps(scores: Shaped[Tensor, "batch time *outputs"], lengths: Int[Tensor, " batch"] | None) -> Int[Tensor, ""]:
    """How many there are."""
    if lengths is not None:
        return lengths.sum()
    rows, time = scores.shape[:2]
    return torch.full((), rows * time, dtype=torch.int64, device=scores.device)
