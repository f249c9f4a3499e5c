"""Stacked recurrent layers with residual and dense connections."""

import numpy as np
from torch import nn

from tests.nn.references import Array, by_row
from tests.nn.references import recurrent as cells


def row_of(layer: nn.Module, x: Array) -> Array:
    return ARRANGEMENTS.get(type(layer).__name__, cells.row_of)(layer, x)


def stack(layer: nn.Module, x: Array) -> Array:
    for above in layer.layers.values():
        x = row_of(above, x)
    return x


def dense(layer: nn.Module, x: Array) -> Array:
    """x_k = [x; y_1; …; y_{k−1}]"""
    for above in layer.layers.values():
        x = np.concatenate([x, row_of(above, x)], axis=1)
    return x


def residual(layer: nn.Module, x: Array) -> Array:
    return x + row_of(layer.layers["layer"], x)


ARRANGEMENTS = {"Stack": stack, "DenseStack": dense, "Residual": residual}

deep = by_row(row_of)
