"""What may not be written next, and what must."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor


@dataclass(frozen=True)
class Constraints:
    """Which tokens can follow what was written.

    never: tokens that are not to be written
    ends: tokens that end a text, not before it has `min_length` others
    no_repeat: no sequence of this many tokens comes twice; 0 allows it
    """

    never: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    min_length: int = 0
    no_repeat: int = 0

    def rule_out(
        self,
        logits: Float[Tensor, "rows vocabulary"],
        steps: int,
        written: Integer[ndarray, "rows steps"] | None,
        forced: Mapping[int, int] | None = None,
    ) -> None:
        """Scores of −∞, in place, for all that can't follow; where a row's token is forced, for all but that one.

        steps: how many tokens each row has written
        written: these tokens; wanted only where none may repeat

        >>> logits = torch.zeros(1, 4)
        >>> Constraints(never=(0,), no_repeat=2).rule_out(logits, 4, np.array([[1, 2, 3, 1]]))
        >>> logits
        tensor([[-inf, 0., -inf, 0.]])
        """
        rows, tokens = (list(forced), list(forced.values())) if forced else ([], [])
        must = logits[rows, tokens] if rows else None
        out = [*self.never, *(self.ends if steps < self.min_length else ())]
        if out:
            logits[:, out] = -math.inf
        if self.no_repeat and written is not None:
            where, which = repeated(written, self.no_repeat)
            logits[torch.from_numpy(where).to(logits.device), torch.from_numpy(which).to(logits.device)] = -math.inf
        if must is not None:
            logits[rows] = -math.inf
            logits[rows, tokens] = must


def repeated(
    written: Integer[ndarray, "rows steps"], count: int
) -> tuple[Integer[ndarray, " found"], Integer[ndarray, " found"]]:
    """Rows, and tokens that would repeat there a sequence of `count` tokens.

    >>> rows, tokens = repeated(np.array([[5, 6, 5], [5, 6, 7]]), 2)
    >>> rows.tolist(), tokens.tolist()
    ([0], [6])
    """
    steps = written.shape[1]
    if steps < count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    sequences = sliding_window_view(written, count, axis=1)
    latest = written[:, None, steps - count + 1 :]
    rows, places = (sequences[:, :, :-1] == latest).all(axis=2).nonzero()
    return rows, sequences[rows, places, -1]
