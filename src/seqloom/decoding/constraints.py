"""Constraints on the next token: banned tokens, a minimum length, no repeated n-grams, forced tokens."""

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
    """The tokens that may come next.

    banned: tokens that are never generated
    end_tokens: tokens that end a hypothesis, banned before it has `min_length` others
    no_repeat_ngram: no n-gram of this length is generated twice; 0 allows repetition
    """

    banned: tuple[int, ...] = ()
    end_tokens: tuple[int, ...] = ()
    min_length: int = 0
    no_repeat_ngram: int = 0

    def apply(
        self,
        logits: Float[Tensor, "rows vocabulary"],
        steps: int,
        generated: Integer[ndarray, "rows steps"] | None,
        forced: Mapping[int, int] | None = None,
    ) -> None:
        """Set the logits of excluded tokens to −∞, in place. A row with a forced token keeps only that one.

        steps: the number of tokens that each row has generated
        generated: these tokens; needed only for `no_repeat_ngram`

        >>> logits = torch.zeros(1, 4)
        >>> Constraints(banned=(0,), no_repeat_ngram=2).apply(logits, 4, np.array([[1, 2, 3, 1]]))
        >>> logits
        tensor([[-inf, 0., -inf, 0.]])
        """
        forced_rows, forced_tokens = (list(forced), list(forced.values())) if forced else ([], [])
        forced_scores = logits[forced_rows, forced_tokens] if forced else None
        excluded = [*self.banned, *(self.end_tokens if steps < self.min_length else ())]
        if excluded:
            logits[:, excluded] = -math.inf
        if self.no_repeat_ngram and generated is not None:
            rows, tokens = repeated_ngrams(generated, self.no_repeat_ngram)
            logits[torch.from_numpy(rows).to(logits.device), torch.from_numpy(tokens).to(logits.device)] = -math.inf
        if forced_scores is not None:
            logits[forced_rows] = -math.inf
            logits[forced_rows, forced_tokens] = forced_scores


def repeated_ngrams(
    generated: Integer[ndarray, "rows steps"], n: int
) -> tuple[Integer[ndarray, " matches"], Integer[ndarray, " matches"]]:
    """The rows and tokens where the token would complete an n-gram that the row already has.

    >>> rows, tokens = repeated_ngrams(np.array([[5, 6, 5], [5, 6, 7]]), 2)
    >>> rows.tolist(), tokens.tolist()
    ([0], [6])
    """
    steps = generated.shape[1]
    if steps < n:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    ngrams = sliding_window_view(generated, n, axis=1)
    suffix = generated[:, None, steps - n + 1 :]
    rows, positions = (ngrams[:, :, :-1] == suffix).all(axis=2).nonzero()
    return rows, ngrams[rows, positions, -1]
