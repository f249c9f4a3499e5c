"""The names that a config, a command line or a page may use. The classes behind them live in `nn`.

`tests/spec/test_names.py` holds each tuple equal to the keys of its registry.
"""

ACTIVATIONS = (
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

CELLS = (
    "rnn",
    "rnn-relu",
    "rnn-sigmoid",
    "rnn-linear",
    "lstm",
    "lstm-no-tanh",
    "lstm-peephole",
    "lstm-coupled",
    "lstm-layer-norm",
    "gru",
    "gru-after",
)

INITIAL_STATES = ("zero", "learned", "random")

CONNECTIONS = ("plain", "residual", "dense")

DROPOUTS = ("plain", "variational")

SCORES = ("cosine", "dot", "scaled-dot", "bilinear", "low-rank", "additive", "gaussian")

WEIGHTINGS = ("softmax", "sum")

POSITIONS = ("sinusoidal", "learned", "rotary", "none")

ORDERS = ("pre", "post")

SCHEMES = (
    "uniform",
    "normal",
    "glorot-uniform",
    "glorot-normal",
    "he-uniform",
    "he-normal",
    "orthogonal",
    "identity",
    "zero",
)

NORMS = ("layer", "layer-plain", "rms", "batch", "group", "instance", "none")

POOLS = ("last", "mean", "max", "attention")

RECORDS = ("attention", "gates", "states")

BACKENDS = ("vendor", "reference")

TASKS = ("language", "classify", "tag")

ARCHITECTURES = ("window", "mixer", "conv", *CELLS, "transformer")

SIZES = ("tiny", "small", "base")

CORPORA = ("numbers", "python", "copy", "brackets")

FORMATS = ("text", "csv", "tsv", "jsonl", "folder", "conllu", "conll")

TOKENISERS = ("character", "byte", "word", "bpe")

OPTIMISERS = ("sgd", "momentum", "adagrad", "rmsprop", "adam", "adamw")

SCHEDULES = ("constant", "halve", "plateau", "inverse-sqrt", "cosine")

GATES = ("none", "linear", "tanh")

CHARACTER_ENCODERS = ("lstm", "conv")

PRECISIONS = ("float32", "bf16")

DEVICES = ("auto", "cpu", "cuda", "mps")
