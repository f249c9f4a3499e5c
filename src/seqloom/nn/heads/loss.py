"""A loss is a sum and what it sums over."""

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor


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
