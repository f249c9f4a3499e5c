"""The layers of torch's Transformer to and from blocks.

    nn.TransformerEncoderLayer    attention, feed-forward
    nn.TransformerDecoderLayer    attention, attention to a memory, feed-forward

Each sublayer has a residual connection; torch's norm1 and dropout1 belong to the first, norm2 and dropout2 to the
second, and so on. With `norm_first` the connection is `PreNorm`, otherwise `PostNorm`. `nn.TransformerEncoder` and
`nn.TransformerDecoder` are N layers and an optional last norm.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.core.problem import NoEquivalent
from seqloom.nn.activations import activation
from seqloom.nn.conversion.attention import (
    attention_to_torch,
    cross_attention_from_torch,
    has_bias,
    self_attention_from_torch,
)
from seqloom.nn.conversion.refusals import no_equivalent
from seqloom.nn.conversion.weights import build_with_weights
from seqloom.nn.dropout import Dropout
from seqloom.nn.feed_forward import FeedForward
from seqloom.nn.initialization import without_values
from seqloom.nn.layer import Layer
from seqloom.nn.multihead import CrossAttention, SelfAttention
from seqloom.nn.normalization import LayerNorm
from seqloom.nn.residual import NormedResidual, PostNorm, PreNorm
from seqloom.nn.stack import Stack

TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def gelu_tanh(x: Tensor) -> Tensor:
    """x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2. torch's fast path treats every `nn.GELU` as exact."""
    return F.gelu(x, approximate="tanh")


# Activations that torch's layers hold as functions, not as modules.
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
    """N blocks, and the last norm if there is one."""
    return blocks_from_torch(module, [encoder_layer_from_torch(layer, causal=causal) for layer in module.layers])


def decoder_from_torch(module: nn.TransformerDecoder, *, causal: bool = True) -> Stack:
    """N blocks with cross-attention, and the last norm if there is one."""
    return blocks_from_torch(module, [decoder_layer_from_torch(layer, causal=causal) for layer in module.layers])


def block_from_torch(module: TorchLayer, attention: Mapping[str, Layer]) -> Stack:
    residual = PreNorm if module.norm_first else PostNorm
    sublayers = {**attention, "feed_forward": feed_forward_from_torch(module)}
    block: dict[str, Layer] = {}
    for i, (name, layer) in enumerate(sublayers.items(), start=1):
        norm, dropout = getattr(module, f"norm{i}"), getattr(module, f"dropout{i}")
        block[name] = residual(layer, norm=norm_from_torch(norm), dropout=dropout.p)
    return Stack(block).train(module.training)


def blocks_from_torch(module: nn.TransformerEncoder | nn.TransformerDecoder, blocks: Sequence[Stack]) -> Stack:
    layers: dict[str, Layer] = {str(k): block for k, block in enumerate(blocks)}
    if module.norm is not None:
        layers["norm"] = norm_from_torch(module.norm)
    return Stack(layers).train(module.training)


def feed_forward_from_torch(module: TorchLayer) -> FeedForward:
    """`linear1` is `widen`, `linear2` is `narrow`."""
    with without_values():
        size, hidden_size = module.linear1.in_features, module.linear1.out_features
        layer = FeedForward(size, hidden_size, dropout=module.dropout.p)
    layer.widen, layer.narrow = deepcopy(module.linear1), deepcopy(module.linear2)
    layer.activation = activation_from_torch(module.activation)
    return layer


def activation_from_torch(function: Callable[[Tensor], Tensor]) -> nn.Module:
    """A copy of a module; for a function, the activation of that name."""
    if isinstance(function, nn.Module):
        return deepcopy(function)
    if function not in FUNCTIONS:
        name = f"the activation {getattr(function, '__name__', function)}"
        reason = "of functions, from_torch knows F.relu and F.gelu; give torch a module, such as nn.SiLU()"
        raise NoEquivalent(name, "seqloom", reason)
    return activation(FUNCTIONS[function])


def norm_from_torch(module: nn.Module) -> LayerNorm:
    """Layer norm with a learned scale, with or without a shift."""
    if type(module) is not nn.LayerNorm or not module.elementwise_affine or len(module.normalized_shape) > 1:
        reason = "from_torch knows nn.LayerNorm over the last dimension, with a learned scale"
        raise NoEquivalent(f"the norm {module}", "seqloom", reason)
    (size,), eps, bias = module.normalized_shape, module.eps, module.bias is not None
    return build_with_weights(lambda: LayerNorm(size, eps=eps, bias=bias), module.state_dict())


# To torch ---------------------------------------------------------------------------------------------------------


