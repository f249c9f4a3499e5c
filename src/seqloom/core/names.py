"""The names that a config may use, known without importing torch or what they stand for.

A kind of part that users may add to (`seqloom.register`) has `Names`; a closed kind is a `Literal`, which mypy checks
too. The registries in `nn`, `data`, `tasks` and `training` hold what the names stand for, and check that they have the
same names.
"""

from typing import Annotated, Literal, get_args

from seqloom.core.config.section import OneOf
from seqloom.core.registry import Names

# Layers ---------------------------------------------------------------------------------------------------------------

ACTIVATIONS = Names(
    "activation",
    *("relu", "gelu", "gelu-tanh", "prelu", "elu", "swish", "selu", "softplus", "mish", "rrelu", "hardswish"),
    *("sigmoid", "softsign", "tanh", "hardtanh", "hardsigmoid", "tanhshrink", "softshrink", "hardshrink", "identity"),
)
Activation = Annotated[str, OneOf(ACTIVATIONS)]

NORMS = Names("norm", "layer", "layer-plain", "rms", "batch", "group", "instance", "none")
NORMS_OVER_TIME = {"group", "instance"}  # their means are over all positions of a sequence
Norm = Annotated[str, OneOf(NORMS)]

SCORES = Names("score", "cosine", "dot", "scaled-dot", "bilinear", "low-rank", "additive", "gaussian")
SAME_WIDTH = {"cosine", "dot", "scaled-dot", "gaussian"}  # scores of a query and a key of one width
ROTATABLE = {"dot", "scaled-dot"}  # scores for rotary positions: dot products of the rotated query and key
Score = Annotated[str, OneOf(SCORES)]
Attention = Annotated[str, OneOf(SCORES, also=("none",))]

HEADS = Names("head", "softmax")
LIKELIHOODS = {"softmax"}  # heads whose loss is −log p of the target, so that its exponential is a perplexity
Head = Annotated[str, OneOf(HEADS)]

Scheme = Literal[
    "uniform", "normal", "glorot-uniform", "glorot-normal", "he-uniform", "he-normal", "orthogonal", "identity", "zero"
]
InitialState = Literal["zero", "learned", "random"]
INITIAL_STATES: tuple[str, ...] = get_args(InitialState)
Connection = Literal["plain", "residual", "dense"]
DropoutKind = Literal["plain", "variational"]
Position = Literal["sinusoidal", "learned", "rotary", "none"]
Order = Literal["pre", "post"]
Pool = Literal["last", "last-step", "mean", "max", "attention"]
Summary = Literal["none", "last", "last-step", "mean", "max"]
Bridge = Literal["last", "last-map", "mean", "mean-map", "source", "none"]
CharacterEncoder = Literal["lstm", "conv"]
ImageStem = Literal["grid", "patches"]
WEIGHTINGS = ("softmax", "sum")
RECORDS = ("attention", "gates", "states")

# Models, data and training --------------------------------------------------------------------------------------------

Size = Literal["tiny", "small", "base"]
SIZES: tuple[str, ...] = get_args(Size)

TOKENIZERS = Names("tokenizer", "character", "byte", "word", "bpe")
Tokenizer = Annotated[str, OneOf(TOKENIZERS)]

OPTIMIZERS = Names("optimizer", "sgd", "momentum", "adagrad", "rmsprop", "adam", "adamw")
Optimizer = Annotated[str, OneOf(OPTIMIZERS)]

SCHEDULES = Names("schedule", "constant", "halve", "plateau", "inverse-sqrt", "cosine")
Schedule = Annotated[str, OneOf(SCHEDULES)]

METRICS = Names("metric", "word-error-rate", "character-error-rate")
Metric = Annotated[str, OneOf(METRICS)]

Precision = Literal["float32", "bf16"]
Device = Literal["auto", "cpu", "cuda", "mps"]
DEVICES: tuple[str, ...] = get_args(Device)
