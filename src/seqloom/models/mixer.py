"""MLP-Mixer over tokens (Tolstikhin et al. 2021): a network over positions, then one over features."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from seqloom.core import names
from seqloom.core.config.section import Values, key
from seqloom.core.problem import Problem
from seqloom.models.family import Family, Use, Width, cannot_generate

if TYPE_CHECKING:
    from seqloom.nn.layer import Layer


class Mixer(Family):
    """Networks over positions and over features, in turn."""

    sizes: ClassVar[Mapping[str, Values]] = {
        "tiny": {"dim": 32, "hidden": 64, "token_hidden": 32, "depth": 1},
        "small": {"dim": 128, "hidden": 512, "token_hidden": 64, "depth": 4},
        "base": {"dim": 512, "hidden": 2048, "token_hidden": 256, "depth": 8},
    }
    generates: ClassVar[bool] = False
    default_max_length: ClassVar[int] = 128
    layers_have_max_length: ClassVar[bool] = True

    max_length: int = key(..., "The maximum length of a text in tokens.", ge=1, le=16_384)
    token_hidden: Width = key(..., "The hidden size of the MLP over positions.")
    hidden: Width = key(..., "The hidden size of the MLP over features.")
    activation: names.Activation = key("gelu", "The activation of both MLPs.")
    norm: names.Norm = key("layer", "The normalization before each MLP.")

    @classmethod
    def defaults(cls, size: str, use: Use) -> Values:
        return {"dropout": 0.1}  # in every residual block

    @classmethod
    def encoder_values(cls, max_length: int) -> Values:
        return {"max_length": max_length}

    @property
    def hidden_width(self) -> int:
        return self.hidden

    def conflicts(self, use: Use) -> Iterator[Problem]:
        if use is not Use.ENCODE:
            yield cannot_generate(self.arch, use)

    def build(self, input_size: int, *, causal: bool) -> "Layer":
        from seqloom.nn.mixer import MixerBlock
        from seqloom.nn.stack import Stack

        sizes = (input_size, self.max_length, self.token_hidden, self.hidden)
        activation, norm, dropout = self.activation, self.norm, self.dropout
        blocks = (MixerBlock(*sizes, activation=activation, norm=norm, dropout=dropout) for _ in range(self.depth))
        return Stack(list(blocks))


FAMILY = Mixer
