"""Text from a language model, one token after another, each drawn from the scores of the next."""

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seqloom.nn.layer import Layer, Traits
from seqloom.nn.models import Model
from seqloom.nn.state import State
from seqloom.spec.config.decode import Decode
from seqloom.spec.errors import ArgumentError


def write(
    model: Model,
    prompts: Sequence[Int[Tensor, "_"]],
    *,
    options: Decode,
    seed: int,
    stop: Collection[int] = (),
    never: Collection[int] = (),
    context: int | None = None,
    numbers: Sequence[int] | None = None,
) -> Iterator[dict[int, int]]:
    """Go on from each prompt; after each step, yield the new token of each row that is still writing, by its place.

    options: temperature, top_k, top_p, and `length`, the most tokens to write
    seed: with a row's number, all that its draws depend on: batch-mates change nothing
    stop: tokens that end a row; they are not part of its text
    never: tokens that are not to be written, such as the one for all that is unknown
    context: the most tokens that the model reads in one go; as many as it can, unless said. A row that has read as many
        begins again from a fresh state with the last half of them, so a text may be longer than what a model can read.
    numbers: of the samples, which tell rows with one prompt apart; their places, 0, 1, ..., unless said

    The prompts are read in one call; after that a step costs a step. The model should be in eval mode.

    >>> from seqloom.nn import GRU, PerPosition, Recurrent, Tokens
    >>> model = Model(Tokens(10, 4), Recurrent(GRU(4, 8)), PerPosition(8, 10)).eval()
    >>> prompts = [torch.tensor([1, 2, 3]), torch.tensor([4])]
    >>> [sorted(step) for step in write(model, prompts, options=Decode(length=2), seed=1)]
    [[0, 1], [0, 1]]
    """
    for place, prompt in enumerate(prompts):
        if not len(prompt):
            expected = "at least one: begin with the token that begins a text"
            raise ArgumentError("write", f"prompts[{place}]", "no tokens", expected)
    if context is not None and context < 1:
        raise ArgumentError("write", "context", str(context), "at least 1", verb="is")
    numbers = range(len(prompts)) if numbers is None else numbers
    if len(numbers) != len(prompts):
        raise ArgumentError("write", "numbers", f"{len(numbers)} of them", f"{len(prompts)}, one a prompt")
    limits = [limit for limit in (context, longest(model)) if limit is not None]
    window = min(limits, default=None)
    rows = [
        Row(place, number, prompt.tolist(), window)
        for place, (number, prompt) in enumerate(zip(numbers, prompts, strict=True))
    ]
    return steps(model, rows, options, seed, frozenset(stop), sorted(never))


def collect(written: Iterable[dict[int, int]], rows: int) -> list[list[int]]:
    """What `write` yields, as one list of tokens a row.

    >>> collect([{0: 7, 1: 8}, {1: 9}], rows=2)
    [[7], [8, 9]]
    """
    texts: list[list[int]] = [[] for _ in range(rows)]
    for step in written:
        for place, token in step.items():
            texts[place].append(token)
    return texts


def choose(
    logits: Float[Tensor, "rows vocabulary"],
    *,
    temperature: float,
    top_k: int | None = None,
    top_p: float | None = None,
    noise: Float[Tensor, " rows"],
) -> Int[Tensor, " rows"]:
    """One token a row: the best at temperature 0, else drawn from

        p = softmax(logits / temperature), over
            the k likeliest tokens (top_k), then, of these made to sum to 1,
            the fewest likeliest whose probabilities reach top_p, one at least (Holtzman et al. 2020)

    noise: from 0 to 1, 1 excluded; a row takes the first token at which the sum of p, in the order of the vocabulary,
        is larger, so that the noise decides and nothing else does

    >>> logits = torch.tensor([[0.5, 0.2, 0.3]]).log()
    >>> [choose(logits, temperature=1, noise=torch.tensor([u])).item() for u in (0.4, 0.6, 0.8)]
    [0, 1, 2]
    >>> choose(logits, temperature=1, top_k=2, noise=torch.tensor([0.6])).item()
    0
    """
    best = logits.amax(dim=1, keepdim=True)
    if not bool(best.isfinite().all()):
        raise ArgumentError("choose", "logits", "no finite largest value", "numbers: are the model's weights finite?")
    if temperature == 0:
        return logits.argmax(dim=1)
    # Sums over a large vocabulary want float64; Apple's devices have none.
    precise = torch.float32 if logits.device.type == "mps" else torch.float64
    scores = (logits - best).to(precise) / temperature
    weights = scores.exp()
    if top_k is not None or top_p is not None:
        weights = weights.masked_fill(~likeliest(logits, weights, top_k, top_p), 0)
    # A parallel sum may be off by a rounding where a weight is 0, and noise · total may round to the total: neither may
    # choose a token that has no weight.
    sums = weights.cumsum(dim=1).masked_fill(weights == 0, 0)
    total = sums.amax(dim=1, keepdim=True)
    drawn = torch.minimum(noise.to(total).unsqueeze(1) * total, torch.nextafter(total, torch.zeros_like(total)))
    return (sums > drawn).int().argmax(dim=1)


