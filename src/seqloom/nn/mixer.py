"""MLP-Mixer (Tolstikhin et al. 2021, https://arxiv.org/abs/2105.01601): two small networks in turn, one over tokens and
one over features, without convolution or attention.
"""

from torch import nn

from seqloom.nn.activations import activation as build_activation
from seqloom.nn.dense import FixedLengthLayer, over_tokens
from seqloom.nn.feed_forward import FeedForward
from seqloom.nn.layer import Layer, Lengths, Output, Vectors
from seqloom.nn.residual import PreNorm
from seqloom.nn.stack import Stack
from seqloom.nn.state import State


class TokenMixing(FixedLengthLayer):
    """Y = W_2 φ(W_1 X + b_1 1ᵀ) + b_2 1ᵀ: a network over positions, the same for each feature.

    W_1: [hidden_size, length]; W_2: [length, hidden_size]. Takes sequences of up to `length` steps, in one call.
    A shorter one uses the first columns of W_1 and the first rows of W_2, so padding contributes nothing.

    >>> import torch
    >>> layer = TokenMixing(3, length=8, hidden_size=16)
    >>> y, _ = layer(torch.randn(2, 5, 3))
    >>> y.shape, layer.traits.max_length
    (torch.Size([2, 5, 3]), 8)
    """

    def __init__(
        self, size: int, length: int, hidden_size: int, *, activation: str = "gelu", bias: bool = True
    ) -> None:
        super().__init__(size, size, length)
        self.hidden_size = hidden_size
        self.widen = nn.Linear(length, hidden_size, bias=bias)
        self.activation = build_activation(activation)
        self.narrow = nn.Linear(hidden_size, length, bias=bias)

    def mix(self, x: Vectors, lengths: Lengths, state: State) -> Output:
        hidden = self.activation(over_tokens(x, self.widen, steps=self.hidden_size))
        return over_tokens(hidden, self.narrow, steps=x.shape[1]), State()


class MixerBlock(Stack):
    """One layer of the Mixer:

        U = X + TokenMixing(norm(X))
        Y = U + FeedForward(norm(U))

    Takes sequences of up to `length` steps, in one call. A Mixer is a `Stack` of these over patches or tokens. It needs
    no position embeddings, because token mixing has weights for each position.

    >>> import torch
    >>> mixer = Stack([MixerBlock(4, length=9, token_hidden_size=8, hidden_size=16) for _ in range(2)])
    >>> y, _ = mixer(torch.randn(2, 9, 4))
    >>> y.shape, mixer.traits.max_length
    (torch.Size([2, 9, 4]), 9)
    """

    def __init__(
        self,
        size: int,
        length: int,
        token_hidden_size: int,
        hidden_size: int,
        *,
        activation: str = "gelu",
        norm: str = "layer",
        dropout: float = 0.0,
    ) -> None:
        tokens = TokenMixing(size, length, token_hidden_size, activation=activation)
        features = FeedForward(size, hidden_size, activation=activation)
        sublayers: dict[str, Layer] = {"tokens": tokens, "features": features}
        super().__init__({name: PreNorm(layer, norm=norm, dropout=dropout) for name, layer in sublayers.items()})
