"""One prediction for a whole sequence: pool it, then apply a head to the one vector."""

from jaxtyping import Float, Shaped
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.nn.heads.head import ClassHead, Head, Lengths, Loss, StepHead, Vectors
from seqloom.nn.heads.per_token import LabelsPerToken, PerToken
from seqloom.nn.pooling import POOLS, Pool
from seqloom.nn.record import scope


class Pooled(Head):
    """head(pool(y)): scores, target and prediction have no time axis.

    A row of length 0 pools to zeros and has a prediction too: an empty text has a class.

    pool: the name of a pool in `POOLS`, or a pool

    >>> from seqloom.nn.heads import SquaredError
    >>> head = Pooled("mean", SquaredError(4, outputs=2))
    >>> head.predict(torch.randn(3, 5, 4), lengths=torch.tensor([5, 2, 0])).shape
    torch.Size([3, 2])
    """

    def __init__(self, pool: str | Pool, head: StepHead) -> None:
        super().__init__()
        self.pool = POOLS[pool](head.input_size) if isinstance(pool, str) else pool
        self.head = head
        self.input_size = self.pool.input_size
        if self.pool.output_size != head.input_size:
            expected = f"{self.pool.output_size}, the width of the pool's output"
            raise ArgumentError(type(self).__name__, "head", f"input_size {head.input_size}", expected)

    def pooled_step(self, y: Vectors, lengths: Lengths = None) -> Float[Tensor, "batch 1 dim"]:
        """The pooled vector, as the only step of a sequence."""
        with scope("pool"):
            return self.pool(y, lengths).unsqueeze(1)  # type: ignore[no-any-return]

    def forward(self, y: Vectors, lengths: Lengths = None) -> Float[Tensor, "batch scores"]:
        return self.head(self.pooled_step(y, lengths)).squeeze(1)  # type: ignore[no-any-return]

    def loss(self, y: Vectors, target: Shaped[Tensor, "batch *outputs"], lengths: Lengths = None) -> Loss:
        scores = self.head.scores(self.pooled_step(y, lengths), None)
        target = self.head.check_target(type(self).__name__, target, scores.squeeze(1), None)
        return self.head.loss_from_scores(scores, target.unsqueeze(1), None)

    def predict(self, y: Vectors, lengths: Lengths = None) -> Shaped[Tensor, "batch *outputs"]:
        return self.head.predict(self.pooled_step(y, lengths)).squeeze(1)


class PooledClassHead(Pooled):
    """A pooled head that chooses among classes."""

    head: ClassHead

    def probabilities(self, y: Vectors, lengths: Lengths = None) -> Float[Tensor, "batch classes"]:
        return self.head.probabilities(self.pooled_step(y, lengths)).squeeze(1)

    def init_bias_from_prior(self, prior: Shaped[Tensor, " classes"]) -> None:
        self.head.init_bias_from_prior(prior)


class PerSequence(PooledClassHead):
    """One class for each row: p(k | y) = softmax(W pool(y) + b)_k, loss Σ −log p(target | y), count: rows.

    smoothing: label smoothing in training mode, as in `PerToken`

    >>> head = PerSequence(4, classes=3, pool="max")
    >>> y, lengths = torch.randn(2, 5, 4), torch.tensor([5, 2])
    >>> head.loss(y, torch.tensor([2, 0]), lengths).count
    tensor(2)
    >>> head.predict(y, lengths).shape, head.probabilities(y, lengths).shape
    (torch.Size([2]), torch.Size([2, 3]))
    """

    def __init__(self, size: int, classes: int, *, pool: str | Pool = "mean", smoothing: float = 0.0) -> None:
        super().__init__(pool, PerToken(size, classes, smoothing=smoothing))


class LabelsPerSequence(PooledClassHead):
    """Any number of labels for each row: p(k | y) = σ(W pool(y) + b)_k, loss as in `LabelsPerToken`, count: rows.

    >>> head = LabelsPerSequence(4, labels=3)
    >>> head.predict(torch.randn(2, 5, 4)).dtype
    torch.bool
    """

    def __init__(self, size: int, labels: int, *, pool: str | Pool = "mean", threshold: float = 0.5) -> None:
        super().__init__(pool, LabelsPerToken(size, labels, threshold=threshold))
