"""Beam search: at each step keep the most likely partial hypotheses (Lowerre 1976; Sutskever et al. 2014).

    total(y) = Σ_t log p(y_t | source, y_1 … y_{t−1})
    score(y) = total(y) / steps^penalty                             steps includes the end

Each source has a number of beams. A hypothesis that ends keeps its beam, so the search ends when all hypotheses have
ended. One beam is greedy search.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray
from torch import Tensor

BLOCK = 256  # tokens

LogProbs = Float[Tensor, "rows vocabulary"]
Values = Float[ndarray, "rows k"]
Tokens = Integer[ndarray, "rows k"]


@dataclass(eq=False, slots=True)
class PartialHypothesis:
    """One token of a hypothesis in progress, linked to the token before it.

    sample: the number of the sample, which seeds its noise
    rank: its index among the hypotheses of its source, ordered by tokens; breaks ties independently of the batch
    row: its row in the model call that scored it
    tokens_read: the number of tokens in the state that it continues
    candidate: its index in the search tree, if a tree is recorded
    """

    source: int
    sample: int
    parent: "PartialHypothesis | None" = None
    token: int = -1
    log_prob: float = 0.0
    total: float = 0.0
    steps: int = 0
    rank: int = 0
    row: int = -1
    tokens_read: int = 0
    candidate: int | None = None

    def path(self) -> "list[PartialHypothesis]":
        """All steps, from the first token to this one."""
        path, step = [], self
        while step.parent is not None:
            path.append(step)
            step = step.parent
        return path[::-1]

    def tokens(self) -> list[int]:
        return [step.token for step in self.path()]


@dataclass
class Beams:
    """The hypotheses of one source.

    size: the number of beams
    n_best: the number of results
    max_steps: the limit of steps, the end included
    """

    size: int
    n_best: int
    max_steps: int
    penalty: float
    ended: list[PartialHypothesis] = field(default_factory=list)
    cut: list[PartialHypothesis] = field(default_factory=list)

    @property
    def free(self) -> int:
        """The number of beams that have not ended."""
        return self.size - len(self.ended)

    def score(self, hypothesis: PartialHypothesis) -> float:
        return hypothesis.total / math.pow(max(1, hypothesis.steps), self.penalty)

    def is_done(self, live: Sequence[PartialHypothesis]) -> bool:
        """Whether no live hypothesis can become one of the n best.

        No log p is above 0, so a total only falls, and a negative total scores highest when divided by the most steps:
        no continuation scores above total / max_steps^penalty. So stopping here never changes the result.
        """
        if len(self.ended) < self.n_best:
            return not live
        worst = sorted(map(self.score, self.ended), reverse=True)[self.n_best - 1]
        return all(hypothesis.total / math.pow(self.max_steps, self.penalty) <= worst for hypothesis in live)

    def best(self) -> list[PartialHypothesis]:
        """The n best by score, ended ones before cut ones; of equal scores, the one that was added first."""
        ended, cut = (sorted(group, key=self.score, reverse=True) for group in (self.ended, self.cut))
        return [*ended, *cut][: self.n_best]


def top_tokens(log_p: LogProbs, count: int) -> tuple[Values, Tokens]:
    """log p and ids of the `count` most likely tokens of each row, on the host; of equals, the lowest ids."""
    count = min(count, log_p.shape[1])
    more = min(count + 1, log_p.shape[1])  # one more, to detect a tie at the last place
    values, tokens = to_host(*blockwise_topk(log_p, more))
    tied = (values[:, count - 1] == values[:, more - 1]) & (values[:, count - 1] > -np.inf)
    if more > count and tied.any():
        rows = log_p[torch.from_numpy(tied.nonzero()[0]).to(log_p.device)]
        order = rows.argsort(dim=1, descending=True, stable=True)[:, :more]
        values[tied], tokens[tied] = to_host(rows.gather(1, order), order)
    return values[:, :count], tokens[:, :count]


def blockwise_topk(scores: LogProbs, count: int) -> tuple[Float[Tensor, "rows count"], Integer[Tensor, "rows count"]]:
    """`topk`, over only the blocks of the vocabulary with the largest maxima, which contain the best tokens."""
    rows, vocabulary = scores.shape
    full_blocks = vocabulary // BLOCK
    if full_blocks <= 2 * count:
        return scores.topk(count)
    blocks = scores[:, : full_blocks * BLOCK].unflatten(1, (full_blocks, BLOCK))
    best_blocks = blocks.amax(dim=2).topk(count).indices
    offsets = torch.arange(BLOCK, device=scores.device)
    tokens = (best_blocks.unsqueeze(2) * BLOCK + offsets).flatten(1)
    remainder = torch.arange(full_blocks * BLOCK, vocabulary, device=scores.device).expand(rows, -1)
    tokens = torch.cat([tokens, remainder], dim=1)
    values, indices = scores.gather(1, tokens).topk(count)
    return values, tokens.gather(1, indices)


def to_host(values: Float[Tensor, "rows k"], tokens: Integer[Tensor, "rows k"]) -> tuple[Values, Tokens]:
    """Both as arrays, in one transfer, since float32 holds token ids exactly. A log p rounded above 0 becomes 0."""
    both = torch.stack([values, tokens.to(values.dtype)]).cpu().double().numpy()
    return np.minimum(both[0], 0.0), both[1].astype(np.int64)


def rank_extensions(
    live: Sequence[PartialHypothesis],
    values: Values,
    tokens: Tokens,
    free: Integer[ndarray, " sources"],
    pruned: int,
) -> list[tuple[PartialHypothesis, bool]]:
    """For each source the best extensions, as many as it has free beams, and the best `pruned` others.

    An extension is a live hypothesis with one of its tokens added; True if it gets a beam.

    Of equal totals, the first hypothesis and the lowest token win, whatever the other sources of the batch. The result
    is ordered by source, hypothesis and token.
    """
    totals = (np.array([hypothesis.total for hypothesis in live])[:, None] + values).ravel()
    rows = np.repeat(np.arange(len(live)), values.shape[1])
    sources = np.array([hypothesis.source for hypothesis in live])[rows]
    ranks = np.array([hypothesis.rank for hypothesis in live])[rows]
    order = np.lexsort((tokens.ravel(), ranks, -totals, sources))
    ordered_sources = sources[order]
    position = np.arange(len(order)) - np.searchsorted(ordered_sources, ordered_sources)
    reported = (position < free[ordered_sources] + pruned) & (totals[order] > -np.inf)
    kept = np.zeros(len(order), bool)
    kept[order] = position < free[ordered_sources]
    chosen = order[reported]
    chosen = chosen[np.lexsort((tokens.ravel()[chosen], ranks[chosen], sources[chosen]))]
    columns = (rows, tokens.ravel(), values.ravel(), totals, kept)
    extensions = []
    for row, token, log_prob, total, is_kept in zip(*(column[chosen].tolist() for column in columns), strict=True):
        parent = live[row]
        new = PartialHypothesis(parent.source, parent.sample, parent, token, log_prob, total, parent.steps + 1, row=row)
        new.tokens_read = parent.tokens_read
        extensions.append((new, is_kept))
    return extensions
