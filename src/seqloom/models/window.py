"""The fixed-window neural language model (Bengio et al. 2003): hidden layers over the last few tokens."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from seqloom.core import names
from seqloom.core.config.section import Values, key
from seqloom.models.family import Family, Width

if TYPE_CHECKING:
    from seqloom.nn.layer import Layer


class Window(Family):
    """Hidden layers over the last few tokens."""

    sizes: ClassVar[Mapping[str, Values]] = {
        "tiny": {"dim": 16, "hidden": 64, "depth": 1, "window": 8},
        "small": {"dim": 32, "hidden": 256, "depth": 1, "window": 16},
        "base": {"dim": 64, "hidden": 1024, "depth": 1, "window": 32},
    }

    window: int = key(..., "The number of tokens that each position sees, including itself.", ge=1, le=4096)
    hidden: Width = key(..., "The size of the hidden layers.")
    activation: names.Activation = key("tanh", "The activation of the hidden layers.")
    direct: bool = key(False, "Whether the output layer also reads the embeddings of the window directly.")

    @property
    def output_width(self) -> int:
        return self.hidden if self.output_has_hidden_width else self.dim * self.window + self.hidden

    @property
    def hidden_width(self) -> int:
        return self.hidden

    @property
    def output_has_hidden_width(self) -> bool:
        return not (self.direct and self.depth == 1)

    def build(self, input_size: int, *, causal: bool) -> "Layer":
        from seqloom.nn.dense import DenseOverFeatures
        from seqloom.nn.dropout import Dropout
        from seqloom.nn.stack import Stack
        from seqloom.nn.window import FixedWindow, FixedWindowDirect

        kind = FixedWindowDirect if self.direct else FixedWindow
        first = kind(input_size, self.hidden, self.window, activation=self.activation)
        more: list[Layer] = []
        for k in range(self.depth - 1):
            below = first.output_size if k == 0 else self.hidden
            more.append(DenseOverFeatures(below, self.hidden, activation=self.activation))
        top = more[-1].output_size if more else first.output_size
        return Stack([first, *more, Dropout(top, self.dropout)])


FAMILY = Window
