"""The last few inputs, carried from call to call: what a window and a causal convolution remember."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def with_past(
    x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, recent: Float[Tensor, "batch reach dim"]
) -> tuple[Float[Tensor, "batch reach+time dim"], Float[Tensor, "batch reach dim"]]:
    """The inputs with their past in front, and what is recent after them.

        whole  = [recent; x]
        recent' = the last `reach` steps of whole, up to each row's own end

    Before the start the past is zeros. A row of length 0 keeps what it had, and x may be shorter than `reach`.

    >>> x = torch.tensor([[[1.0], [2.0]], [[3.0], [0.0]]])
    >>> whole, recent = with_past(x, torch.tensor([2, 1]), recent=torch.zeros(2, 3, 1))
    >>> whole[0].flatten().tolist()
    [0.0, 0.0, 0.0, 1.0, 2.0]
    >>> recent.squeeze(2).tolist()
    [[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]]
    """
    reach, time = recent.shape[1], x.shape[1]
    whole = torch.cat([recent.to(x.dtype), x], dim=1)
    if lengths is None:
        return whole, whole[:, time:].clone()  # a view would keep all of x in memory for as long as the state lives
    # A row's last real step stands at reach + length − 1 of whole, so its last `reach` steps begin at its length.
    steps = lengths.unsqueeze(1) + torch.arange(reach, device=x.device)
    return whole, whole.gather(1, steps.unsqueeze(2).expand(-1, -1, x.shape[2]))
