"""The names that a config, a command line or a page may use. The classes behind them live in the other rooms.

Those that a config takes are said once, as a type, so that pydantic and mypy hold them; the tuple, where one is needed,
is what it lists. `tests/spec/test_names.py` holds each tuple equal to the keys of its registry.
"""

from typing import Literal, get_args

Activation = Literal[
    "relu",
    "gelu",
    "gelu-tanh",
    "prelu",
    "elu",
    "swish",
    "selu",
    "softplus",
    "mish",
    "rrelu",
    "hardswish",
    "sigmoid",
    "softsign",
    "tanh",
    "hardtanh",
    "hardsigmoid",
    "tanhshrink",
    "softshrink",
    "hardshrink",
    "identity",
]
ACTIVATIONS: tuple[str, ...] = get_args(Activation)

InitialState = Literal["zero", "learned", "random"]
INITIAL_STATES: tuple[str, ...] = get_args(InitialState)

Connection = Literal["plain", "residual", "dense"]
CONNECTIONS: tuple[str, ...] = get_args(Connection)

DropoutKind = Literal["plain", "variational"]
DROPOUTS: tuple[str, ...] = get_args(DropoutKind)

Score = Literal["cosine", "dot", "scaled-dot", "bilinear", "low-rank", "additive", "gaussian"]
SCORES: tuple[str, ...] = get_args(Score)
SAME_WIDTH = ("cosine", "dot", "scaled-dot", "gaussian")
"""Scores of a query and a key of one width."""

WEIGHTINGS = ("softmax", "sum")

Position = Literal["sinusoidal", "learned", "rotary", "none"]
POSITIONS: tuple[str, ...] = get_args(Position)

Order = Literal["pre", "post"]
ORDERS: tuple[str, ...] = get_args(Order)

Scheme = Literal[
    "uniform",
    "normal",
    "glorot-uniform",
    "glorot-normal",
    "he-uniform",
    "he-normal",
    "orthogonal",
    "identity",
    "zero",
]
SCHEMES: tuple[str, ...] = get_args(Scheme)

Norm = Literal["layer", "layer-plain", "rms", "batch", "group", "instance", "none"]
NORMS: tuple[str, ...] = get_args(Norm)

NORMS_OVER_TIME = ("group", "instance")
"""Norms whose means are over all positions of a sequence."""

Pool = Literal["last", "mean", "max", "attention"]
POOLS: tuple[str, ...] = get_args(Pool)

RECORDS = ("attention", "gates", "states")

BACKENDS = ("vendor", "reference")

Attention = Literal["none", Score]
""""none", or a score."""

Summary = Literal["none", "last", "mean", "max"]
SUMMARIES: tuple[str, ...] = get_args(Summary)

ImageStem = Literal["grid", "patches"]

Size = Literal["tiny", "small", "base"]
SIZES: tuple[str, ...] = get_args(Size)

Tokeniser = Literal["character", "byte", "word", "bpe"]
TOKENISERS: tuple[str, ...] = get_args(Tokeniser)

Optimiser = Literal["sgd", "momentum", "adagrad", "rmsprop", "adam", "adamw"]
OPTIMISERS: tuple[str, ...] = get_args(Optimiser)

Schedule = Literal["constant", "halve", "plateau", "inverse-sqrt", "cosine"]
SCHEDULES: tuple[str, ...] = get_args(Schedule)

Gate = Literal["none", "linear", "tanh"]

CharacterEncoder = Literal["lstm", "conv"]
CHARACTER_ENCODERS: tuple[str, ...] = get_args(CharacterEncoder)

Precision = Literal["float32", "bf16"]

Device = Literal["auto", "cpu", "cuda", "mps"]
DEVICES: tuple[str, ...] = get_args(Device)
