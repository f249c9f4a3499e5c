"""The fixed-window model: each position sees itself and the few before it (Bengio et al. 2003).

https://www.jmlr.org/papers/v3/bengio03a.html. The paper's logits are

    b + W z_t + U tanh(d + H z_t),    z_t = [x_{t−n+1}; …; x_t]

in three parts: `Window` is z, `FixedWindow` is tanh(d + H z), and the rest is a head's linear layer. The direct
connections W z need neither an option nor weights of their own: `FixedWindowDirect` puts z beside the hidden layer, and
the head's one matrix over both is [W U].

(The paper puts the nearest word first in z; here time runs forwards. Its n also counts the word to be predicted.)
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqloom.nn.checks import check_count
from seqloom.nn.dense import DenseOverFeatures
from seqloom.nn.layer import Layer, Shapes, Traits
from seqloom.nn.past import with_past
from seqloom.nn.stack import DenseStack, Stack
from seqloom.nn.state import State


class Window(Layer):
    """z_t = [x_{t−n+1}; …; x_t], with zeros before the start; n is `width`.

    Takes sequences of any length; causal; carries the last n − 1 inputs.

    >>> y, state = Window(1, width=3)(torch.tensor([[[1.0], [2.0], [3.0], [4.0]]]))
    >>> y[0].tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    >>> state["recent"].flatten().tolist()
    [3.0, 4.0]
    """

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        check_count("Window", "width", width)
        self.input_size, self.output_size = input_size, width * input_size
        self.width = width

    @property
    def traits(self) -> Traits:
        return Traits(causal=True)

    def state_shapes(self) -> Shapes:
        return {"recent": (self.width - 1, self.input_size)}

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        whole, recent = with_past(x, lengths, state["recent"])
        time = x.shape[1]
        return torch.cat([whole[:, k : k + time] for k in range(self.width)], dim=2), State(recent=recent)

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

    >>> FixedWindowDirect(3, 4, width=5)(torch.randn(2, 7, 3))[0].shape
    torch.Size([2, 7, 19])
    """

    def __init__(
        self, input_size: int, hidden_size: int, width: int, *, activation: str = "tanh", bias: bool = True
    ) -> None:
        window = Window(input_size, width)
        hidden = DenseOverFeatures(window.output_size, hidden_size, activation=activation, bias=bias)
        super().__init__({"window": window, "direct": DenseStack({"hidden": hidden})})
