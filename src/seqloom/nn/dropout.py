"""Dropout layers; in eval mode each is the identity.

Weight drop and zoneout are in `Recurrent`, word dropout is in the stem `TokenEmbedding`.
"""

from abc import abstractmethod

import torch
from torch.nn import functional as F

from seqloom.core.registry import Registry
from seqloom.nn.layer import FeatureWise, Pointwise, Vectors
from seqloom.nn.validation import check_probability


class DropoutBase(FeatureWise, Pointwise):
    """y = x ⊙ m / (1 − p), with m ~ Bernoulli(1 − p) in training mode"""

    def __init__(self, size: int, p: float) -> None:
        super().__init__()
        check_probability(type(self).__name__, "p", p)
        self.input_size = self.output_size = size
        self.p = p

    @abstractmethod
    def drop(self, x: Vectors) -> Vectors:
        """x ⊙ m / (1 − p)"""

    def transform(self, x: Vectors) -> Vectors:
        return self.drop(x) if self.training and self.p else x

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout(DropoutBase):
    """y = x ⊙ m / (1 − p), with an m of its own for each value (Srivastava et al. 2014)"""

    def drop(self, x: Vectors) -> Vectors:
        return F.dropout(x, self.p)


class VariationalDropout(DropoutBase):
    """y = x ⊙ m / (1 − p), with the same m at every step of a row (Gal & Ghahramani 2016, https://arxiv.org/abs/1512.05287)"""

    def drop(self, x: Vectors) -> Vectors:
        return x * F.dropout(torch.ones_like(x[:, :1]), self.p)


DROPOUTS: Registry[type[DropoutBase]] = Registry("dropout", {"plain": Dropout, "variational": VariationalDropout})
