"""Text from a language model, one token after another, each drawn from the scores of the next."""

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.decoding.choice import check_finite, drawn
from seqloom.decoding.constraints import Constraints
from seqloom.decoding.prompts import check_prompts, padded, read
from seqloom.kernels.linear import Packing
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

    options: temperature, top_k, top_p, min_p, min_length, no_repeat, and `length`, the most tokens to write. A beam's
        texts are known when it ends, not before: `decode` has them.
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
    check_prompts("write", prompts)
    if options.beam > 1:
        raise ArgumentError("write", "options", f"a beam of {options.beam}", "1; `decode` searches with more")
    if context is not None and context < 1:
        raise ArgumentError("write", "context", str(context), "at least 1", verb="is")
    numbers = range(len(prompts)) if numbers is None else numbers
    if len(numbers) != len(prompts):
        raise ArgumentError("write", "numbers", f"{len(numbers)} of them", f"{len(prompts)}, one a prompt")
    limits = [limit for limit in (context, model.longest) if limit is not None]
    window = min(limits, default=None)
    rows = [
        Row(place, number, prompt.tolist(), window)
        for place, (number, prompt) in enumerate(zip(numbers, prompts, strict=True))
    ]
    constraints = Constraints(tuple(never), tuple(stop), options.min_length, options.no_repeat)
    return steps(model, rows, options, seed, constraints)


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


@dataclass
class Row:
    """A text being written: what its state has read, and what it has yet to read."""

    place: int
    number: int
    unread: list[int]
    window: int | None
    read: int = 0
    written: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.window is not None:
            self.unread = self.unread[-self.window :]
        half = 0 if self.window is None else max(1, self.window // 2)
        self.tail = deque(self.unread, maxlen=half)  # what is read again when the window is full

    def take(self, token: int) -> None:
        """A new token, to be read next."""
        self.unread = [token]
        self.tail.append(token)
        self.written.append(token)

    @property
    def full(self) -> bool:
        """Whether there is no room left to read the next token."""
        return self.window is not None and self.read + len(self.unread) > self.window

    def begin_again(self) -> None:
        """From a fresh state, with the last half of the window."""
        self.unread, self.read = list(self.tail), 0


def steps(
    model: Model, rows: list[Row], options: Decode, seed: int, constraints: Constraints
) -> Iterator[dict[int, int]]:
    """The loop of `write`: read, choose, let go of the rows that end."""
    state: State | None = None
    packing = Packing()
    for step in range(options.length):
        if not rows:
            return
        with packing:
            rows, logits, state = read_on(model, rows, state)
        written = np.array([row.written for row in rows], np.int64) if options.no_repeat else None
        constraints.rule_out(logits, step, written)
        chosen = drawn(logits, options, seed, [row.number for row in rows], step)
        tokens, largest = torch.stack([chosen.to(logits.dtype), logits.amax(dim=1)]).tolist()  # one wait for a device
        check_finite("write", largest)
        # A row that has nothing left to write ends too.
        ended = [token in constraints.ends or best == -math.inf for token, best in zip(tokens, largest, strict=True)]
        if any(ended):
            state = state.remove(torch.tensor(ended, device=logits.device).nonzero().squeeze(1))
        for row, token in zip(rows, tokens, strict=True):
            row.take(int(token))
        rows = [row for row, over in zip(rows, ended, strict=True) if not over]
        if rows:
            yield {row.place: row.unread[0] for row in sorted(rows, key=lambda row: row.place)}


def read_on(model: Model, rows: list[Row], state: State | None) -> tuple[list[Row], Tensor, State]:
    """Rows, in the order of the new state, the scores of what comes next in each, and that state.

    A row whose window is full begins again by itself, while the others go on: when depends on its own text alone.
    """
    if state is None:
        return rows, *unread(model, rows, None)
    full = [place for place, row in enumerate(rows) if row.full]
    if not full:
        return rows, *unread(model, rows, state)
    again, going = [rows[place] for place in full], [row for row in rows if not row.full]
    for row in again:
        row.begin_again()
    logits, fresh = unread(model, again, None)
    if not going:
        return again, logits, fresh
    others, state = unread(model, going, state.remove(torch.tensor(full, device=logits.device)))
    return going + again, torch.cat([others, logits]), State.cat([state, fresh])


@torch.no_grad()
def unread(model: Model, rows: Sequence[Row], state: State | None) -> tuple[Float[Tensor, "rows vocabulary"], State]:
    """Let the model read what each row has yet to read, in one call: the scores of what comes next, and the state."""
    tokens, lengths = padded([row.unread for row in rows], next(model.parameters()).device)
    for row in rows:
        row.read += len(row.unread)
    return read(model, tokens, model.start(tokens) if state is None else state, lengths)
