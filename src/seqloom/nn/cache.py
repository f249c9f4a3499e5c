"""Storage that grows with a sequence: keys and values of the steps so far, each row at its own position."""

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.nn.state import State, pad_to


def extend(
    stored: Float[Tensor, "batch heads capacity dim"], new: Float[Tensor, "batch heads time dim"], state: State
) -> Float[Tensor, "batch heads larger dim"]:
    """The storage with new steps at each row's position. Capacity doubles when full, so that a step costs a step.

    Without gradients it is written in place: the state that came in is used up. What a row's padding writes lies past
    its position, where nothing looks, until its next steps take that place.
    """
    (rows, heads, capacity, dim), time = stored.shape, new.shape[2]
    needed = state.horizon + time
    if capacity == 0 or state.position is None:  # nothing stored and nothing reserved
        return new
    if needed > capacity:
        stored = pad_to(stored, [rows, heads, max(needed, 2 * capacity), dim])
    grad = torch.is_grad_enabled() or stored.requires_grad
    if state.level and not grad:
        state.use_up()
        stored[:, :, state.horizon : needed] = new
        return stored
    row = torch.arange(rows, device=new.device).unsqueeze(1)
    slot = state.position.unsqueeze(1) + torch.arange(time, device=new.device)
    new = new.to(stored.dtype).transpose(1, 2)
    if grad:  # a backward pass may still want what is stored
        return stored.transpose(1, 2).index_put((row, slot), new).transpose(1, 2)
    state.use_up()
    stored.transpose(1, 2).index_put_((row, slot), new)
    return stored
