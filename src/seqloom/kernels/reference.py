"""A plain loop over the cell's own step: the slowest backend, and the judge of all others."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.kernels.lengths import readable
from seqloom.kernels.recurrence import Carried, Recurrence


class Reference:
    """y_t, state_t = step(project(x)_t, state_{t-1}), one step after another."""

    name = "reference"

    def refuses(self, recurrence: Recurrence[Carried]) -> str | None:
        return None

    def run(self, recurrence: Recurrence[Carried]) -> tuple[Float[Tensor, "batch time hidden"], dict[str, Tensor]]:
        state = recurrence.initial
        shortest = _shortest(recurrence.lengths)
        outputs = []
        for t, projected in enumerate(recurrence.project(recurrence.x).unbind(1)):
            y, after = recurrence.step(projected, state)
            if recurrence.lengths is not None and t >= shortest:
                after = after.where(t < recurrence.lengths, state)
            state = after
            outputs.append(y)
        return torch.stack(outputs, dim=1), dict(state)


def _shortest(lengths: Int[Tensor, " batch"] | None) -> int:
    """Up to here no row has ended; 0 where looking would wait for a device."""
    if lengths is None or not len(lengths) or not readable(lengths):
        return 0
    return int(lengths.min())
