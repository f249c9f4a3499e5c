"""From a sequence to one vector: [batch, time, dim] to [batch, dim], padding excluded."""

from abc import ABC, abstractmethod
from itertools import groupby
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.kernels.attention import masked_softmax
from seqloom.kernels.masks import last_step, mask_padding, sequence_mask
from seqloom.nn.initialization import initialize
from seqloom.nn.layer import Flags, Layer, Lengths, Vectors
from seqloom.nn.record import offer, recording
from seqloom.nn.validation import check_lengths, check_sequence

Pooled = Float[Tensor, "batch dim"]


class Pool(nn.Module, ABC):
    """One vector for each row; zeros for a row of length 0.

    A pool implements `reduce`, which receives validated arguments, zeros at padding and at least one step.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size = self.output_size = size

    @classmethod
    def over(cls, layer: Layer) -> Self:
        """The pool of the outputs of a layer."""
        return cls(layer.output_size)

    @abstractmethod
    def reduce(self, y: Vectors, lengths: Lengths) -> Pooled: ...

    def forward(self, y: Vectors, lengths: Lengths = None) -> Pooled:
        location = type(self).__name__
        check_sequence(location, y, self.input_size, next(self.parameters(), None), argument="y")
        rows, time = y.shape[:2]
        if lengths is not None:
            lengths = check_lengths(location, lengths, rows, time, y.device)
        if time == 0:
            return y.new_zeros(rows, self.output_size)
        return self.reduce(mask_padding(y, lengths), lengths)

    def extra_repr(self) -> str:
        return f"{self.input_size}"


class LastStepPool(Pool):
    """c = y_n, the output at the last step of a row

    Of a bidirectional layer, the backward half of y_n has read one step only: see `LastPool`.

    >>> y = torch.tensor([[[1.0], [4.0], [9.0]], [[2.0], [8.0], [7.0]]])
    >>> LastStepPool(1)(y, lengths=torch.tensor([2, 3])).tolist()
    [[4.0], [7.0]]
    """

    def reduce(self, y: Vectors, lengths: Lengths) -> Pooled:
        return last_step(y, lengths, default=y.new_zeros(y.shape[0], y.shape[2]))


class LastPool(LastStepPool):
    """c = [→y_n; ←y_1]: each feature from the step where its network has read the whole row

        c_j = y_{1,j}   if a network that reads from the end computes feature j
        c_j = y_{n,j}   otherwise, so c = y_n for a causal layer

    backward: for each feature, whether it is of the first kind; `over` asks the layer

    >>> from seqloom.nn import RNN, Bidirectional, Recurrent
    >>> layer = Bidirectional(Recurrent(RNN(3, 1)), Recurrent(RNN(3, 1)))
    >>> y = torch.tensor([[[1.0, 6.0], [4.0, 5.0], [0.0, 0.0]]])
    >>> LastPool.over(layer)(y, lengths=torch.tensor([2])).tolist()
    [[4.0, 6.0]]
    """

    def __init__(self, size: int, backward: Flags | None = None) -> None:
        super().__init__(size)
        backward = backward or (False,) * size
        if len(backward) != size:
            raise ArgumentError(type(self).__name__, "backward", f"{len(backward)} values", f"{size}, one per feature")
        # Neighbors are read together: (is backward, number of features).
        self.directions = [(flag, len(list(group))) for flag, group in groupby(backward)]

    @classmethod
    def over(cls, layer: Layer) -> Self:
        return cls(layer.output_size, layer.backward_features())

    def reduce(self, y: Vectors, lengths: Lengths) -> Pooled:
        flags, widths = zip(*self.directions, strict=True)
        first, last = y[:, 0].split(widths, dim=1), super().reduce(y, lengths).split(widths, dim=1)
        return torch.cat([a if flag else b for flag, a, b in zip(flags, first, last, strict=True)], dim=1)


class MeanPool(Pool):
    """c = 1/n Σ_t y_t

    >>> y = torch.tensor([[[1.0], [4.0], [9.0]], [[2.0], [8.0], [2.0]]])
    >>> MeanPool(1)(y, lengths=torch.tensor([2, 3])).tolist()
    [[2.5], [4.0]]
    """

    def reduce(self, y: Vectors, lengths: Lengths) -> Pooled:
        if lengths is None:
            return y.mean(dim=1)
        return y.sum(dim=1) / lengths.clamp(min=1).unsqueeze(1)


class MaxPool(Pool):
    """c = max_t y_t, each feature by itself (Collobert et al. 2011); tied steps share the gradient

    >>> y = torch.tensor([[[1.0], [4.0], [9.0]], [[2.0], [8.0], [7.0]]])
    >>> MaxPool(1)(y, lengths=torch.tensor([2, 3])).tolist()
    [[4.0], [8.0]]
    """

    def reduce(self, y: Vectors, lengths: Lengths) -> Pooled:
        if lengths is None:
            return y.amax(dim=1)
        padding = ~sequence_mask(lengths, y.shape[1]).unsqueeze(2)
        return y.masked_fill(padding, float("-inf")).amax(dim=1).masked_fill((lengths == 0).unsqueeze(1), 0)


class AttentionPool(Pool):
    """A weighted mean of the steps, scored against a learned query v (Yang et al. 2016, https://aclanthology.org/N16-1174).

        score_t = v · tanh(W y_t + b)
        α = softmax(score)
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

    def reduce(self, y: Vectors, lengths: Lengths) -> Pooled:
        scores = self.query(self.hidden(y).tanh()).transpose(1, 2).unsqueeze(1)
        mask = None if lengths is None else sequence_mask(lengths, y.shape[1])[:, None, None]
        weights = masked_softmax(scores, mask)
        if recording("attention"):
            offer("attention", time=2, weights=weights)
        return (weights.squeeze(1) @ y).squeeze(1)


POOLS: Registry[type[Pool]] = Registry(
    "pool",
    {"last": LastPool, "last-step": LastStepPool, "mean": MeanPool, "max": MaxPool, "attention": AttentionPool},
)
