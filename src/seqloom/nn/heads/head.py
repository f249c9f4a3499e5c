"""Heads: from a body's output vectors to scores, loss and predictions."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.kernels.masks import mask_padding, readable_without_sync, sequence_mask
from seqloom.nn.heads.tied import TiedLinear
from seqloom.nn.initialization import initialize, log_prior
from seqloom.nn.validation import check_lengths, check_same_device, check_sequence

PADDING = -1  # the predicted class at padding

Vectors = Float[Tensor, "batch time dim"]
Scores = Float[Tensor, "batch time scores"]
Lengths = Int[Tensor, " batch"] | None


class Loss(NamedTuple):
    """The sum of the losses of items and their number, so that the losses of parts of a batch can be added.

    >>> total = Loss(torch.tensor(6.0), torch.tensor(3)) + Loss(torch.tensor(2.0), torch.tensor(1))
    >>> total.mean
    tensor(2.)
    >>> Loss(torch.tensor(0.0), torch.tensor(0)).mean
    tensor(0.)
    """

    total: Float[Tensor, ""]
    count: Int[Tensor, ""]  # type: ignore[assignment]  # tuple.count is a method

    @property
    def mean(self) -> Float[Tensor, ""]:
        """total / count; 0 if count is 0."""
        return self.total / self.count.clamp(min=1)

    def __add__(self, other: "Loss") -> "Loss":  # type: ignore[override]  # tuples concatenate
        """The loss of both batches together."""
        return Loss(self.total + other.total, self.count + other.count)


class Head(nn.Module, ABC):
    """From output vectors to a prediction and a loss.

    y       [batch, time, input_size]
    lengths [batch], the number of valid steps of each row; padding in y and the target changes no result or gradient
    """

    input_size: int

    @abstractmethod
    def forward(self, y: Vectors, lengths: Lengths = None) -> Float[Tensor, "batch *time scores"]:
        """Raw scores, in the precision of y."""

    @abstractmethod
    def loss(self, y: Vectors, target: Shaped[Tensor, "batch *time_and_outputs"], lengths: Lengths = None) -> Loss:
        """The summed loss, in float32 at least, and the number of items in it."""

    @abstractmethod
    def predict(self, y: Vectors, lengths: Lengths = None) -> Shaped[Tensor, "batch *time_and_outputs"]:
        """The best prediction, in the form of a target."""


class StepHead(Head):
    """A head with an output at each step: scores_t = W y_t + b.

    Subclasses define `check_target`, `loss_from_scores` and `predict_from_scores`. They receive a checked target, and
    scores in float32 at least, which are finite also at padding.
    """

    def __init__(self, output: nn.Linear | TiedLinear) -> None:
        super().__init__()
        self.output = output
        self.input_size = output.in_features
        initialize(self)

    @abstractmethod
    def check_target(
        self, location: str, target: Tensor, scores: Float[Tensor, "*steps scores"], lengths: Lengths
    ) -> Shaped[Tensor, "*steps_and_outputs"]:
        """Check the target against the scores; return it with zeros at padding."""

    @abstractmethod
    def loss_from_scores(self, scores: Scores, target: Tensor, lengths: Lengths) -> Loss: ...

    @abstractmethod
    def predict_from_scores(self, scores: Scores, lengths: Lengths) -> Shaped[Tensor, "batch time *outputs"]: ...

    def forward(self, y: Vectors, lengths: Lengths = None) -> Scores:
        lengths = self.check(y, lengths)
        return mask_padding(self.output(mask_padding(y, lengths)), lengths)

    def loss(self, y: Vectors, target: Shaped[Tensor, "batch time *outputs"], lengths: Lengths = None) -> Loss:
        lengths = self.check(y, lengths)
        scores = self.scores(y, lengths)
        return self.loss_from_scores(scores, self.check_target(type(self).__name__, target, scores, lengths), lengths)

    def predict(self, y: Vectors, lengths: Lengths = None) -> Shaped[Tensor, "batch time *outputs"]:
        lengths = self.check(y, lengths)
        return self.predict_from_scores(self.scores(y, lengths), lengths)

    def check(self, y: Tensor, lengths: Tensor | None) -> Lengths:
        """Check y and the lengths; return the lengths on the device of y."""
        location = type(self).__name__
        check_sequence(location, y, self.input_size, self.output.weight, argument="y")
        return None if lengths is None else check_lengths(location, lengths, y.shape[0], y.shape[1], y.device)

    def scores(self, y: Vectors, lengths: Lengths) -> Scores:
        """Raw scores in float32 at least, since a long sum in bfloat16 is inexact."""
        raw: Tensor = self.output(mask_padding(y, lengths))
        return raw.to(torch.promote_types(raw.dtype, torch.float32))


class ClassHead(StepHead):
    """A head with a probability for each class. A target is a class for each step; subclasses may override this."""

    @property
    def classes(self) -> int:
        return self.output.out_features

    def check_target(
        self, location: str, target: Tensor, scores: Float[Tensor, "*steps classes"], lengths: Lengths
    ) -> Shaped[Tensor, "*steps_and_outputs"]:
        return check_class_target(location, target, scores, lengths)

    @abstractmethod
    def probabilities_from_scores(self, scores: Scores, lengths: Lengths) -> Float[Tensor, "batch time classes"]: ...

    def probabilities(self, y: Vectors, lengths: Lengths = None) -> Float[Tensor, "batch time classes"]:
        """p of each class at each step; 0 at padding."""
        lengths = self.check(y, lengths)
        return mask_padding(self.probabilities_from_scores(self.scores(y, lengths), lengths), lengths)

    def prior_scores(self, prior: Shaped[Tensor, " classes"]) -> Float[Tensor, " classes"]:
        """The scores for which the probability of each class is its frequency; `prior` may be counts."""
        return log_prior(prior.double())

    @torch.no_grad()
    def init_bias_from_prior(self, prior: Shaped[Tensor, " classes"]) -> None:
        """Set b so that the probability of each class is its frequency: the initial loss is near the entropy."""
        location = type(self).__name__
        if self.output.bias is None:
            raise ArgumentError(location, "bias", "False", "True: it is initialized from the prior", verb="is")
        if prior.shape != (self.classes,):
            raise ArgumentError(location, "prior", f"shape {list(prior.shape)}", f"[{self.classes}], one per class")
        self.output.bias.copy_(self.prior_scores(prior))


def check_class_target(
    location: str, target: Tensor, scores: Float[Tensor, "*steps classes"], lengths: Lengths
) -> Int[Tensor, "*steps"]:
    """Check integers [*steps], each a class that has a score; return them as int64."""
    check_target_shape(location, target, scores.shape[:-1], "a class each", scores)
    if target.dtype not in (torch.int32, torch.int64):
        raise ArgumentError(location, "target", f"type {target.dtype}", "whole numbers, torch.int64 or torch.int32")
    target = mask_target(target, lengths)
    check_target_range(location, target, scores.shape[-1] - 1, "the classes; `lengths` says what is padding")
    return target.long()


def pad_predictions(classes: Int[Tensor, "batch time"], lengths: Lengths) -> Int[Tensor, "batch time"]:
    """The classes, and PADDING beyond each row's length."""
    return classes if lengths is None else classes.masked_fill(~sequence_mask(lengths, classes.shape[1]), PADDING)


