"""Storage that grows with a sequence: keys and values of the steps so far, each row at its own position."""

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.nn.state import State, pad_to


def extend(
    stored: Float[Tensor, "batch capacity heads dim"], new: Float[Tensor, "batch time heads dim"], state: State
) -> Float[Tensor, "batch larger heads dim"]:
    """The storage with new steps at each row's position. Capacity doubles when full, so that a step costs a step.

    Without gradients it is written in place: the state that came in is used up. What a row's padding writes lies past
    its position, where nothing looks, until its next steps take that place.
    """
    time, needed = new.shape[1], state.horizon + new.shape[1]
    if stored.shape[1] == 0 or state.position is None:  # nothing stored and nothing reserved
        return new
    if needed > stored.shape[1]:
        stored = pad_to(stored, [stored.shape[0], max(needed, 2 * stored.shape[1]), *stored.shape[2:]])
    rows = torch.arange(new.shape[0], device=new.device).unsqueeze(1)
    slots = state.position.unsqueeze(1) + torch.arange(time, device=new.device)
    if torch.is_grad_enabled() or stored.requires_grad:  # a backward pass may still want what is stored
        return stored.index_put((rows, slots), new.to(stored.dtype))
    state.use_up()
    return stored.index_put_((rows, slots), new.to(stored.dtype))
