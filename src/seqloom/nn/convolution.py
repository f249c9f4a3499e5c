"""Convolution over time: the same weights at every position, over the inputs near it.

A kernel of K weights, d steps apart, reaches (K − 1) d steps. L layers of K = 2 with dilations 1, 2, 4, …, 2^(L−1) see
2^L steps between them (WaveNet, van den Oord et al. 2016, https://arxiv.org/abs/1609.03499).
"""

from abc import abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.kernels.masks import mask_padding
from seqloom.nn.activations import activation as activation_named
from seqloom.nn.layer import Layer, Shapes, Traits
from seqloom.nn.record import offer, recording
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.validation import check_count
from seqloom.nn.window import with_past


class Convolution(Layer):
    """φ(Σ_k W_k x_{…} + b) over K inputs, d apart; which ones, a subclass says.

    kernel_size: K; dilation: d. `convolution.weight` is [output_size, input_size, K] as in torch, earliest input first.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        kernel_size: int,
        *,
        dilation: int = 1,
        activation: str = "identity",
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_count(type(self).__name__, "kernel_size", kernel_size)
        check_count(type(self).__name__, "dilation", dilation)
        self.input_size, self.output_size = input_size, output_size
        self.reach = (kernel_size - 1) * dilation
        self.convolution = nn.Conv1d(input_size, output_size, kernel_size, dilation=dilation, bias=bias)
        self.activation = activation_named(activation)

    def convolve(self, whole: Float[Tensor, "batch whole dim"]) -> Float[Tensor, "batch time out"]:
        """At every place where the kernel fits: `reach` fewer than there are steps."""
        y: Tensor = self.activation(self.convolution(whole.transpose(1, 2)))
        return y.transpose(1, 2)


class CausalConvolution(Convolution):
    """y_t = φ(Σ_{k=0}^{K−1} W_k x_{t−kd} + b), with zeros before the start

    W_k is `convolution.weight[:, :, K−1−k]`. Takes sequences of any length; causal; carries the last (K − 1) d inputs.

    >>> layer = CausalConvolution(3, 4, kernel_size=2, dilation=4)
    >>> y, state = layer(torch.randn(2, 7, 3))
    >>> y.shape, state["recent"].shape
    (torch.Size([2, 7, 4]), torch.Size([2, 4, 3]))
    """

    @property
    def traits(self) -> Traits:
        return Traits(causal=True)

    def state_shapes(self) -> Shapes:
        return {"recent": (self.reach, self.input_size)}

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        whole, recent = with_past(x, lengths, state["recent"])
        return self.convolve(whole), State(recent=recent)


class CenteredConvolution(Convolution):
    """y_t = φ(Σ_{k=0}^{K−1} W_k x_{t+kd−c} + b), with c = ⌊(K − 1) d / 2⌋ and zeros outside a row

    W_k is `convolution.weight[:, :, k]`; torch calls it `padding="same"`. Takes sequences of any length, whole: it
    looks ahead, so it can't step.

    >>> CenteredConvolution(3, 4, kernel_size=5)(torch.randn(2, 7, 3))[0].shape
    torch.Size([2, 7, 4])
    """

    needs_zeros = True

    @property
    def traits(self) -> Traits:
        return Traits(causal=False)

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        before = self.reach // 2
        return self.convolve(F.pad(x, (0, 0, before, self.reach - before))), State()


class GatedUnit(Layer):
    """y = f(a) ⊙ σ(g), where x = [a; g]: half of the features say what passes, the other half how much.

    Takes sequences of any length, each step by itself, so it can follow any layer.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size, self.output_size = 2 * size, size

    @property
    def traits(self) -> Traits:
        return Traits(causal=True)

    @abstractmethod
    def candidate(self, a: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        """f"""

    def mix(
        self, x: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None, state: State
    ) -> tuple[Float[Tensor, "batch time out"], State]:
        a, g = x.chunk(2, dim=2)
        candidate, gate = self.candidate(a), torch.sigmoid(g)
        if recording("gates"):
            offer("gates", time=1, gate=mask_padding(gate, lengths), candidate=mask_padding(candidate, lengths))
        return candidate * gate, State()


class GatedLinearUnit(GatedUnit):
    """y = a ⊙ σ(g)   (Dauphin et al. 2017, https://arxiv.org/abs/1612.08083)

    The gradient has a path through a that no activation flattens.

    >>> GatedLinearUnit(4)(torch.randn(2, 5, 8))[0].shape
    torch.Size([2, 5, 4])
    """

    def candidate(self, a: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        return a


class GatedTanhUnit(GatedUnit):
    """y = tanh(a) ⊙ σ(g)   (van den Oord et al. 2016, WaveNet)

    >>> GatedTanhUnit(4)(torch.randn(2, 5, 8))[0].shape
    torch.Size([2, 5, 4])
    """

    def candidate(self, a: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        return torch.tanh(a)


class GatedLinearConvolution(Stack):
    """y = A ⊙ σ(G), where [A; G] is a causal convolution of x (Dauphin et al. 2017)

    Takes sequences of any length; causal; carries the last (K − 1) d inputs.

    >>> y, state = GatedLinearConvolution(3, 4, kernel_size=2, dilation=2)(torch.randn(2, 7, 3))
    >>> y.shape, state["convolution.recent"].shape
    (torch.Size([2, 7, 4]), torch.Size([2, 2, 3]))
    """

    def __init__(
        self, input_size: int, output_size: int, kernel_size: int, *, dilation: int = 1, bias: bool = True
    ) -> None:
        convolution = CausalConvolution(input_size, 2 * output_size, kernel_size, dilation=dilation, bias=bias)
        super().__init__({"convolution": convolution, "unit": GatedLinearUnit(output_size)})


class GatedTanhConvolution(Stack):
    """y = tanh(A) ⊙ σ(G), where [A; G] is a causal convolution of x (van den Oord et al. 2016, WaveNet)

    Takes sequences of any length; causal; carries the last (K − 1) d inputs.

    >>> GatedTanhConvolution(3, 4, kernel_size=2)(torch.randn(2, 7, 3))[0].shape
    torch.Size([2, 7, 4])
    """

    def __init__(
        self, input_size: int, output_size: int, kernel_size: int, *, dilation: int = 1, bias: bool = True
    ) -> None:
        convolution = CausalConvolution(input_size, 2 * output_size, kernel_size, dilation=dilation, bias=bias)
        super().__init__({"convolution": convolution, "unit": GatedTanhUnit(output_size)})
