"""Tensors, arrays and lists, as the arrays that counts are made from."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.spec.errors import ArgumentError

Values = Tensor | ndarray | Sequence[object]


def array(values: Values) -> Shaped[ndarray, "..."]:
    """The values where numpy can count them; real ones in float64, which takes in every other precision."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        return (values.double() if values.is_floating_point() else values).numpy()
    return np.asarray(values)


def check_alike(where: str, argument: str, values: Shaped[ndarray, "..."], other: Shaped[ndarray, "..."]) -> None:
    """Two arrays of one shape."""
    if values.shape != other.shape:
        raise ArgumentError(where, argument, f"shape {list(values.shape)}", f"{list(other.shape)}, one for each item")
