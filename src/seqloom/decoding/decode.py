"""From a model's scores of the next token to texts: greedy, sampling and beam search, one loop for all models."""

import math
from collections.abc import Collection, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, Integer, Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.decoding.beam import Branch, Places, Ranked, likeliest, on_host, ranked
from seqloom.decoding.choice import check_finite, drawn
from seqloom.decoding.constraints import Constraints
from seqloom.decoding.hypothesis import Hypothesis
from seqloom.decoding.looking import Looks, aligned, last_looks
from seqloom.decoding.prompts import check_prompts, padded, read
from seqloom.decoding.tree import Candidate, Fate, Tree
from seqloom.kernels.linear import Packing
from seqloom.nn.models import Writer
from seqloom.nn.record import record
from seqloom.nn.state import State
from seqloom.spec.config.decode import Decode
from seqloom.spec.errors import ArgumentError


@torch.no_grad()
def decode(
    model: Writer,
    source: Shaped[Tensor, "batch *rest"] | None,
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    prompts: Sequence[Sequence[int]],
    end: int | None,
    options: Decode,
    seed: int = 0,
    prefixes: Sequence[Sequence[int]] | None = None,
    never: Collection[int] = (),
    numbers: Sequence[int] | None = None,
    attention: bool = False,
    trees: list[Tree] | None = None,
) -> list[list[Hypothesis]]:
    """What a model writes about each source, the best first, options.n_best of them.

    With options.temperature above 0, samples; else the likeliest that a beam finds, which is greedy search with a beam
    of 1. A text has at most options.length steps, the end among them, and no more than the model can read.

    source, lengths: as the model's `start` takes them; None for a language model
    prompts: what the model reads first, a row for each source: the token that begins a text, or a text to continue
    end: the token that ends a text; None if only the length does
    seed: with a sample's number, all that its draws depend on: batch-mates change nothing
    prefixes: for each source, tokens that its texts begin with; they are scored, and part of the tokens
    never: tokens that are not to be written
    numbers: of the first sample of each source, the others following; 0 unless said
    attention: hypotheses know where they looked
    trees: a list that gains for each source all that was kept and pruned

    The source and the prompts are read once, in one call; after that a step reads one token of each text that goes on.
    The model should be in eval mode.

    >>> from seqloom.nn import GRU, Model, PerPosition, Recurrent, Tokens
    >>> model = Model(Tokens(10, 4), Recurrent(GRU(4, 8)), PerPosition(8, 10)).eval()
    >>> options = Decode(temperature=0, beam=3, n_best=2, length=5)
    >>> first, second = decode(model, None, prompts=[[1, 2, 3]], end=9, options=options)[0]
    >>> first.score >= second.score
    True
    """
    numbers = [0] * len(prompts) if numbers is None else numbers
    prefixes = [()] * len(prompts) if prefixes is None else prefixes
    check(prompts, prefixes, numbers, options)
    if not prompts:
        return []
    search = Search(options, end, seed, never, prefixes, [limit(model, prompt, options) for prompt in prompts])
    search.looked = [] if attention else None
    search.trees = None if trees is None else [Tree() for _ in prompts]
    with Packing():
        search.run(model, source, lengths, prompts, numbers)
    if trees is not None and search.trees is not None:
        trees.extend(search.trees)
    real = [None] * len(prompts) if lengths is None else lengths.tolist()
    return [
        [search.hypothesis(branch, length) for branch in places.best()]
        for places, length in zip(search.places, real, strict=True)
    ]


