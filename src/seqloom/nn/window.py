"""Layers over a window of the last inputs, which are their state from call to call."""

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.nn.dense import DenseOverFeatures
from seqloom.nn.layer import Layer, Lengths, Output, Shapes, Traits, Vectors
from seqloom.nn.stack import DenseStack, Stack
from seqloom.nn.state import State
from seqloom.nn.validation import check_count


def prepend_recent(
    x: Vectors, lengths: Lengths, recent: Float[Tensor, "batch reach dim"]
) -> tuple[Float[Tensor, "batch reach+time dim"], Float[Tensor, "batch reach dim"]]:
    """Prepend the recent inputs to x; return that, and the recent inputs for the next call.

        extended = [recent; x]
        recent' = the last `reach` steps of extended, up to the end of each row

    The first `recent` is zeros. A row of length 0 keeps its recent inputs, and x may be shorter than `reach`.

    >>> x = torch.tensor([[[1.0], [2.0]], [[3.0], [0.0]]])
    >>> extended, recent = prepend_recent(x, torch.tensor([2, 1]), recent=torch.zeros(2, 3, 1))
    >>> extended[0].flatten().tolist()
    [0.0, 0.0, 0.0, 1.0, 2.0]
    >>> recent.squeeze(2).tolist()
    [[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]]
    """
    reach, time = recent.shape[1], x.shape[1]
    extended = torch.cat([recent.to(x.dtype), x], dim=1)
    if lengths is None:
        return extended, extended[:, time:].clone()  # a view would keep all of x in memory as long as the state
    # The last step of a row is at reach + length − 1 of `extended`, so its last `reach` steps begin at its length.
    steps = lengths.unsqueeze(1) + torch.arange(reach, device=x.device)
    return extended, extended.gather(1, steps.unsqueeze(2).expand(-1, -1, x.shape[2]))


class Window(Layer):
    """z_t = [x_{t−n+1}; …; x_t], with zeros before the start; n is `width`.

    Takes sequences of any length; causal; carries the last n − 1 inputs.

    >>> y, state = Window(1, width=3)(torch.tensor([[[1.0], [2.0], [3.0], [4.0]]]))
    >>> y[0].tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    >>> state["recent"].flatten().tolist()
    [3.0, 4.0]
    """

    traits = Traits(causal=True)

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        check_count("Window", "width", width)
        self.input_size, self.output_size = input_size, width * input_size
        self.width = width

    def state_shapes(self) -> Shapes:
        return {"recent": (self.width - 1, self.input_size)}

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        extended, recent = prepend_recent(x, lengths, state["recent"])
        time = x.shape[1]
        return torch.cat([extended[:, k : k + time] for k in range(self.width)], dim=2), State(recent=recent)

    def extra_repr(self) -> str:
        return f"{self.input_size}, width={self.width}"


class FixedWindow(Stack):
    """y_t = φ(H z_t + d), with z_t = [x_{t−n+1}; …; x_t]

    Takes sequences of any length; causal; carries the last n − 1 inputs.

    >>> y, state = FixedWindow(3, 4, width=5)(torch.randn(2, 7, 3))
    >>> y.shape, state["window.recent"].shape
    (torch.Size([2, 7, 4]), torch.Size([2, 4, 3]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, width: int, *, activation: str = "tanh", bias: bool = True
    ) -> None:
        window = Window(input_size, width)
        hidden = DenseOverFeatures(window.output_size, hidden_size, activation=activation, bias=bias)
        super().__init__({"window": window, "hidden": hidden})


class FixedWindowDirect(Stack):
    """y_t = [z_t; φ(H z_t + d)], so that a linear head computes W z_t + U φ(H z_t + d) + b

    Takes sequences of any length; causal; carries the last n − 1 inputs.
    """

    def __init__(
        self, input_size: int, hidden_size: int, width: int, *, activation: str = "tanh", bias: bool = True
    ) -> None:
        window = Window(input_size, width)
        hidden = DenseOverFeatures(window.output_size, hidden_size, activation=activation, bias=bias)
        super().__init__({"window": window, "direct": DenseStack({"hidden": hidden})})
