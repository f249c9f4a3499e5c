"""Ways to leave something out in training; in eval mode each is the identity.

Weight drop and zoneout act inside `Recurrent`, whole words are left out in the stem `TokenEmbedding`.
"""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.nn.layer import Pointwise


class DropoutBase(Pointwise):
    """x ⊙ m / (1 − p), with m drawn from Bernoulli(1 − p) in training mode."""

    def __init__(self, size: int, p: float) -> None:
        super().__init__()
        check_probability(type(self).__name__, "p", p)
        self.input_size = self.output_size = size
        self.p = p

    @abstractmethod
    def drop(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        """x ⊙ m / (1 − p)"""

    def each(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        return self.drop(x) if self.training and self.p else x

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout(DropoutBase):
    """Each value by itself (Srivastava et al. 2014)."""

    def drop(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        return F.dropout(x, self.p)


class VariationalDropout(DropoutBase):
    """The same values at every step of a row (Gal & Ghahramani 2016, https://arxiv.org/abs/1512.05287)."""

    def drop(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        return x * F.dropout(torch.ones_like(x[:, :1]), self.p)


DROPOUTS: Registry[type[DropoutBase]] = Registry("dropout", {"plain": Dropout, "variational": VariationalDropout})


def check_probability(where: str, argument: str, p: float) -> None:
    """0 ≤ p < 1: with p = 1 nothing would be left."""
    if not 0 <= p < 1:
        raise ArgumentError(where, argument, str(p), "a probability, at least 0 and below 1", verb="is")
