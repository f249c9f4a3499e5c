"""Convolution over time: the same weights at every position, over the inputs near it.

A kernel of K weights, d steps apart, spans (K − 1) d steps. L layers of K = 2 with dilations 1, 2, 4, …, 2^(L−1) see
2^L steps together (WaveNet, van den Oord et al. 2016, https://arxiv.org/abs/1609.03499).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.kernels.masks import mask_padding
from seqloom.nn.activations import activation as build_activation
from seqloom.nn.layer import Layer, Lengths, Output, Shapes, Traits, Vectors
from seqloom.nn.record import offer, recording
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.validation import check_count
from seqloom.nn.window import prepend_recent


class Convolution(Layer):
    """φ(Σ_k W_k x_{…} + b) over K inputs, d apart; a subclass says which inputs.

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
        self.activation = build_activation(activation)

    def convolve(self, extended: Float[Tensor, "batch reach+time dim"]) -> Float[Tensor, "batch time out"]:
        """At every position where the kernel fits: `reach` fewer than there are steps."""
        y: Tensor = self.activation(self.convolution(extended.transpose(1, 2)))
        return y.transpose(1, 2)


class CausalConvolution(Convolution):
    """y_t = φ(Σ_{k=0}^{K−1} W_k x_{t−kd} + b), with zeros before the start

    W_k is `convolution.weight[:, :, K−1−k]`. Takes sequences of any length; causal; carries the last (K − 1) d inputs.

    >>> layer = CausalConvolution(3, 4, kernel_size=2, dilation=4)
    >>> y, state = layer(torch.randn(2, 7, 3))
    >>> y.shape, state["recent"].shape
    (torch.Size([2, 7, 4]), torch.Size([2, 4, 3]))
    """

    traits = Traits(causal=True)

    def state_shapes(self) -> Shapes:
        return {"recent": (self.reach, self.input_size)}

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        extended, recent = prepend_recent(x, lengths, state["recent"])
        return self.convolve(extended), State(recent=recent)


class CenteredConvolution(Convolution):
    """y_t = φ(Σ_{k=0}^{K−1} W_k x_{t+kd−c} + b), with c = ⌊(K − 1) d / 2⌋ and zeros outside a row

    W_k is `convolution.weight[:, :, k]`; torch calls it `padding="same"`. Takes sequences of any length, in one
    call: it looks ahead, so it can't step.

    >>> CenteredConvolution(3, 4, kernel_size=5)(torch.randn(2, 7, 3))[0].shape
    torch.Size([2, 7, 4])
    """

    needs_zeros = True
    traits = Traits(causal=False)

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        before = self.reach // 2
        return self.convolve(F.pad(x, (0, 0, before, self.reach - before))), State()


class GatedLinearUnit(Layer):
    """y = a ⊙ σ(g), where x = [a; g]   (Dauphin et al. 2017, https://arxiv.org/abs/1612.08083)

    One half of the features is gated by the other. No activation shrinks the gradient to a. Takes sequences of any
    length, each step by itself, so it can follow any layer.

    >>> GatedLinearUnit(4)(torch.randn(2, 5, 8))[0].shape
    torch.Size([2, 5, 4])
    """

    traits = Traits(causal=True)

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size, self.output_size = 2 * size, size

    def candidate(self, a: Vectors) -> Vectors:
        return a

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        a, g = x.chunk(2, dim=2)
        candidate, gate = self.candidate(a), torch.sigmoid(g)
        if recording("gates"):
            offer("gates", time=1, gate=mask_padding(gate, lengths), candidate=mask_padding(candidate, lengths))
        return candidate * gate, State()


class GatedTanhUnit(GatedLinearUnit):
    """y = tanh(a) ⊙ σ(g), where x = [a; g]   (van den Oord et al. 2016, WaveNet)"""

    def candidate(self, a: Vectors) -> Vectors:
        return torch.tanh(a)


class GatedLinearConvolution(Stack):
    """y = A ⊙ σ(G), where [A; G] is a causal convolution of x (Dauphin et al. 2017)

    Takes sequences of any length; causal; carries the last (K − 1) d inputs.

    >>> y, state = GatedLinearConvolution(3, 4, kernel_size=2, dilation=2)(torch.randn(2, 7, 3))
    >>> y.shape, state["convolution.recent"].shape
    (torch.Size([2, 7, 4]), torch.Size([2, 2, 3]))
    """

    unit: type[GatedLinearUnit] = GatedLinearUnit

    def __init__(
        self, input_size: int, output_size: int, kernel_size: int, *, dilation: int = 1, bias: bool = True
    ) -> None:
        convolution = CausalConvolution(input_size, 2 * output_size, kernel_size, dilation=dilation, bias=bias)
        super().__init__({"convolution": convolution, "unit": self.unit(output_size)})


class GatedTanhConvolution(GatedLinearConvolution):
    """y = tanh(A) ⊙ σ(G), where [A; G] is a causal convolution of x (van den Oord et al. 2016, WaveNet)"""

    unit = GatedTanhUnit
