"""Layers and modules without an equivalent are refused with the reason."""

import pytest
from torch import nn
from torch.nn import functional as F

from seqloom.core.problem import NoEquivalent
from seqloom.nn.cells import CELLS, LSTM, RNN, Cell
from seqloom.nn.conversion import from_torch, self_attention_from_torch, to_torch
from seqloom.nn.deep_recurrent import recurrent_stack
from seqloom.nn.dropout import Dropout, VariationalDropout
from seqloom.nn.feed_forward import FeedForward
from seqloom.nn.layer import Layer
from seqloom.nn.multihead import CrossAttention, PlainSelfAttention, SelfAttention
from seqloom.nn.positions import Rotary
from seqloom.nn.recurrent import Backwards, Bidirectional, Recurrent
from seqloom.nn.residual import PostNorm, PreNorm
from seqloom.nn.scores import SCORES
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.transformer import LLAMA, TransformerConfig, cross_decoder, decoder, encoder

sizes = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "layer_norm_eps": 1e-3}
parts = TransformerConfig(depth=2, size=8, heads=2, hidden_size=12, dropout=0.0)


class Unlike(Cell):
    """A user-defined cell."""

    parts = ("hidden",)

    def step(self, projected, state):
        return projected, State(hidden=projected)


def block(attention: Layer, feed_forward: Layer | None = None, **settings) -> Stack:
    around = settings.pop("around", PreNorm)
    settings.setdefault("norm", "layer")
    return Stack([around(attention, **settings), around(feed_forward or FeedForward(8, 12), **settings)])


RESIDUAL = recurrent_stack("lstm", 3, 4, depth=2, connection="residual")
DENSE = recurrent_stack("lstm", 3, 4, depth=2, connection="dense")

ours_without_equivalent = {
    "GRU has .* before the product, that of nn.GRU after it; use GRUAfter": recurrent_stack("gru", 3, 4, depth=2),
    "SigmoidRNN has .* nn.RNN has only tanh and relu": recurrent_stack("rnn-sigmoid", 3, 4),
    "LinearRNN has .* nn.RNN has only tanh and relu": recurrent_stack("rnn-linear", 3, 4),
    "LSTMNoTanh has .* not o ⊙ c; use LSTM": recurrent_stack("lstm-no-tanh", 3, 4),
    "LSTMPeephole has .* don't read its cell state; use LSTM": Recurrent(CELLS["lstm-peephole"](3, 4)),
    "LSTMCoupled has .* an input gate of its own; use LSTM": recurrent_stack("lstm-coupled", 3, 4, bidirectional=True),
    "LSTMLayerNorm has .* has no normalization; use LSTM": recurrent_stack("lstm-layer-norm", 3, 4),
    "Unlike has .* no cell of this equation": Recurrent(Unlike(3, 4)),
    "Residual has .* no residual connections; use connection='plain'": RESIDUAL,
    "DenseStack has .* read only the one below; use connection='plain'": DENSE,
    "Backwards has .* only together with forwards; use Bidirectional": Backwards(Recurrent(LSTM(3, 4))),
    r"weight_drop=0\.1\), and torch.nn can't": recurrent_stack("lstm", 3, 4, weight_drop=0.1),
    r"zoneout=0\.1\), and torch.nn can't": recurrent_stack("lstm", 3, 4, zoneout=0.1),
    "initial state is 'learned'; that of .* is zero": recurrent_stack("lstm", 3, 4, initial="learned"),
    "VariationalDropout has .* use Dropout": recurrent_stack(
        "lstm", 3, 4, depth=2, dropout=0.1, dropout_kind="variational"
    ),
    "none at either end": recurrent_stack("lstm", 3, 4, depth=2, input_dropout=0.1),
    "Stack .* have one dropout between all": Stack(
        [Recurrent(RNN(3, 4)), Dropout(4, 0.1), Recurrent(RNN(4, 4)), Dropout(4, 0.2), Recurrent(RNN(4, 4))]
    ),
    "different kinds of cell": Stack([Recurrent(RNN(3, 4)), Recurrent(LSTM(4, 4))]),
    "different hidden sizes": Stack([Recurrent(RNN(3, 4)), Recurrent(RNN(4, 5))]),
    "different biases": Stack([Recurrent(RNN(3, 4)), Recurrent(RNN(4, 4, bias=False))]),
    "different numbers of directions": Stack(
        [Recurrent(RNN(3, 4)), Bidirectional(Recurrent(RNN(4, 4)), Recurrent(RNN(4, 4)))]
    ),
    "nn.GRU have no FeedForward": Stack([Recurrent(RNN(3, 8)), FeedForward(8, 12)]),
    "knows recurrent layers, multi-head attention and Transformer blocks": Stack([Dropout(3, 0.1)]),
    "FeedForward has no equivalent in torch.nn: to_torch knows": FeedForward(8, 12),
    "2 key heads for 4 heads": SelfAttention(8, 4, kv_heads=2),
    "head_size 3, value_size 3, output_size 8; in nn.MultiheadAttention": SelfAttention(8, 2, head_size=3),
    "head_size 4, value_size 4, output_size 6": CrossAttention(8, 8, 2, output_size=6),
    "Rotary has .* no rotary positions; use rotary=None": SelfAttention(8, 2, rotary=Rotary(4)),
    "window of 3 steps": SelfAttention(8, 2, causal=True, window=3),
    "weighting is 'sum'": SelfAttention(8, 2, weighting="sum"),
    "PlainSelfAttention has .* always has projections": PlainSelfAttention(8, score="scaled-dot"),
    "Rotary has no equivalent": decoder(TransformerConfig(**{**vars(LLAMA), "depth": 1})),
    "GatedFeedForward has .* no gate; use FeedForward": encoder(TransformerConfig(**{**vars(parts), "gated": True})),
    "RMSNorm has .* use LayerNorm": encoder(TransformerConfig(**{**vars(parts), "norm": "rms"})),
    "some of its maps and norms have a bias": encoder(TransformerConfig(**{**vars(parts), "bias": False})),
    "has layer norms; use LayerNorm": block(SelfAttention(8, 2), norm="none"),
    "drops each value by itself; use Dropout": block(SelfAttention(8, 2), dropout=VariationalDropout(8, 0.1)),
    "it holds FeedForward, SelfAttention": block(FeedForward(8, 12), SelfAttention(8, 2)),
    "PreNorm or PostNorm around each": Stack(
        [PreNorm(SelfAttention(8, 2), norm="layer"), PostNorm(FeedForward(8, 12), norm="layer")]
    ),
    "size of its memory is 6, its own 8": cross_decoder(parts, memory_size=6),
    "it holds a Dropout": Stack([encoder(parts).layers["0"], Dropout(8, 0.1)]),
    "some of its blocks attend to a memory": Stack([encoder(parts).layers["0"], cross_decoder(parts).layers["0"]]),
    "2 heads for itself and 4 for its memory": Stack(
        [
            PreNorm(SelfAttention(8, 2), norm="layer"),
            PreNorm(CrossAttention(8, 8, 4), norm="layer"),
            PreNorm(FeedForward(8, 12), norm="layer"),
        ]
    ),
}


