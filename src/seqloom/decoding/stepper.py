"""Where a text looked in its source while it was written, whatever way its beam was reordered."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seqloom.core.problem import ArgumentError
from seqloom.decoding.beam import Branch
from seqloom.nn.model import GenerativeModel
from seqloom.nn.record import Recording, attends_to_memory, record
from seqloom.nn.state import State

Looks = dict[str, Tensor]  # by place, [rows, heads, source]


def last_looks(seen: Recording, lengths: Int[Tensor, " rows"] | None) -> Looks:
    """Of what a call offered, the weights over the memory at each row's last real token, by place; on the host, where
    there is room for those of every step."""
    looks = {}
    for place, values in seen["attention"].items():
        if attends_to_memory(place):
            weights = values["weights"]
            ends = -1 if lengths is None else lengths.to(weights.device) - 1
            looks[place] = weights[torch.arange(weights.shape[0], device=weights.device), :, ends].cpu()
    return looks


def aligned(
    path: Sequence[Branch], looked: Sequence[Looks], length: int | None
) -> dict[str, Float[Tensor, "heads steps source"]]:
    """The weights of the steps that led to one text, over the real part of its source: no reorder needs to move them,
    since each step of a text knows in which row it was scored."""
    if not path:
        return {}
    return {
        place: torch.stack([looked[branch.steps - 1][place][branch.row] for branch in path], dim=1)[:, :, :length]
        for place in looked[0]
    }


def check_prompts(where: str, prompts: Sequence[Sequence[int] | Tensor]) -> None:
    """Each has a token to begin with."""
    for place, prompt in enumerate(prompts):
        if not len(prompt):
            expected = "at least one: begin with the token that begins a text"
            raise ArgumentError(where, f"prompts[{place}]", "no tokens", expected)


def padded(
    rows: Sequence[Sequence[int]], device: torch.device
) -> tuple[Int[Tensor, "rows time"], Int[Tensor, " rows"] | None]:
    """The rows as one tensor, and their lengths, on the CPU where looking at them is free; None if all are equal.

    >>> padded([[1, 2], [3]], torch.device("cpu"))
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    lengths = torch.tensor([len(row) for row in rows])
    tokens = pad_sequence([torch.tensor(row) for row in rows], batch_first=True).to(device)
    return tokens, None if bool((lengths == tokens.shape[1]).all()) else lengths


def check_prefixes(prefixes: Sequence[Sequence[int]], limits: Sequence[int], vocabulary: int, end: int | None) -> None:
    """Each can be written: in so many steps, with tokens that there are, and none after the end."""
    for place, (prefix, limit) in enumerate(zip(prefixes, limits, strict=True)):
        where = f"prefixes[{place}]"
        if len(prefix) > limit:
            raise ArgumentError("decode", where, f"{len(prefix)} tokens", f"at most {limit}, the most steps of a text")
        if any(not 0 <= token < vocabulary for token in prefix):
            wrong = next(token for token in prefix if not 0 <= token < vocabulary)
            raise ArgumentError("decode", where, f"the token {wrong}", f"0 to {vocabulary - 1}")
        if end is not None and end in prefix[:-1]:
            raise ArgumentError("decode", where, f"the end, {end}, before its last token", "nothing after the end")


class Reader:
    """A model, and its state after all that the texts have written.

    window: the most tokens that it reads in one go; None for any number. A text that has filled it begins again from a
        fresh state with the last half of them, so that it may be longer than what the model can read. (That is for
        language models: their state is all in the text.)
    looked: the weights over the memory, call by call; None if nobody wants them
    """

    def __init__(
        self,
        model: GenerativeModel,
        prompts: Sequence[Sequence[int]],
        window: int | None = None,
        *,
        attention: bool = False,
    ) -> None:
        self.model, self.window = model, window
        self.prompts = [list(prompt) if window is None else list(prompt)[-window:] for prompt in prompts]
        self.device = next(model.parameters()).device
        self.looked: list[Looks] | None = [] if attention else None
        self.state = State()

    def begin(
        self,
        source: Shaped[Tensor, "batch *rest"] | None,
        lengths: Int[Tensor, " batch"] | None,
        texts: Sequence[Branch],
    ) -> Float[Tensor, "texts vocabulary"]:
        """The scores of what comes first, for these texts: one of each source, or as many of each."""
        tokens, uneven = padded(self.prompts, self.device)
        state = self.model.start(tokens if source is None else source, lengths)
        logits, self.state = self.read(tokens, state, uneven)
        for text in texts:
            text.read = len(self.prompts[text.source])
        if len(texts) == len(self.prompts):
            return logits
        rows = torch.tensor([text.source for text in texts])
        self.looked = self.looked and [{place: weights[rows] for place, weights in self.looked[0].items()}]
        rows = rows.to(self.device)
        self.state = self.state.select(rows)
        return logits[rows]

    def go_on(
        self, live: Sequence[Branch], following: Sequence[Branch]
    ) -> tuple[list[Branch], Float[Tensor, "texts vocabulary"]]:
        """The texts that go on, in the order of the new state, and the scores of what comes next in each.

        A text whose window is full begins again by itself, while the others go on: when depends on that text alone.
        """
        rows = [text.row for text in following]
        if [text.source for text in live] == [text.source for text in following]:
            state = self.state.reorder(rows)  # nothing is copied that can stay
        else:
            state = self.state.select(torch.tensor(rows, device=self.device))
        full = [self.window is not None and text.read >= self.window for text in following]
        if not any(full):
            logits, self.state = self.newest(following, state)
            return list(following), logits
        again = [text for text, over in zip(following, full, strict=True) if over]
        going = [text for text, over in zip(following, full, strict=True) if not over]
        logits, self.state = self.from_the_middle(again)
        if going:
            left = torch.tensor([place for place, over in enumerate(full) if not over], device=self.device)
            others, state = self.newest(going, state.select(left))
            logits, self.state = torch.cat([others, logits]), State.cat([state, self.state])
        return going + again, logits

    def newest(self, texts: Sequence[Branch], state: State) -> tuple[Float[Tensor, "texts vocabulary"], State]:
        """Read the last token of each."""
        state = state.with_position(
            state.position, max(text.read for text in texts)
        )  # on a GPU it knows no more than a bound
        for text in texts:
            text.read += 1
        return self.read(torch.tensor([[text.token] for text in texts], device=self.device), state, None)

    def from_the_middle(self, texts: Sequence[Branch]) -> tuple[Float[Tensor, "texts vocabulary"], State]:
        """Read the last half of a window of each."""
        half = max(1, (self.window or 0) // 2)
        tails = [[*self.prompts[text.source], *text.tokens()][-half:] for text in texts]
        for text, tail in zip(texts, tails, strict=True):
            text.read = len(tail)
        tokens, uneven = padded(tails, self.device)
        return self.read(tokens, self.model.start(tokens), uneven)

    def read(
        self, tokens: Int[Tensor, "rows time"], state: State, lengths: Int[Tensor, " rows"] | None
    ) -> tuple[Float[Tensor, "rows vocabulary"], State]:
        """The scores of what follows, to be counted with and changed: in float32 at least, and nobody else's."""
        if self.looked is None:
            logits, after = self.model.next_token_logits(tokens, state, lengths)
        else:
            with record("attention") as seen:
                logits, after = self.model.next_token_logits(tokens, state, lengths)
            self.looked.append(last_looks(seen, lengths))
        return logits.to(torch.promote_types(logits.dtype, torch.float32)), after
