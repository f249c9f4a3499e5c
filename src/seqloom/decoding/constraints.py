"""Constraints on the next token: excluded tokens, no repeated n-grams, forced tokens."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor


def exclude_tokens(
    logits: Float[Tensor, "rows vocabulary"],
    excluded: Sequence[int],
    generated: Integer[ndarray, "rows steps"] | None = None,
    no_repeat_ngram: int = 0,
    forced: Mapping[int, int] | None = None,
) -> None:
    """Set the logits of excluded tokens to −∞, in place. A row with a forced token keeps only that one.

    generated: the tokens of each row so far, in which no n-gram of length `no_repeat_ngram` may occur twice

    >>> logits = torch.zeros(1, 4)
    >>> exclude_tokens(logits, [0], np.array([[1, 2, 3, 1]]), no_repeat_ngram=2)
    >>> logits
    tensor([[-inf, 0., -inf, 0.]])
    """
    forced_rows, forced_tokens = (list(forced), list(forced.values())) if forced else ([], [])
    forced_scores = logits[forced_rows, forced_tokens] if forced else None
    if excluded:
        logits[:, excluded] = -math.inf
    if generated is not None:
        rows, tokens = repeated_ngrams(generated, no_repeat_ngram)
        logits[torch.from_numpy(rows).to(logits.device), torch.from_numpy(tokens).to(logits.device)] = -math.inf
    if forced_scores is not None:
        logits[forced_rows] = -math.inf
        logits[forced_rows, forced_tokens] = forced_scores


def repeated_ngrams(
    generated: Integer[ndarray, "rows steps"], n: int
) -> tuple[Integer[ndarray, " matches"], Integer[ndarray, " matches"]]:
    """The rows, and for each a token that would complete an n-gram that the row already has.

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
