"""Initialization of weights by named schemes."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry

Scheme = Callable[[Tensor, float | None], object]


def scaled(fill: Callable[..., Tensor], default: float = 1.0) -> Scheme:
    """A scheme from a function of `nn.init` with a gain; `scale` replaces its default."""
    return lambda weight, scale: fill(weight, default if scale is None else scale)


def he(fill: Callable[..., Tensor]) -> Scheme:
    return scaled(lambda weight, gain: fill(weight, nonlinearity="relu").mul_(gain))


def identity(weight: Tensor, gain: float) -> Tensor:
    if weight.dim() != 2:
        expected = "a matrix, for the scheme 'identity'"
        raise ArgumentError("initialize", "a weight", f"shape {list(weight.shape)}", expected)
    return nn.init.eye_(weight).mul_(gain)


# A scheme fills a matrix [out, in]. Its `scale` is r, s or the gain; None is the default of the scheme.
SCHEMES: Registry[Scheme] = Registry(
    "initialization",
    {
        "uniform": scaled(lambda weight, r: nn.init.uniform_(weight, -r, r), default=0.1),  # W ~ U(−r, r)
        "normal": scaled(lambda weight, s: nn.init.normal_(weight, 0.0, s), default=0.02),  # W ~ N(0, s²)
        "glorot-uniform": scaled(nn.init.xavier_uniform_),  # W ~ gain · U(±√(6 / (in + out)))
        "glorot-normal": scaled(nn.init.xavier_normal_),  # W ~ gain · N(0, 2 / (in + out))
        "he-uniform": he(nn.init.kaiming_uniform_),  # W ~ gain · U(±√(6 / in))
        "he-normal": he(nn.init.kaiming_normal_),  # W ~ gain · N(0, 2 / in)
        "orthogonal": scaled(nn.init.orthogonal_),  # WᵀW = gain² I
        "identity": scaled(identity),  # W = gain · I, for the ReLU RNN of Le et al. 2015
        "zero": lambda weight, _: nn.init.zeros_(weight),  # W = 0
    },
)

_LINEAR_ROLES = {"weight": "weight", "bias": "bias"}
_CELL_ROLES = {"input_weight": "weight", "recurrent_weight": "recurrent", "bias": "bias", "candidate_bias": "bias"}


@torch.no_grad()
def initialize(
    module: nn.Module,
    *,
    weights: str = "glorot-uniform",
    recurrent: str = "orthogonal",
    embeddings: str = "normal",
    biases: str = "zero",
    scale: float | None = None,
    forget: float = 1.0,
    prior: Shaped[Tensor, " classes"] | None = None,
) -> None:
    """Initialize all weights of a module by named schemes.

    weights: matrices and convolutions; a cell's input weights, each part by itself
    recurrent: a cell's h-to-h weights, each part by itself
    embeddings: "normal" is N(0, 1/dim), unless `scale` is given
    biases: "zero", "uniform" or "normal"
    scale: r of "uniform", s of "normal", the gain of the others; for `weights`, `embeddings` and `biases`
    forget: added to the bias of a forget gate, so that memory lasts from the start (Gers 2000; Jozefowicz 2015)
    prior: the frequency of each class; output biases start at its logarithm, so that the first loss is the entropy of
        the classes

    Normalization, peepholes and learned positions stay as they are.

    >>> layer = nn.Linear(4, 2)
    >>> initialize(layer, weights="uniform", scale=0.08)
    >>> bool(layer.weight.abs().max() <= 0.08), layer.bias.tolist()
    (True, [0.0, 0.0])
    """
    if biases not in ("zero", "uniform", "normal"):
        raise ArgumentError("initialize", "biases", repr(biases), "'zero', 'uniform' or 'normal'", verb="is")
    schemes = {
        "weight": (SCHEMES[weights], scale),
        "weights": (SCHEMES[weights], scale),
        "recurrent": (SCHEMES[recurrent], None),
        "bias": (SCHEMES[biases], scale),
    }
    for submodule in module.modules():
        parts: tuple[str, ...] = getattr(submodule, "parts", ()) if hasattr(submodule, "recurrent_weight") else ()
        for name, role in roles(submodule).items():
            parameter = getattr(submodule, name, None)
            if parameter is None:
                continue
            if role == "embedding":
                dim_scale = parameter.shape[1] ** -0.5 if embeddings == "normal" else None
                SCHEMES[embeddings](parameter, scale if scale is not None else dim_scale)
                continue
            scheme, gain = schemes[role]
            # a scheme fills the matrices of a stack, or the parts of a cell, one by one
            for matrix in parameter.unbind() if role == "weights" else parameter.chunk(len(parts) or 1):
                scheme(matrix, gain)
        bias = getattr(submodule, "bias", None)
        if "forget" in parts and bias is not None:
            bias.chunk(len(parts))[parts.index("forget")].add_(forget)
    if prior is not None:  # after all biases are initialized
        for submodule in module.modules():
            init_bias = getattr(submodule, "init_bias_from_prior", None)
            if init_bias is not None:
                init_bias(prior)


def roles(module: nn.Module) -> Mapping[str, str]:
    """The role of each parameter of this module itself: weight, weights (a stack), recurrent, embedding or bias.

    A module with parameters of its own may have an attribute `roles`, which maps their names to roles.
    """
    if hasattr(module, "recurrent_weight"):
        return _CELL_ROLES
    own = getattr(module, "roles", None)
    if own is not None:
        return own  # type: ignore[no-any-return]
    if isinstance(module, nn.Linear | nn.Conv1d | nn.Conv2d):
        return _LINEAR_ROLES
    return {"weight": "embedding"} if isinstance(module, nn.Embedding) else {}


def log_prior(prior: Shaped[Tensor, " classes"]) -> Float[Tensor, " classes"]:
    """log p of each class, from counts or frequencies; a class that never occurs counts as half an example."""
    counts = prior.to(torch.float64)
    counts = torch.where(counts > 0, counts, 0.5 * torch.where(counts > 0, counts, math.inf).min().clamp(max=1.0))
    return (counts / counts.sum()).log().to(prior.dtype if prior.is_floating_point() else torch.get_default_dtype())


class SkipInitialization(TorchFunctionMode):
    """Within the block, `torch.nn.init` and random fills return the tensor as it is."""

    fills = (Tensor.normal_, Tensor.uniform_)

    def __torch_function__(
        self, function: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in self.fills or getattr(function, "__module__", "") == nn.init.__name__:
            return args[0] if args else kwargs["tensor"]
        return function(*args, **kwargs)


@contextmanager
def without_values() -> Iterator[None]:
    """Within the block, modules are built on `meta`, where tensors have shapes but no values and take no memory.

    They are not initialized: `normal_` on `meta` would import `torch._dynamo`, 900 modules in a second.
    """
    with torch.device("meta"), SkipInitialization():
        yield
