"""The layers of torch's Transformer, and blocks of the same parts.

    nn.TransformerEncoderLayer    attention, feed-forward
    nn.TransformerDecoderLayer    attention, attention to a memory, feed-forward

There is a way around each of these; the first has torch's norm1 and dropout1, the second norm2 and dropout2, and so on.
`norm_first` is `PreNorm`, else `PostNorm`. `nn.TransformerEncoder` and `nn.TransformerDecoder` are N layers and maybe a
last norm.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.core.problem import NoEquivalent
from seqloom.nn.activations import activation
from seqloom.nn.conversion.attention import (
    attention_to_torch,
    biased,
    cross_attention_from_torch,
    self_attention_from_torch,
)
from seqloom.nn.conversion.refusals import no_equivalent
from seqloom.nn.conversion.weights import filled
from seqloom.nn.dropout import Dropout
from seqloom.nn.feed_forward import FeedForward
from seqloom.nn.layer import Layer
from seqloom.nn.multihead import CrossAttention, SelfAttention
from seqloom.nn.normalization import LayerNorm
from seqloom.nn.residual import NormedResidual, PostNorm, PreNorm
from seqloom.nn.stack import Stack

TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def gelu_tanh(x: Tensor) -> Tensor:
    """x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2; a function: torch's fast path takes any nn.GELU for the exact one."""
    return F.gelu(x, approximate="tanh")


# torch keeps these activations as functions.
FUNCTIONS: Mapping[Callable[..., Tensor], str] = {F.relu: "relu", F.gelu: "gelu", gelu_tanh: "gelu-tanh"}

# From torch -------------------------------------------------------------------------------------------------------


def encoder_layer_from_torch(module: nn.TransformerEncoderLayer, *, causal: bool = False) -> Stack:
    """A block of `transformer.encoder`; if `causal`, of `transformer.decoder`."""
    return block_from_torch(module, {"attention": self_attention_from_torch(module.self_attn, causal=causal)})


def decoder_layer_from_torch(module: nn.TransformerDecoderLayer, *, causal: bool = True) -> Stack:
    """A block of `transformer.cross_decoder`; begin with `start(memory, lengths)`."""
    attention = self_attention_from_torch(module.self_attn, causal=causal)
    cross = cross_attention_from_torch(module.multihead_attn)
    return block_from_torch(module, {"attention": attention, "cross": cross})


def encoder_from_torch(module: nn.TransformerEncoder, *, causal: bool = False) -> Stack:
    """N blocks, and a last norm if there is one."""
    return blocks_from_torch(module, [encoder_layer_from_torch(layer, causal=causal) for layer in module.layers])


def decoder_from_torch(module: nn.TransformerDecoder, *, causal: bool = True) -> Stack:
    """N blocks that look at a memory, and a last norm if there is one."""
    return blocks_from_torch(module, [decoder_layer_from_torch(layer, causal=causal) for layer in module.layers])


def block_from_torch(module: TorchLayer, attention: Mapping[str, Layer]) -> Stack:
    """A way around each sublayer."""
    around = PreNorm if module.norm_first else PostNorm
    parts: dict[str, Layer] = {}
    for i, (name, layer) in enumerate({**attention, "feed_forward": feed_forward_from_torch(module)}.items(), start=1):
        norm, dropout = getattr(module, f"norm{i}"), getattr(module, f"dropout{i}")
        parts[name] = around(layer, norm=norm_from_torch(norm), dropout=dropout.p)
    return Stack(parts).train(module.training)


def blocks_from_torch(module: nn.TransformerEncoder | nn.TransformerDecoder, blocks: Sequence[Stack]) -> Stack:
    """The blocks by number, then "norm"."""
    layers: dict[str, Layer] = {str(k): block for k, block in enumerate(blocks)}
    if module.norm is not None:
        layers["norm"] = norm_from_torch(module.norm)
    return Stack(layers).train(module.training)


def feed_forward_from_torch(module: TorchLayer) -> FeedForward:
    """`linear1` and `linear2` are our `widen` and `narrow`."""
    size, hidden_size, p = module.linear1.in_features, module.linear1.out_features, module.dropout.p
    with torch.device("meta"):
        layer = FeedForward(size, hidden_size, dropout=p)
    layer.widen, layer.narrow = deepcopy(module.linear1), deepcopy(module.linear2)
    layer.activation = activation_from_torch(module.activation)
    return layer


def activation_from_torch(function: Callable[[Tensor], Tensor]) -> nn.Module:
    """By name where it is a function, a copy where it is a module."""
    if isinstance(function, nn.Module):
        return deepcopy(function)
    if function not in FUNCTIONS:
        what = f"the activation {getattr(function, '__name__', function)}"
        why = "of functions, from_torch knows F.relu and F.gelu; give torch a module, such as nn.SiLU()"
        raise NoEquivalent(what, "seqloom", why)
    return activation(FUNCTIONS[function])


def norm_from_torch(module: nn.Module) -> LayerNorm:
    """Layer norm with a learned scale, with a shift or without."""
    if type(module) is not nn.LayerNorm or not module.elementwise_affine or len(module.normalized_shape) > 1:
        why = "from_torch knows nn.LayerNorm over the last dimension, with a learned scale"
        raise NoEquivalent(f"the norm {module}", "seqloom", why)
    (size,), eps, bias = module.normalized_shape, module.eps, module.bias is not None
    return filled(lambda: LayerNorm(size, eps=eps, bias=bias), module.state_dict())


# To torch ---------------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """The parts of a block, and where its norms stand."""

    attention: SelfAttention
    cross: CrossAttention | None
    feed_forward: FeedForward
    norms: list[LayerNorm]
    dropouts: list[float]
    pre: bool


