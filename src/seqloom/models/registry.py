"""The architectures by name. A family is imported when it is first used, torch only when a model is built."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from seqloom.core.registry import Registry

if TYPE_CHECKING:
    from seqloom.models.family import Family


@dataclass(frozen=True)
class Architecture:
    """A value of `model.arch`. A family may have several.

    of: the family's class, or the module that has it as `FAMILY`
    summary: one line of `seqloom list models`
    paper, url: who described it
    kind: what `seqloom.register` calls it: cell, layer or family
    vectors: of a cell, the names of the vectors in its state
    """

    of: "str | type[Family]"
    summary: str
    paper: str = ""
    url: str = ""
    kind: str = "family"
    vectors: tuple[str, ...] = ()

    @property
    def family(self) -> "type[Family]":
        """The class of its section of the config, which builds it."""
        family: type[Family] = import_module(self.of).FAMILY if isinstance(self.of, str) else self.of
        return family


WINDOW, MIXER, CONV = "seqloom.models.window", "seqloom.models.mixer", "seqloom.models.conv"
RECURRENT, TRANSFORMER = "seqloom.models.recurrent", "seqloom.models.transformer"

# fmt: off
BUILT_IN = {
    "window": (WINDOW, "the fixed window of Bengio 2003: the last few tokens, one hidden layer",
               "Bengio et al. 2003", "https://www.jmlr.org/papers/v3/bengio03a.html"),
    "mixer": (MIXER, "MLP-Mixer over tokens: a network over positions, then one over features",
              "Tolstikhin et al. 2021", "https://arxiv.org/abs/2105.01601"),
    "conv": (CONV, "convolutions over time, dilated and gated, with residual connections",
             "van den Oord et al. 2016; Dauphin et al. 2017", "https://arxiv.org/abs/1612.08083"),
    "rnn": (RECURRENT, "the simple recurrent network of Elman 1990: h' = tanh(x W_x + h W_h + b)",
            "Elman 1990", "https://doi.org/10.1207/s15516709cog1402_1"),
    "rnn-relu": (RECURRENT, "the simple recurrent network with ReLU", "Le et al. 2015", "https://arxiv.org/abs/1504.00941"),
    "rnn-sigmoid": (RECURRENT, "the simple recurrent network with the logistic function",
                    "Elman 1990", "https://doi.org/10.1207/s15516709cog1402_1"),
    "rnn-linear": (RECURRENT, "the simple recurrent network without activation, as in the proof of vanishing gradients",
                   "Pascanu et al. 2013", "https://arxiv.org/abs/1211.5063"),
    "lstm": (RECURRENT, "long short-term memory with a forget gate",
             "Hochreiter & Schmidhuber 1997; Gers et al. 2000", "https://doi.org/10.1162/neco.1997.9.8.1735"),
    "lstm-no-tanh": (RECURRENT, "an LSTM whose output is o ⊙ c",
                     "Greff et al. 2015", "https://arxiv.org/abs/1503.04069"),
    "lstm-peephole": (RECURRENT, "an LSTM whose gates see the cell",
                      "Gers & Schmidhuber 2000", "https://doi.org/10.1109/IJCNN.2000.861302"),
    "lstm-coupled": (RECURRENT, "an LSTM whose forget gate is one minus its input gate",
                     "Greff et al. 2015", "https://arxiv.org/abs/1503.04069"),
    "lstm-layer-norm": (RECURRENT, "an LSTM with layer norm inside",
                        "Ba et al. 2016", "https://arxiv.org/abs/1607.06450"),
    "gru": (RECURRENT, "gated recurrent unit, reset gate before the product (Cho et al. 2014)",
            "Cho et al. 2014", "https://arxiv.org/abs/1406.1078"),
    "gru-after": (RECURRENT, "gated recurrent unit, reset gate after the product (cuDNN's, and faster)",
                  "Cho et al. 2014, first version; cuDNN", "https://arxiv.org/abs/1406.1078v1"),
    "transformer": (TRANSFORMER, "attention and feed-forward layers (Vaswani et al. 2017)",
                    "Vaswani et al. 2017", "https://arxiv.org/abs/1706.03762"),
}
# fmt: on
# The cells by the vectors in their states.
CELLS = {
    ("hidden",): ("rnn", "rnn-relu", "rnn-sigmoid", "rnn-linear", "gru", "gru-after"),
    ("hidden", "cell"): ("lstm", "lstm-no-tanh", "lstm-peephole", "lstm-coupled", "lstm-layer-norm"),
}
VECTORS = {cell: vectors for vectors, cells in CELLS.items() for cell in cells}
ARCHITECTURES: Registry[Architecture] = Registry(
    "model.arch", {name: Architecture(*row, vectors=VECTORS.get(name, ())) for name, row in BUILT_IN.items()}
)


def architectures_of(family: "type[Family]") -> tuple[str, ...]:
    return tuple(name for name, architecture in ARCHITECTURES.items() if architecture.family is family)


def generative_architectures() -> tuple[str, ...]:
    """One architecture of each family that can generate token by token."""
    first: dict[type[Family], str] = {}
    for name, architecture in ARCHITECTURES.items():
        first.setdefault(architecture.family, name)
    return tuple(name for family, name in first.items() if family.generates)
