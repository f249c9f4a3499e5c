"""Tensors, arrays and lists, as the arrays that counts are made from."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from seqloom.spec.errors import ArgumentError

Values = Tensor | NDArray[Any] | Sequence[Any]


def array(values: Values) -> NDArray[Any]:
    """The values where numpy can count them; real ones in float64, which takes in every other precision."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        return (values.double() if values.is_floating_point() else values).numpy()
    return np.asarray(values)


def check_alike(where: str, argument: str, values: NDArray[Any], other: NDArray[Any]) -> None:
    """Two arrays of one shape."""
    if values.shape != other.shape:
        raise ArgumentError(where, argument, f"shape {list(values.shape)}", f"{list(other.shape)}, one for each item")
