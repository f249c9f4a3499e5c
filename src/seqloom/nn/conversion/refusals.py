"""What torch.nn has no equivalent of, and why: a sentence for each."""

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

_SIMPLE = "nn.RNN has tanh and relu alone; use RNN or ReluRNN"
_SCORE = "nn.MultiheadAttention has the scaled dot product alone; use ScaledDot ('scaled-dot')"
_NORM = (
    "the norms of nn.TransformerEncoderLayer and its kin are layer norms with a learned scale; use LayerNorm ('layer')"
)

REASONS: Mapping[type[nn.Module], str] = {
    GRU: "its reset gate acts before the product, that of nn.GRU after it; use GRUAfter ('gru-after')",
    SigmoidRNN: _SIMPLE,
    LinearRNN: _SIMPLE,
    LSTMNoTanh: "nn.LSTM shows its memory as o ⊙ tanh(c), not as o ⊙ c; use LSTM",
    LSTMPeephole: "the gates of nn.LSTM don't see its memory; use LSTM",
    LSTMCoupled: "nn.LSTM has an input gate of its own; use LSTM",
    LSTMLayerNorm: "nn.LSTM normalises nothing inside; use LSTM",
    Residual: "nn.RNN, nn.LSTM and nn.GRU have no way around a layer; use connection='plain'",
    DenseStack: "layers of nn.RNN, nn.LSTM and nn.GRU read the one below alone; use connection='plain'",
    Dot: _SCORE,
    Cosine: _SCORE,
    Bilinear: _SCORE,
    LowRank: _SCORE,
    Gaussian: _SCORE,
    Additive: _SCORE,
    Rotary: "nn.MultiheadAttention turns nothing by its position; use rotary=None, and positions in the stem",
    PlainSelfAttention: "nn.MultiheadAttention always has projections; use SelfAttention",
    GatedFeedForward: "the feed-forward part of nn.TransformerEncoderLayer has no gate; use FeedForward",
    PlainLayerNorm: _NORM,
    RMSNorm: _NORM,
    BatchNorm: _NORM,
    GroupNorm: _NORM,
    InstanceNorm: _NORM,
}


def no_equivalent(part: nn.Module, why: str | None = None) -> NoEquivalent:
    """The error for a part, with its own reason, or `why`."""
    otherwise = "to_torch knows recurrent layers, multi-head attention and Transformer blocks, and no subclass of them"
    return NoEquivalent(type(part).__name__, "torch.nn", why or REASONS.get(type(part), otherwise))


def check_expressible(layer: nn.Module) -> None:
    """Nothing inside is known to have no equivalent. (Reading backwards alone: only beside forwards.)"""
    paired = {part.layers["backwards"] for part in layer.modules() if type(part) is Bidirectional}
    for part in layer.modules():
        if type(part) in REASONS:
            raise no_equivalent(part)
        if type(part) is Backwards and part not in paired:
            raise no_equivalent(
                part, "nn.RNN, nn.LSTM and nn.GRU read backwards only beside forwards; use Bidirectional"
            )
