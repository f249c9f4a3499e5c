"""From a sequence to one vector: [batch, time, dim] to [batch, dim], over the real steps alone."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.registry import Registry
from seqloom.kernels.attention import masked_softmax
from seqloom.kernels.masks import last_step, mask_padding, sequence_mask
from seqloom.nn.initialization import initialize
from seqloom.nn.record import offer, recording
from seqloom.nn.validation import check_lengths, check_sequence


class Pool(nn.Module, ABC):
    """One vector for each row; a row without a real step gets zeros.

    A pool writes `reduce`, which may count on checked arguments and zeros beyond the lengths.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size = self.output_size = size

    @abstractmethod
    def reduce(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch dim"]:
        """The pool itself; time is at least 1."""

    def forward(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch dim"]:
        where = type(self).__name__
        check_sequence(where, y, self.input_size, next(self.parameters(), None), argument="y")
        rows, time = y.shape[:2]
        if lengths is not None:
            lengths = check_lengths(where, lengths, rows, time, y.device)
        if time == 0:
            return y.new_zeros(rows, self.output_size)
        return self.reduce(mask_padding(y, lengths), lengths)

    def extra_repr(self) -> str:
        return f"{self.input_size}"


class LastPool(Pool):
    """y_n, the output at a row's last real step.

    Of a bidirectional layer it has the backward half after one step alone: there, mean, max or attention say more.

    >>> y = torch.tensor([[[1.0], [4.0], [9.0]], [[2.0], [8.0], [7.0]]])
    >>> LastPool(1)(y, lengths=torch.tensor([2, 3])).tolist()
    [[4.0], [7.0]]
    """

    def reduce(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch dim"]:
        return last_step(y, lengths, default=y.new_zeros(y.shape[0], y.shape[2]))


class MeanPool(Pool):
    """1/n Σ_t y_t

    >>> y = torch.tensor([[[1.0], [4.0], [9.0]], [[2.0], [8.0], [2.0]]])
    >>> MeanPool(1)(y, lengths=torch.tensor([2, 3])).tolist()
    [[2.5], [4.0]]
    """

    def reduce(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch dim"]:
        if lengths is None:
            return y.mean(dim=1)
        return y.sum(dim=1) / lengths.clamp(min=1).unsqueeze(1)


class MaxPool(Pool):
    """max_t y_t, each feature by itself (Collobert et al. 2011); steps that tie share the gradient.

    >>> y = torch.tensor([[[1.0], [4.0], [9.0]], [[2.0], [8.0], [7.0]]])
    >>> MaxPool(1)(y, lengths=torch.tensor([2, 3])).tolist()
    [[4.0], [8.0]]
    """

    def reduce(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch dim"]:
        if lengths is None:
            return y.amax(dim=1)
        padding = ~sequence_mask(lengths, y.shape[1]).unsqueeze(2)
        return y.masked_fill(padding, float("-inf")).amax(dim=1).masked_fill((lengths == 0).unsqueeze(1), 0)


class AttentionPool(Pool):
    """Steps weighted by how well each answers one learned query v (Yang et al. 2016, https://aclanthology.org/N16-1174).

        score_t = v · tanh(W y_t + b)
        α = softmax(score)                    over real steps
        c = Σ_t α_t y_t

    Offers `weights` [batch, 1 head, 1 query, time] to `record("attention")`.

    >>> pool = AttentionPool(4)
    >>> pool(torch.randn(2, 5, 4), lengths=torch.tensor([5, 2])).shape
    torch.Size([2, 4])
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.hidden = nn.Linear(size, size)
        self.query = nn.Linear(size, 1, bias=False)
        initialize(self)

    def reduce(
        self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch dim"]:
        scores = self.query(self.hidden(y).tanh()).transpose(1, 2).unsqueeze(1)
        mask = None if lengths is None else sequence_mask(lengths, y.shape[1])[:, None, None]
        weights = masked_softmax(scores, mask)
        if recording("attention"):
            offer("attention", time=2, weights=weights)
        return (weights.squeeze(1) @ y).squeeze(1)


POOLS: Registry[type[Pool]] = Registry(
    "pool",
    {
        "last": LastPool,
        "mean": MeanPool,
        "max": MaxPool,
        "attention": AttentionPool,
    },
)
