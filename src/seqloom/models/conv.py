"""Residual convolutions over time: dilated (van den Oord et al. 2016) and gated (Dauphin et al. 2017)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from seqloom.core import names
from seqloom.core.config.section import Values, key
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.models.family import NOT_FOR_CONVOLUTIONS, Family, Use, norm_conflicts

if TYPE_CHECKING:
    from seqloom.nn.layer import Layer


class Convolutional(Family):
    """y_k = y_{k−1} + D(gate(convolution_k(norm(y_{k−1}))))"""

    sizes: ClassVar[Mapping[str, Values]] = {
        "tiny": {"dim": 32, "depth": 2},
        "small": {"dim": 128, "depth": 5},
        "base": {"dim": 512, "depth": 8},
    }

    kernel: int = key(3, "The kernel size: the number of tokens that each layer sees at a position.", ge=1, le=255)
    dilated: bool = key(True, "Whether the dilation doubles with each layer: 1, 2, 4, …, 512, then 1 again.")
    gate: Literal["none", "linear", "tanh"] = key("linear", "The gate on the output of each layer.")
    activation: names.Activation = key("relu", "The activation (gate none).", only_with={"model.gate": ("none",)})
    norm: names.Norm = key("layer", "The normalization before each layer.")
    centered: bool = key(..., "Whether a position also sees later tokens (not in language models).")

    @classmethod
    def defaults(cls, size: str, use: Use) -> Values:
        return {"centered": use is Use.ENCODE, "dropout": 0.1}  # in every residual block

    @classmethod
    def encoder_values(cls, max_length: int) -> Values:
        return {"centered": True}

    def encoder_changes(self) -> Values:
        return {"centered": True}

    def conflicts(self, use: Use) -> Iterator[Problem]:
        if use is not Use.ENCODE:
            if self.centered:
                message = "a centered convolution sees later tokens too, so it can't generate text"
                yield conflict("model.centered", message, f"Leave out {KeyName('model.centered')}")
            yield from norm_conflicts(self.norm)
        if self.init == "identity":
            yield NOT_FOR_CONVOLUTIONS

    @property
    def output_has_input_width(self) -> bool:
        return True

    def build(self, input_size: int, *, causal: bool) -> "Layer":
        from seqloom.nn.convolution import CausalConvolution, CenteredConvolution, GatedLinearUnit, GatedTanhUnit
        from seqloom.nn.residual import PreNorm
        from seqloom.nn.stack import Stack

        kind = CenteredConvolution if self.centered else CausalConvolution
        blocks: list[Layer] = []
        for k in range(self.depth):
            dilation = 2 ** (k % 10) if self.dilated else 1  # at most 512, as in WaveNet
            if self.gate == "none":
                inner: Layer = kind(input_size, input_size, self.kernel, dilation=dilation, activation=self.activation)
            else:
                unit = GatedLinearUnit if self.gate == "linear" else GatedTanhUnit
                inner = Stack([kind(input_size, 2 * input_size, self.kernel, dilation=dilation), unit(input_size)])
            blocks.append(PreNorm(inner, norm=self.norm, dropout=self.dropout))
        return Stack(blocks)


FAMILY = Convolutional
