"""The loop of all decoding: greedy search, sampling and beam search, of any model that writes."""

import math
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, Integer, Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.core.config.decode import DecodeSection
from seqloom.decoding.beam import Branch, Places, Ranked, likeliest, on_host, ranked
from seqloom.decoding.constraints import Constraints
from seqloom.decoding.hypothesis import Candidate, Fate, Hypothesis, Tree
from seqloom.decoding.sampling import check_finite, drawn
from seqloom.decoding.stepper import Reader, aligned, check_prefixes
from seqloom.kernels.linear import PackedWeights


class Search:
    """The texts of all sources, from one step to the next.

    With options.temperature above 0 each source has options.wanted samples; else options.beam places.

    limits: the most steps of each source, the end among them
    prefixes: for each source, tokens that its texts begin with
    numbers: of the first sample of each source, the others following
    trees: what was kept and pruned, by source; None if nobody wants it
    """

    trees: list[Tree] | None = None

    def __init__(
        self,
        reader: Reader,
        options: DecodeSection,
        *,
        end: int | None,
        seed: int,
        limits: Sequence[int],
        prefixes: Sequence[Sequence[int]],
        numbers: Sequence[int],
        never: Collection[int],
    ) -> None:
        self.reader, self.options, self.end, self.seed = reader, options, end, seed
        self.prefixes, self.numbers = prefixes, numbers
        ends = () if end is None else (end,)
        self.constraints = Constraints(tuple(never), ends, options.min_length, options.no_repeat_ngram)
        self.samples = options.wanted if options.temperature > 0 else 1
        many = options.wanted if options.temperature > 0 else options.beam_size
        self.places = [Places(many, options.wanted, limit, options.length_penalty) for limit in limits]

    def steps(
        self, source: Shaped[Tensor, "batch *rest"] | None, lengths: Int[Tensor, " batch"] | None
    ) -> Iterator[list[Branch]]:
        """Read the source and the prompts, then write: after each step, the texts that have one token more.

        Those that end at a step are not among them.
        """
        packing = PackedWeights.current()
        live = [
            Branch(row, first + sample, place=sample, row=row * self.samples + sample)
            for row, first in enumerate(self.numbers)
            for sample in range(self.samples)
        ]
        with torch.no_grad(), packing:
            logits = self.reader.begin(source, lengths, live)
        check_prefixes(self.prefixes, [places.limit for places in self.places], logits.shape[1], self.end)
        while True:
            with torch.no_grad():
                grown, following = self.grow(live, logits)
            yield grown
            if not following:
                return
            with torch.no_grad(), packing:
                live, logits = self.reader.go_on(live, following)

    def grow(
        self, live: Sequence[Branch], logits: Float[Tensor, "rows vocabulary"]
    ) -> tuple[list[Branch], list[Branch]]:
        """One token more: the texts that have one, and of these those that go on. The others have ended, were cut, or
        had no place."""
        step = live[0].steps
        values, tokens = self.candidates(live, logits, step)
        check_finite("decode", values[:, 0].tolist())
        for row in (values[:, 0] == -np.inf).nonzero()[0]:  # nothing is left to write
            self.places[live[row].source].cut.append(live[row])
        rooms = np.array([places.room for places in self.places])
        beside = 0 if self.trees is None else self.places[0].places
        going: dict[int, list[Branch]] = {}
        for each in ranked(live, values, tokens, rooms, beside):
            child = self.child(live[each.row], each)
            if each.kept and child.token == self.end:
                self.places[child.source].ended.append(child)
            elif each.kept:
                going.setdefault(child.source, []).append(child)
        following: list[Branch] = []
        for source, texts in going.items():
            for place, text in enumerate(texts):
                text.place = place
            if step + 1 == self.places[source].limit:
                self.places[source].cut += texts
            elif not self.places[source].decided(texts):
                following += settled(texts, len(following))
        return [text for texts in going.values() for text in texts], following

    def candidates(
        self, live: Sequence[Branch], logits: Float[Tensor, "rows vocabulary"], step: int
    ) -> tuple[Float[ndarray, "rows found"], Integer[ndarray, "rows found"]]:
        """log p and tokens of what may come after each text, the likeliest first; of a sample, what was drawn."""
        log_p = logits.log_softmax(dim=1)  # before anything is ruled out: it is the model's own
        written = np.array([branch.tokens() for branch in live], np.int64) if self.options.no_repeat_ngram else None
        forced = {
            row: self.prefixes[branch.source][step]
            for row, branch in enumerate(live)
            if step < len(self.prefixes[branch.source])
        }
        self.constraints.rule_out(log_p, step, written, forced)
        if self.options.temperature == 0:
            return likeliest(log_p, self.options.beam_size * (1 if self.trees is None else 2))
        chosen = drawn(log_p, self.options, self.seed, [branch.number for branch in live], step).unsqueeze(1)
        wrong = log_p.amax(dim=1, keepdim=True).isnan()  # whatever was drawn
        return on_host(log_p.gather(1, chosen).masked_fill(wrong, math.nan), chosen)

    def child(self, parent: Branch, ranked: Ranked) -> Branch:
        """A text with one token more, and its place in the tree."""
        child = Branch(
            parent.source,
            parent.number,
            parent=parent,
            token=ranked.token,
            log_prob=ranked.log_prob,
            total=ranked.total,
            steps=parent.steps + 1,
            row=ranked.row,
            read=parent.read,
        )
        if self.trees is not None:
            fate: Fate = "pruned" if not ranked.kept else "ended" if ranked.token == self.end else "kept"
            tree = self.trees[parent.source].candidates
            child.candidate = len(tree)
            tree.append(Candidate(parent.steps, parent.candidate, ranked.token, ranked.log_prob, ranked.total, fate))
        return child

    def hypothesis(self, branch: Branch, length: int | None) -> Hypothesis:
        """A text that was found, about a source of this length."""
        path, looked = branch.path(), self.reader.looked
        ended = branch.token == self.end
        return Hypothesis(
            [each.token for each in path[: len(path) - ended]],
            [each.log_prob for each in path],
            ended,
            self.places[branch.source].score(branch),
            None if looked is None else aligned(path, looked, length),
        )


def settled(texts: Sequence[Branch], first: int) -> list[Branch]:
    """The texts of one source, as many as there were in the rows from `first` on, in an order in which those that can
    stay in the row of the text they go on from: then little of the state is copied."""
    free: dict[int, Branch | None] = dict.fromkeys(range(first, first + len(texts)))
    others = []
    for text in texts:
        if text.row in free and free[text.row] is None:
            free[text.row] = text
        else:
            others.append(text)
    rest = iter(others)
    return [text if text is not None else next(rest) for text in free.values()]
