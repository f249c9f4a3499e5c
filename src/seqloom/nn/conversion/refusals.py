"""Modules without an equivalent in torch.nn, and the reasons."""

from collections.abc import Mapping

from torch import nn

from seqloom.core.problem import NoEquivalent
from seqloom.nn.cells import GRU, LinearRNN, LSTMCoupled, LSTMLayerNorm, LSTMNoTanh, LSTMPeephole, SigmoidRNN
from seqloom.nn.feed_forward import GatedFeedForward
from seqloom.nn.multihead import PlainSelfAttention
from seqloom.nn.normalization import BatchNorm, GroupNorm, InstanceNorm, PlainLayerNorm, RMSNorm
from seqloom.nn.positions import Rotary
from seqloom.nn.recurrent import Backwards, Bidirectional
from seqloom.nn.residual import Residual
from seqloom.nn.scores import Additive, Bilinear, Cosine, Dot, Gaussian, LowRank
from seqloom.nn.stack import DenseStack

_SIMPLE = "nn.RNN has only tanh and relu; use RNN or ReluRNN"
_SCORE = "nn.MultiheadAttention has only the scaled dot product; use ScaledDot ('scaled-dot')"
_NORM = "torch's Transformer layers have only layer norm with a learned scale; use LayerNorm ('layer')"

REASONS: Mapping[type[nn.Module], str] = {
    GRU: "its reset gate acts before the product, that of nn.GRU after it; use GRUAfter ('gru-after')",
    **dict.fromkeys((SigmoidRNN, LinearRNN), _SIMPLE),
    LSTMNoTanh: "the output of nn.LSTM is o ⊙ tanh(c), not o ⊙ c; use LSTM",
    LSTMPeephole: "the gates of nn.LSTM don't read its cell state; use LSTM",
    LSTMCoupled: "nn.LSTM has an input gate of its own; use LSTM",
    LSTMLayerNorm: "nn.LSTM has no normalization; use LSTM",
    Residual: "nn.RNN, nn.LSTM and nn.GRU have no residual connections; use connection='plain'",
    DenseStack: "layers of nn.RNN, nn.LSTM and nn.GRU read only the one below; use connection='plain'",
    **dict.fromkeys((Dot, Cosine, Bilinear, LowRank, Gaussian, Additive), _SCORE),
    Rotary: "nn.MultiheadAttention has no rotary positions; use rotary=None, and positions in the stem",
    PlainSelfAttention: "nn.MultiheadAttention always has projections; use SelfAttention",
    GatedFeedForward: "the feed-forward part of nn.TransformerEncoderLayer has no gate; use FeedForward",
    **dict.fromkeys((PlainLayerNorm, RMSNorm, BatchNorm, GroupNorm, InstanceNorm), _NORM),
}


def no_equivalent(module: nn.Module, reason: str | None = None) -> NoEquivalent:
    """The error for a module, with `reason`, or the one in `REASONS`."""
    default = "to_torch knows recurrent layers, multi-head attention and Transformer blocks, and no subclass of them"
    return NoEquivalent(type(module).__name__, "torch.nn", reason or REASONS.get(type(module), default))


def check_convertible(layer: nn.Module) -> None:
    """Raise an error for a layer that contains a module without an equivalent."""
    paired = {module.layers["backwards"] for module in layer.modules() if type(module) is Bidirectional}
    for module in layer.modules():
        if type(module) in REASONS:
            raise no_equivalent(module)
        if type(module) is Backwards and module not in paired:
            reason = "nn.RNN, nn.LSTM and nn.GRU read backwards only together with forwards; use Bidirectional"
            raise no_equivalent(module, reason)
