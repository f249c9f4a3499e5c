"""Normalization layers. γ and β are a learned scale and shift; means exclude padding."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.core import names
from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.kernels.masks import sequence_mask
from seqloom.nn.layer import FeatureWise, Identity, Layer, Lengths, Output, Pointwise, Traits, Vectors
from seqloom.nn.state import State


class LayerNorm(FeatureWise, Pointwise):
    """y = γ ⊙ (x − mean x) / √(var x + ε) + β, over the features of a step (Ba et al. 2016, https://arxiv.org/abs/1607.06450)

    bias: False for no β
    """

    def __init__(self, size: int, *, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        self.input_size = self.output_size = size
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None

    def transform(self, x: Vectors) -> Vectors:
        return F.layer_norm(x, (self.input_size,), self.weight, self.bias, self.eps)


class PlainLayerNorm(FeatureWise, Pointwise):
    """y = (x − mean x) / √(var x + ε), without parameters"""

    def __init__(self, size: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.input_size = self.output_size = size
        self.eps = eps

    def transform(self, x: Vectors) -> Vectors:
        return F.layer_norm(x, (self.input_size,), eps=self.eps)


class RMSNorm(FeatureWise, Pointwise):
    """y = γ ⊙ x / √(mean x² + ε)   (Zhang & Sennrich 2019, https://arxiv.org/abs/1910.07467)"""

    def __init__(self, size: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.input_size = self.output_size = size
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))

    def transform(self, x: Vectors) -> Vectors:
        return F.rms_norm(x, (self.input_size,), self.weight, self.eps)


class BatchNorm(FeatureWise):
    """y = γ ⊙ (x − μ) / √(σ² + ε) + β, with μ and σ² of each feature over all steps of all rows (Ioffe & Szegedy 2015)

    In eval mode μ and σ² are running means from training, so that rows are independent.
    """

    traits = Traits(causal=True, rows_independent=False)
    running_mean: Float[Tensor, " dim"]
    running_variance: Float[Tensor, " dim"]

    def __init__(self, size: int, *, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.input_size = self.output_size = size
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.register_buffer("running_mean", torch.zeros(size))
        self.register_buffer("running_variance", torch.ones(size))

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        if self.training:
            mean, variance, count = moments(x, lengths, dims=(0, 1))
            self._update_running(mean.flatten(), variance.flatten(), count.flatten())
        else:
            mean, variance = self.running_mean, self.running_variance
        return standardize(x, mean, variance, self.eps) * self.weight + self.bias, State()

    @torch.no_grad()
    def _update_running(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        """running ← (1 − m) running + m new, with unbiased variance as in torch; a batch of padding changes nothing"""
        momentum = self.momentum * (count > 0)
        unbiased = variance * count / (count - 1).clamp(min=1)
        for running, new in ((self.running_mean, mean), (self.running_variance, unbiased)):
            running += (momentum * (new - running)).to(running.dtype)


class GroupNorm(FeatureWise):
    """y = γ ⊙ (x − μ) / √(σ² + ε) + β, with μ and σ² over a group of features and all steps of a row (Wu & He 2018)

    Not causal, because its means are over time.
    """

    traits = Traits(causal=False)

    def __init__(self, size: int, groups: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        if groups < 1 or size % groups:
            raise ArgumentError(type(self).__name__, "groups", str(groups), f"a divisor of the size, {size}", verb="is")
        self.input_size = self.output_size = size
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        grouped = x.unflatten(2, (self.groups, -1))
        mean, variance, _ = moments(grouped, lengths, dims=(1, 3))
        return standardize(grouped, mean, variance, self.eps).flatten(2) * self.weight + self.bias, State()


class InstanceNorm(GroupNorm):
    """y = γ ⊙ (x − μ) / √(σ² + ε) + β, with μ and σ² of each feature over all steps of a row (Ulyanov et al. 2016)"""

    def __init__(self, size: int, *, eps: float = 1e-5) -> None:
        super().__init__(size, groups=size, eps=eps)


NORMS: Registry[Callable[[int], Layer]] = Registry(
    names.NORMS,
    {
        "layer": LayerNorm,
        "layer-plain": PlainLayerNorm,
        "rms": RMSNorm,
        "batch": BatchNorm,
        "group": lambda size: GroupNorm(size, groups=math.gcd(size, 8)),
        "instance": InstanceNorm,
        "none": Identity,
    },
)


def moments(
    x: Float[Tensor, "batch time *dims"], lengths: Lengths, dims: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, variance and count of the values over these dimensions, padding excluded; 0 where there are none.

    They are in float32 at least, because bfloat16 can't count past 256.
    """
    values = x.to(torch.promote_types(x.dtype, torch.float32))
    mask = values.new_ones(1, x.shape[1]) if lengths is None else sequence_mask(lengths, x.shape[1]).to(values.dtype)
    mask = mask.reshape(*mask.shape, *[1] * (x.dim() - 2))
    count = mask.expand_as(values).sum(dims, keepdim=True)
    mean = (values * mask).sum(dims, keepdim=True) / count.clamp(min=1)
    variance = ((values - mean) * mask).square().sum(dims, keepdim=True) / count.clamp(min=1)
    return mean, variance, count


def standardize(
    x: Float[Tensor, "batch time *dims"], mean: Tensor, variance: Tensor, eps: float
) -> Float[Tensor, "batch time *dims"]:
    """(x − μ) / √(σ² + ε), in the precision of x"""
    return ((x - mean) * torch.rsqrt(variance + eps)).to(x.dtype)