def block_to_torch(stack: Stack) -> TorchLayer:
    """A layer of torch's encoder or decoder; if the block is causal, each call needs a causal mask."""
    theirs = "a layer of torch's Transformer"
    residuals = list(stack.sublayers().values())
    if {type(residual) for residual in residuals} not in ({PreNorm}, {PostNorm}):
        raise no_equivalent(stack, f"{theirs} is PreNorm or PostNorm around each of its sublayers")
    parts = [residual.sublayers() for residual in residuals if isinstance(residual, NormedResidual)]
    layers = [part["layer"] for part in parts]
    for layer in layers:
        if type(layer) not in (SelfAttention, CrossAttention, FeedForward):
            raise no_equivalent(layer)
    cross: CrossAttention | None = None
    match layers:
        case [SelfAttention() as attention, FeedForward() as feed_forward]:
            pass
        case [SelfAttention() as attention, CrossAttention() as cross, FeedForward() as feed_forward]:
            pass
        case _:
            names = ", ".join(type(layer).__name__ for layer in layers)
            expected = "SelfAttention, then CrossAttention or not, then FeedForward"
            raise no_equivalent(stack, f"it holds {names}; {theirs} is {expected}")
    norms = [part["norm"] for part in parts if type(part["norm"]) is LayerNorm]
    if len(norms) < len(parts):
        raise no_equivalent(stack, f"{theirs} has layer norms; use LayerNorm ('layer')")
    dropouts = [part["dropout"].p for part in parts if type(part["dropout"]) is Dropout]
    if len(dropouts) < len(parts):
        raise no_equivalent(stack, f"{theirs} drops each value by itself; use Dropout")
    check_sizes(stack, attention, cross, [feed_forward.widen, *norms])

    kind = nn.TransformerEncoderLayer if cross is None else nn.TransformerDecoderLayer
    widen, narrow, function = feed_forward.widen, feed_forward.narrow, activation_to_torch(feed_forward.activation)
    sizes, norm_first = (stack.input_size, attention.heads, widen.out_features), type(residuals[0]) is PreNorm
    with without_values():
        module: TorchLayer = kind(*sizes, activation=function, batch_first=True, norm_first=norm_first)
    module.self_attn = attention_to_torch(attention)
    if cross is not None:
        module.multihead_attn = attention_to_torch(cross)
    module.linear1, module.linear2, module.dropout.p = deepcopy(widen), deepcopy(narrow), feed_forward.dropout.p
    for i, (norm, p) in enumerate(zip(norms, dropouts, strict=True), start=1):
        setattr(module, f"norm{i}", norm_to_torch(norm))
        setattr(module, f"dropout{i}", nn.Dropout(p))
    return module.train(stack.training)


def check_sizes(
    stack: Stack, attention: SelfAttention, cross: CrossAttention | None, others: Sequence[nn.Linear | LayerNorm]
) -> None:
    """Refuse a block of several sizes or numbers of heads, or with biases in some modules only."""
    if cross is not None and cross.memory_size != stack.input_size:
        sizes = f"{cross.memory_size}, its own {stack.input_size}"
        reason = f"the size of its memory is {sizes}; in nn.TransformerDecoderLayer they are the same"
        raise no_equivalent(stack, reason)
    if cross is not None and cross.heads != attention.heads:
        heads = f"{attention.heads} heads for itself and {cross.heads} for its memory"
        raise no_equivalent(stack, f"it has {heads}; in nn.TransformerDecoderLayer both numbers are the same")
    biases = {has_bias(layer) for layer in (attention, cross) if layer is not None}
    if len(biases | {module.bias is not None for module in others}) > 1:
        reason = "some of its maps and norms have a bias and some don't; in torch's Transformer all or none do"
        raise no_equivalent(stack, reason)


def transformer_to_torch(stack: Stack) -> nn.TransformerEncoder | nn.TransformerDecoder:
    """N layers, and the last norm if there is one."""
    *blocks, last = stack.sublayers().values()
    norm = norm_to_torch(last) if type(last) is LayerNorm else None
    layers = []
    for block in blocks if norm is not None else [*blocks, last]:
        if not isinstance(block, Stack):
            reason = f"torch's Transformer has only layers and a last norm, and it holds a {type(block).__name__}"
            raise no_equivalent(stack, reason)
        layers.append(block_to_torch(block))
    if len({type(layer) for layer in layers}) > 1:
        raise no_equivalent(stack, "some of its blocks attend to a memory and some don't")
    module: nn.TransformerEncoder | nn.TransformerDecoder
    if isinstance(layers[0], nn.TransformerEncoderLayer):
        module = nn.TransformerEncoder(layers[0], len(layers), norm, enable_nested_tensor=False)
    else:
        module = nn.TransformerDecoder(layers[0], len(layers), norm)
    module.layers = nn.ModuleList(layers)
    return module.train(stack.training)


def activation_to_torch(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """A function if torch has a fast path for it, otherwise a copy of the module."""
    if isinstance(module, nn.GELU):
        return gelu_tanh if module.approximate == "tanh" else F.gelu
    return F.relu if isinstance(module, nn.ReLU) else deepcopy(module)


def norm_to_torch(norm: LayerNorm) -> nn.LayerNorm:
    bias = norm.bias is not None
    return build_with_weights(lambda: nn.LayerNorm(norm.input_size, eps=norm.eps, bias=bias), norm.state_dict())