class Search:
    """The texts of all sources, from one step to the next.

    looked: the weights over the memory, step by step; None if nobody wants them
    trees: what was kept and pruned, by source; None if nobody wants it
    """

    looked: list[Looks] | None = None
    trees: list[Tree] | None = None

    def __init__(
        self,
        options: Decode,
        end: int | None,
        seed: int,
        never: Collection[int],
        prefixes: Sequence[Sequence[int]],
        limits: Sequence[int],
    ) -> None:
        self.options, self.end, self.seed, self.prefixes = options, end, seed, prefixes
        ends = () if end is None else (end,)
        self.constraints = Constraints(tuple(never), ends, options.min_length, options.no_repeat)
        many = options.n_best if options.temperature > 0 else options.beam
        self.places = [Places(many, options.n_best, limit, options.length_penalty) for limit in limits]

    def run(
        self,
        model: Writer,
        source: Shaped[Tensor, "batch *rest"] | None,
        lengths: Int[Tensor, " batch"] | None,
        prompts: Sequence[Sequence[int]],
        numbers: Sequence[int],
    ) -> None:
        """Read the source and the prompts, then a token of each text after another, until none goes on."""
        tokens, uneven = padded(prompts, next(model.parameters()).device)
        state = model.start(tokens if source is None else source, lengths)
        logits, state = self.read(model, tokens, state, uneven)
        samples = self.options.n_best if self.options.temperature > 0 else 1
        live = [Branch(row, first + sample, row=row) for row, first in enumerate(numbers) for sample in range(samples)]
        if samples > 1:
            rows = torch.tensor([branch.row for branch in live], device=logits.device)
            logits, state = logits[rows], state.select(rows)
            self.looked = self.looked and [{place: weights[rows] for place, weights in self.looked[0].items()}]
        while following := self.grow(live, logits):
            state = moved(state, live, following, logits.device)
            tokens = torch.tensor([[branch.token] for branch in following], device=logits.device)
            logits, state = self.read(model, tokens, state, None)
            live = following

    def read(
        self, model: Writer, tokens: Int[Tensor, "rows time"], state: State, lengths: Int[Tensor, " rows"] | None
    ) -> tuple[Float[Tensor, "rows vocabulary"], State]:
        """The scores of what follows; where the model looked is kept, if anybody wants it."""
        if self.looked is None:
            return read(model, tokens, state, lengths)
        with record("attention") as seen:
            answer = read(model, tokens, state, lengths)
        self.looked.append(last_looks(seen, lengths))
        return answer

    def grow(self, live: Sequence[Branch], logits: Float[Tensor, "rows vocabulary"]) -> list[Branch]:
        """One token more: the texts that go on. The others have ended, were cut, or had no place."""
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
            if step + 1 == self.places[source].limit:
                self.places[source].cut += texts
            elif not self.places[source].decided(texts):
                following += settled(texts, len(following))
        return following

    def candidates(
        self, live: Sequence[Branch], logits: Float[Tensor, "rows vocabulary"], step: int
    ) -> tuple[Float[ndarray, "rows found"], Integer[ndarray, "rows found"]]:
        """log p and tokens of what may come after each text, the likeliest first; of a sample, what was drawn."""
        log_p = logits.log_softmax(dim=1)  # before anything is ruled out: it is the model's own
        written = np.array([branch.tokens() for branch in live], np.int64) if self.options.no_repeat else None
        forced = {
            row: self.prefixes[branch.source][step]
            for row, branch in enumerate(live)
            if step < len(self.prefixes[branch.source])
        }
        self.constraints.rule_out(log_p, step, written, forced)
        if self.options.temperature == 0:
            return likeliest(log_p, self.options.beam * (1 if self.trees is None else 2))
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
        )
        if self.trees is not None:
            fate: Fate = "pruned" if not ranked.kept else "ended" if ranked.token == self.end else "kept"
            tree = self.trees[parent.source].candidates
            child.candidate = len(tree)
            tree.append(Candidate(parent.steps, parent.candidate, ranked.token, ranked.log_prob, ranked.total, fate))
        return child

    def hypothesis(self, branch: Branch, length: int | None) -> Hypothesis:
        """A text that was found, about a source of this length."""
        path = branch.path()
        ended = branch.token == self.end
        return Hypothesis(
            [each.token for each in path[: len(path) - ended]],
            [each.log_prob for each in path],
            ended,
            self.places[branch.source].score(branch),
            None if self.looked is None else aligned(path, self.looked, length),
        )


def moved(state: State, live: Sequence[Branch], following: Sequence[Branch], device: torch.device) -> State:
    """The state of the texts that go on, from that of those they go on from; nothing is copied that can stay."""
    rows = [branch.row for branch in following]
    same = [branch.source for branch in live] == [branch.source for branch in following]
    return state.reorder(rows) if same else state.select(torch.tensor(rows, device=device))


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


def limit(model: Writer, prompt: Sequence[int], options: Decode) -> int:
    """The most steps after a prompt: the last token written is not read."""
    return options.length if model.longest is None else min(options.length, model.longest - len(prompt) + 1)


def check(
    prompts: Sequence[Sequence[int]], prefixes: Sequence[Sequence[int]], numbers: Sequence[int], options: Decode
) -> None:
    """Arguments that fit each other."""
    check_prompts("decode", prompts)
    for name, came in (("prefixes", prefixes), ("numbers", numbers)):
        if len(came) != len(prompts):
            raise ArgumentError("decode", name, f"{len(came)} of them", f"{len(prompts)}, one a prompt")
    if options.beam > 1 and options.temperature > 0:
        both = f"a beam of {options.beam} and a temperature of {options.temperature:g}"
        raise ArgumentError("decode", "options", both, "temperature 0, since a beam looks for the likeliest; or beam 1")
    if options.temperature == 0 and options.n_best > options.beam:
        both = f"n_best {options.n_best} and a beam of {options.beam}"
        raise ArgumentError("decode", "options", both, f"n_best up to the beam: raise the beam to {options.n_best}")
