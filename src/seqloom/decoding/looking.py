"""Where a text looked in its source while it was written, whatever way its beam was reordered."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.decoding.beam import Branch
from seqloom.nn.record import Recording, over_memory

Looks = dict[str, Tensor]  # by place, [rows, heads, source]


def last_looks(seen: Recording, lengths: Int[Tensor, " rows"] | None) -> Looks:
    """Of what a call offered, the weights over the memory at each row's last real token, by place; on the host, where
    there is room for those of every step."""
    looks = {}
    for place, values in seen["attention"].items():
        if over_memory(place):
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