def likeliest(
    logits: Float[Tensor, "rows vocabulary"],
    weights: Float[Tensor, "rows vocabulary"],
    top_k: int | None,
    top_p: float | None,
) -> Bool[Tensor, "rows vocabulary"]:
    """The tokens that top_k, then top_p, leave to choose from; of equals, the first in the vocabulary."""
    order = logits.argsort(dim=1, descending=True, stable=True)
    kept = torch.ones_like(order, dtype=torch.bool)
    if top_k is not None:
        kept[:, top_k:] = False
    if top_p is not None:
        ordered = weights.gather(1, order).masked_fill(~kept, 0)
        before = ordered.cumsum(dim=1) - ordered  # the mass of those that are likelier
        kept &= before < top_p * ordered.sum(dim=1, keepdim=True)
        kept[:, 0] = True
    return torch.zeros_like(kept).scatter(1, order, kept)


def uniform(seed: int, numbers: Iterable[int], step: int) -> Float[Tensor, " rows"]:
    """A number from 0 to 1, 1 excluded, for each sample: a function of (seed, its number, step) and of nothing else.

    The Philox counter generator (Salmon et al. 2011) with (seed, number) as its key and the step as its counter.

    >>> float(uniform(seed=1, numbers=[0, 5], step=3)[1]) == float(uniform(seed=1, numbers=[5], step=3))
    True
    """
    counter = np.array([step, 0, 0, 0], np.uint64)
    keys = [np.array([seed % 2**64, number], np.uint64) for number in numbers]
    drawn = [np.random.Generator(np.random.Philox(key=key, counter=counter)).random() for key in keys]
    return torch.tensor(drawn, dtype=torch.float64)


def longest(model: Model) -> int | None:
    """The most tokens that a model can read, None for any number."""
    return Traits.of_all(part for part in (model.stem, model.body) if isinstance(part, Layer)).max_length


@dataclass
class Row:
    """A text being written: what its state has read, and what it has yet to read."""

    place: int
    number: int
    unread: list[int]
    window: int | None
    read: int = 0

    def __post_init__(self) -> None:
        if self.window is not None:
            self.unread = self.unread[-self.window :]
        half = 0 if self.window is None else max(1, self.window // 2)
        self.tail = deque(self.unread, maxlen=half)  # what is read again when the window is full

    def take(self, token: int) -> None:
        """A new token, to be read next."""
        self.unread = [token]
        self.tail.append(token)

    @property
    def full(self) -> bool:
        """Whether there is no room left to read the next token."""
        return self.window is not None and self.read + len(self.unread) > self.window

    def begin_again(self) -> None:
        """From a fresh state, with the last half of the window."""
        self.unread, self.read = list(self.tail), 0


def steps(
    model: Model, rows: list[Row], options: Decode, seed: int, stop: frozenset[int], never: list[int]
) -> Iterator[dict[int, int]]:
    """The loop of `write`: read, choose, let go of the rows that end."""
    state: State | None = None
    for step in range(options.length):
        if not rows:
            return
        rows, logits, state = read_on(model, rows, state)
        logits[:, never] = -math.inf
        noise = uniform(seed, (row.number for row in rows), step)
        tokens = choose(
            logits, temperature=options.temperature, top_k=options.top_k, top_p=options.top_p, noise=noise
        ).tolist()
        ended = [token in stop for token in tokens]
        if any(ended):
            state = state.remove(torch.tensor(ended, device=logits.device).nonzero().squeeze(1))
        for row, token in zip(rows, tokens, strict=True):
            row.take(token)
        rows = [row for row, over in zip(rows, ended, strict=True) if not over]
        if rows:
            yield {row.place: row.unread[0] for row in sorted(rows, key=lambda row: row.place)}


def read_on(model: Model, rows: list[Row], state: State | None) -> tuple[list[Row], Tensor, State]:
    """Rows, in the order of the new state, the scores of what comes next in each, and that state.

    A row whose window is full begins again by itself, while the others go on: when depends on its own text alone.
    """
    if state is None:
        return rows, *read(model, rows, None)
    full = [place for place, row in enumerate(rows) if row.full]
    if not full:
        return rows, *read(model, rows, state)
    again, going = [rows[place] for place in full], [row for row in rows if not row.full]
    for row in again:
        row.begin_again()
    logits, fresh = read(model, again, None)
    if not going:
        return again, logits, fresh
    others, state = read(model, going, state.remove(torch.tensor(full, device=logits.device)))
    return going + again, torch.cat([others, logits]), State.cat([state, fresh])


@torch.no_grad()
def read(model: Model, rows: Sequence[Row], state: State | None) -> tuple[Float[Tensor, "rows vocabulary"], State]:
    """Let the model read what each row has yet to read, in one call: the scores of what comes next, and the state."""
    lengths = torch.tensor([len(row.unread) for row in rows])  # on the CPU, where looking at them is free
    device = next(model.parameters()).device
    tokens = pad_sequence([torch.tensor(row.unread) for row in rows], batch_first=True).to(device)
    uneven = None if bool((lengths == tokens.shape[1]).all()) else lengths
    logits, after = model.step(tokens, model.start(tokens) if state is None else state, uneven)
    for row in rows:
        row.read += len(row.unread)
    return logits[torch.arange(len(rows), device=device), lengths.to(device) - 1], after
