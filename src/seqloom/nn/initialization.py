"""Where weights start. One function, named schemes."""

import math
from collections.abc import Callable, Iterable, Mapping

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry

Fill = Callable[[Tensor, float | None], object]

# A scheme fills a matrix [out, in]; `scale` is r, s or the gain, None the scheme's own.
SCHEMES: Registry[Fill] = Registry(
    "initialization",
    {
        "uniform": lambda weight, r: nn.init.uniform_(weight, -_or(r, 0.1), _or(r, 0.1)),  # U(−r, r)
        "normal": lambda weight, s: nn.init.normal_(weight, 0.0, _or(s, 0.02)),  # N(0, s²)
        "glorot-uniform": lambda weight, gain: nn.init.xavier_uniform_(weight, _or(gain, 1.0)),  # U(±√(6/(in+out)))
        "glorot-normal": lambda weight, gain: nn.init.xavier_normal_(weight, _or(gain, 1.0)),  # N(0, 2/(in+out))
        "he-uniform": lambda weight, gain: _he(weight, gain, nn.init.kaiming_uniform_),  # U(±√(6/in))
        "he-normal": lambda weight, gain: _he(weight, gain, nn.init.kaiming_normal_),  # N(0, 2/in)
        "orthogonal": lambda weight, gain: nn.init.orthogonal_(weight, _or(gain, 1.0)),  # WᵀW = gain² I
        "identity": lambda weight, gain: _identity(weight).mul_(_or(gain, 1.0)),  # the ReLU RNN of Le et al. 2015
        "zero": lambda weight, _: nn.init.zeros_(weight),
    },
)

_ROLES: Mapping[type[nn.Module], Mapping[str, str]] = {
    nn.Linear: {"weight": "weight", "bias": "bias"},
    nn.Conv1d: {"weight": "weight", "bias": "bias"},
    nn.Conv2d: {"weight": "weight", "bias": "bias"},
    nn.Embedding: {"weight": "embedding"},
}
_CELL = {"input_weight": "weight", "recurrent_weight": "recurrent", "bias": "bias", "candidate_bias": "bias"}


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
    """Start all weights of a module by named schemes.

    weights: matrices and convolutions; a cell's input weights, each part by itself
    recurrent: a cell's h-to-h weights, each part by itself
    embeddings: N(0, 1/dim) as "normal", unless `scale` says otherwise
    biases: by any scheme that can fill a vector
    scale: r of "uniform", s of "normal", the gain of the others; for `weights`, `embeddings` and `biases`
    forget: added to a forget gate's bias, so that memory lasts from the start (Gers 2000; Jozefowicz 2015)
    prior: how frequent each class is; output biases start at its logarithm, so that the first loss is the entropy of
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
    for part in module.modules():
        for name, role in roles(part).items():
            parameter = getattr(part, name, None)
            if parameter is None:
                continue
            if role == "embedding":
                dim_scale = parameter.shape[1] ** -0.5 if embeddings == "normal" else None
                SCHEMES[embeddings](parameter, scale if scale is not None else dim_scale)
                continue
            fill, size = schemes[role]
            for matrix in matrices(part, parameter, role):
                fill(matrix, size)
        bias = getattr(part, "bias", None)
        if "forget" in gates(part) and bias is not None:
            bias.chunk(len(gates(part)))[gates(part).index("forget")].add_(forget)
    if prior is not None:  # after all biases have started
        for part in module.modules():
            initialize_bias = getattr(part, "init_bias_from_prior", None)
            if initialize_bias is not None:
                initialize_bias(prior)


def matrices(module: nn.Module, parameter: Tensor, role: str) -> Iterable[Tensor]:
    """What a scheme fills by itself: a cell's parts, the matrices of a stack ("weights"), or the whole."""
    if role == "weights":
        return parameter.unbind()
    return parameter.chunk(len(gates(module)) or 1)


def gates(module: nn.Module) -> tuple[str, ...]:
    """The parts of a cell; a module that is none has none."""
    return module.parts if hasattr(module, "recurrent_weight") else ()  # type: ignore[return-value]


def roles(module: nn.Module) -> Mapping[str, str]:
    """Which parameters of this module, not of its children, are a weight, a stack of weights, recurrent, an embedding
    or a bias.

    A module with parameters of its own may say so in an attribute `roles`.
    """
    if hasattr(module, "recurrent_weight"):
        return _CELL
    own = getattr(module, "roles", None)
    if own is not None:
        return own  # type: ignore[no-any-return]
    return next((found for kind, found in _ROLES.items() if isinstance(module, kind)), {})


def log_prior(prior: Shaped[Tensor, " classes"]) -> Float[Tensor, " classes"]:
    """log p of each class from counts or frequencies; a class never seen counts as half an example."""
    counts = prior.to(torch.float64)
    counts = torch.where(counts > 0, counts, 0.5 * torch.where(counts > 0, counts, math.inf).min().clamp(max=1.0))
    return (counts / counts.sum()).log().to(prior.dtype if prior.is_floating_point() else torch.get_default_dtype())


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _identity(weight: Tensor) -> Tensor:
    if weight.dim() != 2:
        shape = f"shape {list(weight.shape)}"
        raise ArgumentError("initialize", "a weight", shape, "a matrix, for the scheme 'identity'")
    return nn.init.eye_(weight)


def _he(weight: Tensor, gain: float | None, fill: Callable[..., Tensor]) -> None:
    fill(weight, nonlinearity="relu")
    weight.mul_(_or(gain, 1.0))