def block_to_torch(stack: Stack) -> TorchLayer:
    """A layer of torch's encoder or decoder; where the block is causal, each call must be given a causal mask."""
    block = read(stack)
    kind = nn.TransformerEncoderLayer if block.cross is None else nn.TransformerDecoderLayer
    widen, narrow = block.feed_forward.widen, block.feed_forward.narrow
    with torch.device("meta"):
        module: TorchLayer = kind(
            stack.input_size,
            block.attention.heads,
            widen.out_features,
            activation=activation_to_torch(block.feed_forward.activation),
            batch_first=True,
            norm_first=block.pre,
        )
    module.self_attn = attention_to_torch(block.attention)
    if block.cross is not None:
        module.multihead_attn = attention_to_torch(block.cross)
    module.linear1, module.linear2, module.dropout.p = deepcopy(widen), deepcopy(narrow), block.feed_forward.dropout.p
    for i, (norm, p) in enumerate(zip(block.norms, block.dropouts, strict=True), start=1):
        setattr(module, f"norm{i}", norm_to_torch(norm))
        setattr(module, f"dropout{i}", nn.Dropout(p))
    return module.train(stack.training)


def transformer_to_torch(stack: Stack) -> nn.TransformerEncoder | nn.TransformerDecoder:
    """N layers, and a last norm if there is one."""
    *below, last = stack.sublayers().values()
    norm = norm_to_torch(last) if type(last) is LayerNorm else None
    layers = []
    for part in below if norm is not None else [*below, last]:
        if not isinstance(part, Stack):
            raise no_equivalent(
                stack, f"torch's Transformer is layers and a last norm, and it holds a {type(part).__name__}"
            )
        layers.append(block_to_torch(part))
    if len({type(layer) for layer in layers}) > 1:
        raise no_equivalent(stack, "some of its blocks look at a memory and some don't")
    module: nn.TransformerEncoder | nn.TransformerDecoder
    if isinstance(layers[0], nn.TransformerEncoderLayer):
        module = nn.TransformerEncoder(layers[0], len(layers), norm, enable_nested_tensor=False)
    else:
        module = nn.TransformerDecoder(layers[0], len(layers), norm)
    module.layers = nn.ModuleList(layers)
    return module.train(stack.training)


def read(stack: Stack) -> Block:
    """A block's parts, which must be those of a layer of torch's."""
    theirs = "a layer of torch's Transformer"
    orders = {type(part) for part in stack.sublayers().values()}
    if orders not in ({PreNorm}, {PostNorm}):
        raise no_equivalent(stack, f"{theirs} is PreNorm or PostNorm around each of its sublayers")
    parts = [around.sublayers() for around in stack.sublayers().values() if isinstance(around, NormedResidual)]
    for part in parts:
        if type(part["layer"]) not in (SelfAttention, CrossAttention, FeedForward):
            raise no_equivalent(part["layer"])
    match [part["layer"] for part in parts]:
        case [SelfAttention() as attention, FeedForward() as feed_forward]:
            cross = None
        case [SelfAttention() as attention, CrossAttention() as cross, FeedForward() as feed_forward]:
            pass
        case others:
            held = ", ".join(type(other).__name__ for other in others)
            wanted = "SelfAttention, then CrossAttention or not, then FeedForward"
            raise no_equivalent(stack, f"it holds {held}; {theirs} is {wanted}")
    norms = [part["norm"] for part in parts if type(part["norm"]) is LayerNorm]
    if len(norms) < len(parts):
        raise no_equivalent(stack, f"{theirs} has layer norms; use LayerNorm ('layer')")
    dropouts = [part["dropout"].p for part in parts if type(part["dropout"]) is Dropout]
    if len(dropouts) < len(parts):
        raise no_equivalent(stack, f"{theirs} leaves out each value by itself; use Dropout")
    block = Block(attention, cross, feed_forward, norms, dropouts, pre=orders == {PreNorm})
    check_agree(stack, block)
    return block


def check_agree(stack: Stack, block: Block) -> None:
    """One size, one number of heads, biases everywhere or nowhere."""
    if block.cross is not None and block.cross.memory_size != stack.input_size:
        sizes = f"{block.cross.memory_size}, its own {stack.input_size}"
        raise no_equivalent(
            stack, f"the size of its memory is {sizes}; in nn.TransformerDecoderLayer they are the same"
        )
    if block.cross is not None and block.cross.heads != block.attention.heads:
        heads = f"{block.attention.heads} heads to itself and {block.cross.heads} to its memory"
        raise no_equivalent(stack, f"it has {heads}; in nn.TransformerDecoderLayer they are as many")
    attention = [layer for layer in (block.attention, block.cross) if layer is not None]
    biases = {biased(layer) for layer in attention}
    biases |= {part.bias is not None for part in (block.feed_forward.widen, *block.norms)}
    if len(biases) > 1:
        raise no_equivalent(
            stack, "some of its maps and norms have a bias and some don't; in torch's Transformer all or none do"
        )


def activation_to_torch(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """A function where torch has a fast path for it, a copy of the module otherwise."""
    if isinstance(module, nn.GELU):
        return gelu_tanh if module.approximate == "tanh" else F.gelu
    return F.relu if isinstance(module, nn.ReLU) else deepcopy(module)


def norm_to_torch(norm: LayerNorm) -> nn.LayerNorm:
    """Layer norm with a learned scale, with a shift or without."""
    bias = norm.bias is not None
    return filled(lambda: nn.LayerNorm(norm.input_size, eps=norm.eps, bias=bias), norm.state_dict())
