"""The names that a config, a command line or a page may use, without what they stand for: that needs torch.

A kind that anyone may add to (`seqloom.register`) has `Names`; its config key takes one that there is when it is asked.
A closed kind is a type, so that mypy holds it too, and the tuple that the type lists. `tests/core/test_names.py` holds
each equal to the keys of its registry.
"""

from typing import Annotated, Literal, get_args

from seqloom.core.config.section import OneOf
from seqloom.core.registry import Marked, Names

ACTIVATIONS = Names(
    "activation",
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
)
Activation = Annotated[str, OneOf(ACTIVATIONS)]

InitialState = Literal["zero", "learned", "random"]
INITIAL_STATES: tuple[str, ...] = get_args(InitialState)

Connection = Literal["plain", "residual", "dense"]
CONNECTIONS: tuple[str, ...] = get_args(Connection)

DropoutKind = Literal["plain", "variational"]
DROPOUTS: tuple[str, ...] = get_args(DropoutKind)

SCORES = Names("score", "cosine", "dot", "scaled-dot", "bilinear", "low-rank", "additive", "gaussian")
SAME_WIDTH = Marked(SCORES, "cosine", "dot", "scaled-dot", "gaussian")
"""Scores of a query and a key of one width."""
ROTATABLE = Marked(SCORES, "dot", "scaled-dot")
"""Scores that go with rotary positions: a dot product of what is rotated."""

Score = Annotated[str, OneOf(SCORES)]
Attention = Annotated[str, OneOf(SCORES, also=("none",))]

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

NORMS = Names("norm", "layer", "layer-plain", "rms", "batch", "group", "instance", "none")
NORMS_OVER_TIME = Marked(NORMS, "group", "instance")
"""Norms whose means are over all positions of a sequence."""
Norm = Annotated[str, OneOf(NORMS)]

HEADS = Names("head", "softmax")
LIKELIHOODS = Marked(HEADS, "softmax")
"""Heads whose loss is −log p of the target, so that its exponential is a perplexity."""
Head = Annotated[str, OneOf(HEADS)]

Pool = Literal["last", "mean", "max", "attention"]
POOLS: tuple[str, ...] = get_args(Pool)

RECORDS = ("attention", "gates", "states")

BACKENDS = ("vendor", "reference")

Summary = Literal["none", "last", "mean", "max"]
SUMMARIES: tuple[str, ...] = get_args(Summary)

ImageStem = Literal["grid", "patches"]

Size = Literal["tiny", "small", "base"]
SIZES: tuple[str, ...] = get_args(Size)

TOKENIZERS = Names("tokenizer", "character", "byte", "word", "bpe")
Tokenizer = Annotated[str, OneOf(TOKENIZERS)]

OPTIMIZERS = Names("optimizer", "sgd", "momentum", "adagrad", "rmsprop", "adam", "adamw")
Optimiser = Annotated[str, OneOf(OPTIMIZERS)]

SCHEDULES = Names("schedule", "constant", "halve", "plateau", "inverse-sqrt", "cosine")
Schedule = Annotated[str, OneOf(SCHEDULES)]

METRICS = Names("metric", "word-error-rate", "character-error-rate")
Metric = Annotated[str, OneOf(METRICS)]

Gate = Literal["none", "linear", "tanh"]

CharacterEncoder = Literal["lstm", "conv"]
CHARACTER_ENCODERS: tuple[str, ...] = get_args(CharacterEncoder)

Precision = Literal["float32", "bf16"]

Device = Literal["auto", "cpu", "cuda", "mps"]
DEVICES: tuple[str, ...] = get_args(Device)
