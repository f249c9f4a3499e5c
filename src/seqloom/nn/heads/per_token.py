"""Classes for each token: a language model's next word, a tagger's tag, the notes of a chord."""

from typing import Protocol

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.core import names
from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.kernels.masks import mask_padding
from seqloom.nn.dense import Linear
from seqloom.nn.heads.head import (
    PADDING,
    ClassHead,
    Lengths,
    Loss,
    Scores,
    check_target_range,
    check_target_shape,
    count_steps,
    mask_target,
    pad_predictions,
)
from seqloom.nn.heads.tied import TiedLinear
from seqloom.nn.validation import check_count, check_probability


class PerToken(ClassHead):
    """One class for each token: p(k | y_t) = softmax(W y_t + b)_k.

        loss = Σ_t −log p(target_t | y_t)                                      over valid steps; count: valid steps
             = Σ_t −(1 − ε) log p(target_t | y_t) − ε/K Σ_k log p(k | y_t)     with label smoothing ε, in training mode

    tied: the embedding whose matrix is W (see `TiedLinear`)
    smoothing: ε (Szegedy et al. 2016; 0.1 in Vaswani et al. 2017). The loss in eval mode is not smoothed, so that its
        exponential is the perplexity.

    `predict` returns the most likely class, and PADDING (−1) beyond a row's length.

    >>> head = PerToken(4, classes=7)
    >>> y, target, lengths = torch.randn(2, 3, 4), torch.tensor([[1, 2, 6], [5, 0, 0]]), torch.tensor([3, 1])
    >>> head.loss(y, target, lengths).count
    tensor(4)
    >>> head.predict(y, lengths)[1, 1:]
    tensor([-1, -1])
    """

    def __init__(
        self, size: int, classes: int, *, tied: nn.Embedding | None = None, bias: bool = True, smoothing: float = 0.0
    ) -> None:
        check_count("PerToken", "classes", classes)
        check_probability("PerToken", "smoothing", smoothing)
        if tied is not None and tied.weight.shape != (classes, size):
            shape = f"a matrix {list(tied.weight.shape)}"
            raise ArgumentError("PerToken", "tied", shape, f"[{classes}, {size}], classes and size")
        super().__init__(Linear(size, classes, bias) if tied is None else TiedLinear(tied, bias=bias))
        self.smoothing = smoothing

    def loss_from_scores(self, scores: Scores, target: Int[Tensor, "batch time"], lengths: Lengths) -> Loss:
        total = F.cross_entropy(
            scores.flatten(0, 1),
            pad_predictions(target, lengths).flatten(),
            ignore_index=PADDING,
            reduction="sum",
            label_smoothing=self.smoothing if self.training else 0.0,
        )
        return Loss(total, count_steps(scores, lengths))

    def predict_from_scores(self, scores: Scores, lengths: Lengths) -> Int[Tensor, "batch time"]:
        return pad_predictions(scores.argmax(dim=2), lengths)

    def probabilities_from_scores(self, scores: Scores, lengths: Lengths) -> Float[Tensor, "batch time classes"]:
        return scores.softmax(dim=2)

    def extra_repr(self) -> str:
        return f"smoothing={self.smoothing}" if self.smoothing else ""


class LabelsPerToken(ClassHead):
    """Any number of labels for each token: p(k | y_t) = σ(W y_t + b)_k.

        loss = Σ_t Σ_k −target_tk log p(k | y_t) − (1 − target_tk) log(1 − p(k | y_t))        over valid steps

    The count is of steps, not of labels: the mean loss is −log p of all labels of a step, as in `PerToken`.

    threshold: a label is predicted if p is at least this; no label is predicted beyond a row's length

    >>> head = LabelsPerToken(4, labels=3)
    >>> head.predict(torch.randn(2, 5, 4)).shape
    torch.Size([2, 5, 3])
    """

    def __init__(self, size: int, labels: int, *, threshold: float = 0.5) -> None:
        check_count("LabelsPerToken", "labels", labels)
        check_probability("LabelsPerToken", "threshold", threshold)
        super().__init__(Linear(size, labels))
        self.threshold = threshold

    def check_target(
        self, location: str, target: Tensor, scores: Float[Tensor, "*steps labels"], lengths: Lengths
    ) -> Float[Tensor, "*steps labels"]:
        check_target_shape(location, target, scores.shape, "yes or no for each label", scores)
        target = mask_target(target, lengths)
        check_target_range(location, target, 1, "no to yes")
        return target.to(scores.dtype)

    def loss_from_scores(self, scores: Scores, target: Float[Tensor, "batch time labels"], lengths: Lengths) -> Loss:
        losses = F.binary_cross_entropy_with_logits(scores, target, reduction="none")
        return Loss(mask_padding(losses, lengths).sum(), count_steps(scores, lengths))

    def predict_from_scores(self, scores: Scores, lengths: Lengths) -> Bool[Tensor, "batch time labels"]:
        return mask_padding(scores.sigmoid() >= self.threshold, lengths)

    def probabilities_from_scores(self, scores: Scores, lengths: Lengths) -> Float[Tensor, "batch time labels"]:
        return scores.sigmoid()

    def prior_scores(self, prior: Shaped[Tensor, " labels"]) -> Float[Tensor, " labels"]:
        """log p/(1 − p), p the share of items with each label, clamped to 0.001 and 0.999."""
        share = prior.double()
        if not bool(((share >= 0) & (share <= 1)).all()):
            values = f"values from {float(share.min()):g} to {float(share.max()):g}"
            raise ArgumentError(type(self).__name__, "prior", values, "the share of items with each label, 0 to 1")
        return share.clamp(1e-3, 1 - 1e-3).logit()

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}"


class BuildHead(Protocol):
    """Builds a head for vectors of a size and a number of classes."""

    def __call__(self, size: int, classes: int, *, smoothing: float = 0.0) -> ClassHead: ...


HEADS: Registry[BuildHead] = Registry(names.HEADS, {"softmax": PerToken})
