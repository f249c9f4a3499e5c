"""Rows of unequal length as one tensor and their lengths."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int, Shaped
from numpy import ndarray
from torch import Tensor

Rows = Sequence[Shaped[ndarray, " _"]]  # each of its own length


def padded(rows: Rows) -> tuple[Int[Tensor, "batch time"], Int[Tensor, " batch"]]:
    """The rows with zeros after each, at least one step wide, and their lengths.

    >>> tokens, lengths = padded([np.array([3, 1, 2]), np.array([5])])
    >>> tokens.tolist(), lengths.tolist()
    ([[3, 1, 2], [5, 0, 0]], [3, 1])
    """
    lengths = torch.tensor([len(row) for row in rows])
    table = np.zeros((len(rows), max(1, int(lengths.max()))), dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table), lengths
