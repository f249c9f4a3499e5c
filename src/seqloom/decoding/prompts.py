"""What a model reads before it writes: rows of tokens, of unequal length, in one call."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seqloom.nn.models import Writer
from seqloom.nn.state import State
from seqloom.spec.errors import ArgumentError


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


def read(
    model: Writer, tokens: Int[Tensor, "rows time"], state: State, lengths: Int[Tensor, " rows"] | None
) -> tuple[Float[Tensor, "rows vocabulary"], State]:
    """Scores of what follows, to be counted with and changed: in float32 at least, and nobody else's."""
    logits, after = model.next(tokens, state, lengths)
    return logits.to(torch.promote_types(logits.dtype, torch.float32)), after
