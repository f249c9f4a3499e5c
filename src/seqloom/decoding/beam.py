"""Beam search: at each step the likeliest texts so far, and no others (Lowerre 1976; Sutskever et al. 2014).

    total(text) = Σ_t log p(token_t | source, tokens before it)
    score(text) = total / steps^penalty                             steps counts the end too

A source has a number of places. A text that ends keeps its place, so the search is over when all have ended, and one
place is greedy search.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray
from torch import Tensor

WIDTH = 256  # tokens a block


@dataclass(eq=False, slots=True)
class Branch:
    """A text while it is being written: one token, and what it goes on from.

    place: among the texts of its source, by their tokens: which of two equals is the first, whatever their rows
    row: where it stood in the call that scored it
    read: how many tokens the state has read that it goes on from
    candidate: its number in the tree, where there is one
    """

    source: int
    number: int
    parent: "Branch | None" = None
    token: int = -1
    log_prob: float = 0.0
    total: float = 0.0
    steps: int = 0
    place: int = 0
    row: int = -1
    read: int = 0
    candidate: int | None = None

    def path(self) -> "list[Branch]":
        """This and all before it, from the first token on."""
        found, branch = [], self
        while branch.parent is not None:
            found.append(branch)
            branch = branch.parent
        return found[::-1]

    def tokens(self) -> list[int]:
        """What was written."""
        return [branch.token for branch in self.path()]


@dataclass
class Places:
    """What has come of one source.

    places: how many texts are followed
    n_best: how many are wanted
    limit: the most steps, one of which is the end
    """

    places: int
    n_best: int
    limit: int
    penalty: float
    ended: list[Branch] = field(default_factory=list)
    cut: list[Branch] = field(default_factory=list)

    @property
    def room(self) -> int:
        """How many may go on."""
        return self.places - len(self.ended)

    def score(self, branch: Branch) -> float:
        """log p, normalised by length."""
        return branch.total / math.pow(max(1, branch.steps), self.penalty)

    def decided(self, live: Sequence[Branch]) -> bool:
        """Whether none of those that go on can still be among the best.

        No log p is above 0, so a total only falls, and one below 0 weighs least when it is spread over the most steps:
        whatever becomes of a text, its score is at most total / limit^penalty. So this never changes the result.
        """
        if len(self.ended) < self.n_best:
            return not live
        worst = sorted(map(self.score, self.ended), reverse=True)[self.n_best - 1]
        return all(branch.total / math.pow(self.limit, self.penalty) <= worst for branch in live)

    def best(self) -> list[Branch]:
        """The wanted ones by score; those that were cut come after all that ended. Of equals, the first found."""
        ranked = [sorted(some, key=self.score, reverse=True) for some in (self.ended, self.cut)]
        return [branch for some in ranked for branch in some][: self.n_best]


def likeliest(
    log_p: Float[Tensor, "rows vocabulary"], count: int
) -> tuple[Float[ndarray, "rows found"], Integer[ndarray, "rows found"]]:
    """log p and tokens of the `count` likeliest, on the host, with one wait for the device. Of equals, the first."""
    count = min(count, log_p.shape[1])
    more = min(count + 1, log_p.shape[1])  # one more tells whether the last has an equal that was left out
    values, tokens = on_host(*top(log_p, more))
    tied = (values[:, count - 1] == values[:, more - 1]) & (values[:, count - 1] > -np.inf)
    if more > count and tied.any():
        rows = log_p[torch.from_numpy(tied.nonzero()[0]).to(log_p.device)]
        order = rows.argsort(dim=1, descending=True, stable=True)[:, :more]
        values[tied], tokens[tied] = on_host(rows.gather(1, order), order)
    return values[:, :count], tokens[:, :count]


def top(
    scores: Float[Tensor, "rows vocabulary"], count: int
) -> tuple[Float[Tensor, "rows count"], Integer[Tensor, "rows count"]]:
    """`topk`, by way of the best blocks of the vocabulary: the best `count` stand in those with the largest maxima.

    So each score is looked at once, where `topk` puts them in order.
    """
    rows, vocabulary = scores.shape
    whole = vocabulary // WIDTH
    if whole <= 2 * count:
        return scores.topk(count)
    blocks = scores[:, : whole * WIDTH].unflatten(1, (whole, WIDTH))
    chosen = blocks.amax(dim=2).topk(count).indices
    within = torch.arange(WIDTH, device=scores.device)
    tokens = (chosen.unsqueeze(2) * WIDTH + within).flatten(1)
    rest = torch.arange(whole * WIDTH, vocabulary, device=scores.device).expand(rows, -1)
    tokens = torch.cat([tokens, rest], dim=1)
    values, places = scores.gather(1, tokens).topk(count)
    return values, tokens.gather(1, places)


def on_host(
    values: Float[Tensor, "rows found"], tokens: Integer[Tensor, "rows found"]
) -> tuple[Float[ndarray, "rows found"], Integer[ndarray, "rows found"]]:
    """Both as arrays, in one transfer: a token's number is exact in float32 too. No log p is above 0."""
    both = torch.stack([values, tokens.to(values.dtype)]).cpu().double().numpy()
    return np.minimum(both[0], 0.0), both[1].astype(np.int64)


class Ranked(NamedTuple):
    """One token more after the text in this row, and whether it has a place."""

    row: int
    token: int
    log_prob: float
    total: float
    kept: bool


def ranked(
    live: Sequence[Branch],
    values: Float[ndarray, "rows found"],
    tokens: Integer[ndarray, "rows found"],
    rooms: Integer[ndarray, " sources"],
    beside: int,
) -> list[Ranked]:
    """Of each source as many of the best as there is room for, and the next best that stood `beside` them.

    Of equal totals, that of the first text and the lowest token; which row a text stands in, and so what stands beside
    it, plays no part. They come by source, text and token, not by rank.
    """
    totals = (np.array([branch.total for branch in live])[:, None] + values).ravel()
    rows = np.repeat(np.arange(len(live)), values.shape[1])
    sources = np.array([branch.source for branch in live])[rows]
    places = np.array([branch.place for branch in live])[rows]
    order = np.lexsort((tokens.ravel(), places, -totals, sources))
    by_source = sources[order]
    rank = np.arange(len(order)) - np.searchsorted(by_source, by_source)
    room = rooms[by_source]
    looked_at = (rank < room + beside) & (totals[order] > -np.inf)
    kept = np.zeros(len(order), bool)
    kept[order] = rank < room
    chosen = order[looked_at]
    chosen = chosen[np.lexsort((tokens.ravel()[chosen], places[chosen], sources[chosen]))]
    columns = (rows, tokens.ravel(), values.ravel(), totals, kept)
    return [Ranked(*each) for each in zip(*(column[chosen].tolist() for column in columns), strict=True)]