@pytest.mark.parametrize(("message", "layer"), ours_without_equivalent.items(), ids=ours_without_equivalent)
def test_a_layer_without_an_equivalent_is_an_error(message: str, layer: Layer) -> None:
    with pytest.raises(NoEquivalent, match=message) as caught:
        to_torch(layer)
    assert " has no equivalent in torch.nn: " in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("score", [name for name in SCORES if name != "scaled-dot"])
def test_other_scores_are_errors(score: str) -> None:
    with pytest.raises(
        NoEquivalent, match=f"{SCORES[score].__name__} has no equivalent .* only the scaled dot product"
    ):
        to_torch(SelfAttention(8, 2, score=score))


class MyLSTM(nn.LSTM):
    """May compute anything."""


theirs_without_equivalent = {
    "LSTM with proj_size=2 has no equivalent in seqloom: .* put a linear layer": nn.LSTM(3, 4, proj_size=2),
    "kdim=5 and vdim=6 .* one memory": nn.MultiheadAttention(8, 2, kdim=5, vdim=6),
    "MultiheadAttention with add_bias_kv": nn.MultiheadAttention(8, 2, add_bias_kv=True),
    "MultiheadAttention with add_zero_attn": nn.MultiheadAttention(8, 2, add_zero_attn=True),
    "the activation silu .* nn.SiLU": nn.TransformerEncoderLayer(**sizes, activation=F.silu),
    r"the norm RMSNorm.* from_torch knows nn.LayerNorm": nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**sizes), 1, nn.RMSNorm(8), enable_nested_tensor=False
    ),
    "Linear has no equivalent in seqloom: from_torch knows nn.RNN, nn.LSTM, nn.GRU, nn.MultiheadAttention": nn.Linear(
        3, 4
    ),
    "MyLSTM has .* no subclass of them": MyLSTM(3, 4),
}


@pytest.mark.parametrize(("message", "module"), theirs_without_equivalent.items(), ids=theirs_without_equivalent)
def test_a_module_without_an_equivalent_is_an_error(message: str, module: nn.Module) -> None:
    with pytest.raises(NoEquivalent, match=message):
        from_torch(module)


def test_self_attention_from_a_module_of_cross_attention_is_an_error() -> None:
    with pytest.raises(
        NoEquivalent, match="MultiheadAttention with kdim=6 has no equivalent in SelfAttention: its own size is 8"
    ):
        self_attention_from_torch(nn.MultiheadAttention(8, 2, kdim=6, vdim=6))