def count_steps(scores: Shaped[Tensor, "batch time *outputs"], lengths: Lengths) -> Int[Tensor, ""]:
    """The number of steps that are not padding."""
    if lengths is not None:
        return lengths.sum()
    rows, time = scores.shape[:2]
    return torch.full((), rows * time, dtype=torch.int64, device=scores.device)


def mask_target(target: Shaped[Tensor, "*steps"], lengths: Lengths) -> Shaped[Tensor, "*steps"]:
    return target if lengths is None else mask_padding(target, lengths)  # a pooled target has no time axis


def check_target_shape(location: str, target: Tensor, shape: Sequence[int], meaning: str, scores: Tensor) -> None:
    expected = f"{list(shape)}, {meaning}"
    if not isinstance(target, Tensor):
        raise ArgumentError(location, "target", type(target).__name__, f"a tensor {expected}", verb="is a")
    if target.shape != tuple(shape):
        raise ArgumentError(location, "target", f"shape {list(target.shape)}", expected)
    check_same_device(location, "target", target, scores)


def check_target_range(location: str, target: Tensor, highest: int, meaning: str) -> None:
    """Refuse values below 0 or above the highest. Checked on the CPU only: reading from a device would wait."""
    if readable_without_sync(target) and target.numel() and target.dtype != torch.bool:
        low, high = (value.item() for value in torch.aminmax(target))
        if not (low >= 0 and high <= highest):  # true also for NaN
            value = high if low >= 0 else low
            raise ArgumentError(location, "target", f"the value {value}", f"0 to {highest} ({meaning})")
