"""Dense and convolutional mixing: every layer, its edges (one step wide, no bias), and stacks of them."""

from seqloom.nn.convolution import (
    CausalConvolution,
    CenteredConvolution,
    GatedLinearConvolution,
    GatedLinearUnit,
    GatedTanhConvolution,
    GatedTanhUnit,
)
from seqloom.nn.dense import DenseOverBoth, DenseOverFeatures, DenseOverTokens
from seqloom.nn.mixer import MixerBlock, TokenMixing
from seqloom.nn.stack import Stack
from seqloom.nn.window import FixedWindow, FixedWindowDirect, Window
from tests.nn.catalogue.case import Case
from tests.nn.references.mixing import mixing

LENGTH = 8

layers = {
    "dense over features": lambda: DenseOverFeatures(3, 4),
    "dense over features, tanh, no bias": lambda: DenseOverFeatures(3, 4, activation="tanh", bias=False),
    "dense over tokens": lambda: DenseOverTokens(3, LENGTH),
    "dense over tokens, tanh, no bias": lambda: DenseOverTokens(3, LENGTH, activation="tanh", bias=False),
    "dense over both": lambda: DenseOverBoth(3, 2, LENGTH),
    "dense over both, tanh, no bias": lambda: DenseOverBoth(3, 2, LENGTH, activation="tanh", bias=False),
    "window": lambda: Window(3, width=3),
    "window of one": lambda: Window(3, width=1),
    "fixed window": lambda: FixedWindow(3, 4, width=3),
    "fixed window, wider than the row": lambda: FixedWindow(2, 3, width=12, activation="identity", bias=False),
    "fixed window, direct": lambda: FixedWindowDirect(3, 2, width=3),
    "causal convolution": lambda: CausalConvolution(3, 4, kernel_size=3),
    "causal convolution of one step": lambda: CausalConvolution(3, 4, kernel_size=1, bias=False),
    "causal convolution, dilated": lambda: CausalConvolution(3, 4, kernel_size=3, dilation=3, activation="tanh"),
    "causal convolutions, deep": lambda: Stack([CausalConvolution(3, 3, 2, dilation=d) for d in (1, 2, 4)]),
    "centered convolution": lambda: CenteredConvolution(3, 4, kernel_size=3),
    "centered convolution, even": lambda: CenteredConvolution(3, 4, kernel_size=4, bias=False),
    "centered convolution, dilated": lambda: CenteredConvolution(3, 4, kernel_size=3, dilation=3, activation="tanh"),
    "centered convolutions, deep": lambda: Stack([CenteredConvolution(3, 3, kernel_size=3) for _ in range(2)]),
    "dense, deep": lambda: Stack([DenseOverFeatures(3, 3), DenseOverTokens(3, LENGTH), DenseOverBoth(3, 2, LENGTH)]),
    "gated linear unit": lambda: GatedLinearUnit(2),
    "gated tanh unit": lambda: GatedTanhUnit(2),
    "gated linear convolution": lambda: GatedLinearConvolution(3, 4, kernel_size=3, dilation=2),
    "gated tanh convolution": lambda: GatedTanhConvolution(3, 4, kernel_size=2, bias=False),
    "token mixing": lambda: TokenMixing(3, LENGTH, hidden_size=4),
    "token mixing, tanh, no bias": lambda: TokenMixing(3, LENGTH, hidden_size=4, activation="tanh", bias=False),
    "mixer block": lambda: MixerBlock(4, LENGTH, token_hidden_size=5, hidden_size=6),
    "mixer": lambda: Stack([MixerBlock(3, LENGTH, token_hidden_size=2, hidden_size=4) for _ in range(2)]),
}

cases = [Case(name, make, mixing) for name, make in layers.items()]
cases += [Case("mixer block, dropout", lambda: MixerBlock(4, LENGTH, 5, 6, dropout=0.2), mixing, noisy=True)]
