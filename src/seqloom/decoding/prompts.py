"""What is given: prompts, which a model reads before it writes, and prefixes, with which its texts begin."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

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
