"""The layer that does nothing, where a part may be left out: no norm, no positions."""

from jaxtyping import Float
from torch import Tensor

from seqloom.nn.layer import Pointwise


class Unchanged(Pointwise):
    """y = x"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size = self.output_size = size

    def each(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        return x
