"""Against torch.nn, its weights in our layers and ours in its modules: outputs, gradients, states, lengths, masks."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.nn.cells import CELLS, LSTM, RNN, Cell, GRUAfter
from seqloom.nn.conversion import (
    cross_attention_from_torch,
    decoder_from_torch,
    decoder_layer_from_torch,
    encoder_from_torch,
    encoder_layer_from_torch,
    from_torch,
    self_attention_from_torch,
    to_torch,
)
from seqloom.nn.deep import recurrent_stack
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
from seqloom.nn.transformer import MODERN, TransformerParts, cross_decoder, decoder, encoder
from seqloom.spec.errors import NoEqual

ROWS, STEPS = 3, 6
LENGTHS = torch.tensor([6, 1, 4])
PADDING = torch.arange(STEPS) >= LENGTHS.unsqueeze(1)


def shaken(module: nn.Module) -> nn.Module:
    """In float64 and eval mode, no weight at zero or one: what starts there (biases, norms) would hide a mistake."""
    with torch.no_grad():
        for weight in module.double().eval().parameters():
            weight += 0.3 * torch.randn_like(weight)
    return module


def gradients(y: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    weights = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)
    return torch.autograd.grad((y * weights).sum(), inputs, retain_graph=True)


def assert_close(came: object, expected: object, atol: float = 1e-12) -> None:
    torch.testing.assert_close(came, expected, rtol=0, atol=atol)


def assert_same_weights(came: nn.Module, expected: nn.Module) -> None:
    """Bit for bit."""
    assert_close(dict(came.named_parameters()), dict(expected.named_parameters()), atol=0)


def assert_same_kind(came: nn.Module, expected: nn.Module) -> None:
    """The same parts with the same settings."""
    assert repr(came) == repr(expected)


# Recurrent --------------------------------------------------------------------------------------------------------

MODULES: dict[str, Callable[..., nn.RNNBase]] = {
    "rnn": nn.RNN,
    "rnn-relu": lambda *sizes, **settings: nn.RNN(*sizes, nonlinearity="relu", **settings),
    "lstm": nn.LSTM,
    "gru-after": nn.GRU,
}
recurrences = given(
    cell=st.sampled_from(sorted(MODULES)),
    depth=st.integers(1, 3),
    bidirectional=st.booleans(),
    bias=st.booleans(),
    batch_first=st.booleans(),
    ragged=st.booleans(),
)


def their_state(state: State, depth: int, bidirectional: bool, name: str) -> Tensor:
    """Our named tensors in torch's order: [depth * directions, batch, hidden]."""
    directions = ("forwards.", "backwards.reversed.") if bidirectional else ("",)
    return torch.stack([state[f"{k}.{direction}{name}"] for k in range(depth) for direction in directions])


def run_theirs(module: nn.RNNBase, x: Tensor, lengths: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Batch first; rows of unequal lengths packed."""
    given_x = x if module.batch_first else x.transpose(0, 1)
    if lengths is None:
        y, end = module(given_x)
    else:
        packed = pack_padded_sequence(given_x, lengths, batch_first=module.batch_first, enforce_sorted=False)
        y, end = module(packed)
        y, _ = pad_packed_sequence(y, batch_first=module.batch_first, total_length=STEPS)
    return y if module.batch_first else y.transpose(0, 1), end if isinstance(end, tuple) else (end,)


@recurrences
def test_recurrent_from_torch(
    cell: str, depth: int, bidirectional: bool, bias: bool, batch_first: bool, ragged: bool
) -> None:
    module = shaken(MODULES[cell](3, 4, depth, bias=bias, batch_first=batch_first, bidirectional=bidirectional))
    layer = from_torch(module)
    assert_same_kind(layer, recurrent_stack(cell, 3, 4, depth=depth, bidirectional=bidirectional, bias=bias))
    x = torch.randn(ROWS, STEPS, 3, dtype=torch.float64, requires_grad=True)
    lengths = LENGTHS if ragged else None
    y, state = layer(x, lengths)
    expected, end = run_theirs(module, x, lengths)
    assert_close(y, expected)
    assert_close(gradients(y, x), gradients(expected, x))
    for name, final in zip(("hidden", "cell"), end, strict=False):
        assert_close(their_state(state, depth, bidirectional, name), final)


@recurrences
def test_recurrent_to_torch(
    cell: str, depth: int, bidirectional: bool, bias: bool, batch_first: bool, ragged: bool
) -> None:
    layer = shaken(recurrent_stack(cell, 3, 4, depth=depth, bidirectional=bidirectional, bias=bias))
    module = to_torch(layer)
    assert_same_kind(module, MODULES[cell](3, 4, depth, bias=bias, batch_first=True, bidirectional=bidirectional))
    x = torch.randn(ROWS, STEPS, 3, dtype=torch.float64, requires_grad=True)
    lengths = LENGTHS if ragged else None
    y, state = layer(x, lengths)
    expected, end = run_theirs(module, x, lengths)
    assert_close(y, expected)
    assert_close(gradients(y, x), gradients(expected, x))
    for name, final in zip(("hidden", "cell"), end, strict=False):
        assert_close(their_state(state, depth, bidirectional, name), final)
    assert_same_weights(from_torch(module), layer)


@pytest.mark.parametrize("cell", sorted(MODULES))
def test_recurrent_there_and_back(cell: str) -> None:
    """From torch and back: every weight bit for bit, and the sum of the two biases; a GRU's candidate keeps both."""
    module = shaken(MODULES[cell](3, 4, 2, bidirectional=True, batch_first=True))
    back = to_torch(from_torch(module))
    for name, weight in module.named_parameters():
        if name.startswith("weight"):
            assert torch.equal(getattr(back, name), weight)
        if name.startswith("bias_ih"):
            other = name.replace("ih", "hh")
            came, expected = (each.get_parameter(name) + each.get_parameter(other) for each in (back, module))
            gates = 8 if cell == "gru-after" else None
            assert torch.equal(came[:gates], expected[:gates])
    if cell == "gru-after":
        assert torch.equal(back.bias_ih_l0[8:], module.bias_ih_l0[8:])
        assert torch.equal(back.bias_hh_l0[8:], module.bias_hh_l0[8:])


@pytest.mark.parametrize(
    "layer",
    [
        Recurrent(LSTM(3, 4)),
        Bidirectional(Recurrent(GRUAfter(3, 4)), Recurrent(GRUAfter(3, 4))),
        Stack([Recurrent(RNN(3, 4)), Dropout(4, 0.0), Recurrent(RNN(4, 4)), VariationalDropout(4, 0.0)]),
    ],
    ids=["alone", "both directions", "with dropouts of nothing"],
)
def test_recurrent_layers_made_by_hand(layer: Layer) -> None:
    x = torch.randn(ROWS, STEPS, 3, dtype=torch.float64)
    assert_close(to_torch(shaken(layer))(x)[0], layer(x)[0])


@pytest.mark.parametrize("name", ["gru-after", "lstm"])
def test_dropout_between_layers_goes_along(name: str) -> None:
    layer = from_torch(MODULES[name](3, 4, 3, dropout=0.25))
    assert_same_kind(layer, recurrent_stack(name, 3, 4, depth=3, dropout=0.25))
    assert to_torch(layer).dropout == 0.25


def test_an_initial_state_goes_in_alike() -> None:
    module = shaken(nn.LSTM(3, 4, 2, batch_first=True))
    x, hidden, memory = (
        torch.randn(*sizes, dtype=torch.float64) for sizes in ((ROWS, 5, 3), (2, ROWS, 4), (2, ROWS, 4))
    )
    state = State({f"{k}.{n}": t[k] for k in range(2) for n, t in (("hidden", hidden), ("cell", memory))})
    assert_close(from_torch(module)(x, state=state)[0], module(x, (hidden, memory))[0])


# Attention --------------------------------------------------------------------------------------------------------

attentions = given(
    heads=st.sampled_from([1, 2, 4]), bias=st.booleans(), causal=st.booleans(), batch_first=st.booleans()
)


def hidden_from(causal: bool) -> Tensor | None:
    """torch's mask: True where a step is not seen."""
    return torch.ones(STEPS, STEPS, dtype=torch.bool).triu(1) if causal else None


def ask_theirs(module: nn.MultiheadAttention, x: Tensor, memory: Tensor, **masks: Tensor | None) -> Tensor:
    if module.batch_first:
        return module(x, memory, memory, need_weights=False, **masks)[0]
    return module(x.transpose(0, 1), *[memory.transpose(0, 1)] * 2, need_weights=False, **masks)[0].transpose(0, 1)


@attentions
def test_self_attention_both_ways(heads: int, bias: bool, causal: bool, batch_first: bool) -> None:
    module = shaken(nn.MultiheadAttention(8, heads, bias=bias, batch_first=batch_first))
    layer = self_attention_from_torch(module, causal=causal)
    back = to_torch(layer)
    assert back.batch_first
    assert_same_weights(back, module)
    assert_same_weights(from_torch(back), layer)
    x = torch.randn(ROWS, STEPS, 8, dtype=torch.float64, requires_grad=True)
    for lengths, padding in ((None, None), (LENGTHS, PADDING)):
        real = slice(None) if padding is None else ~padding
        y = layer(x, lengths)[0][real]
        for theirs in (module, back):
            expected = ask_theirs(theirs, x, x, attn_mask=hidden_from(causal), key_padding_mask=padding)[real]
            assert_close(y, expected)
            assert_close(gradients(y, x), gradients(expected, x))


@attentions
def test_cross_attention_both_ways(heads: int, bias: bool, causal: bool, batch_first: bool) -> None:
    sizes = {"kdim": 6, "vdim": 6} if causal else {}  # another size, or the same
    module = shaken(nn.MultiheadAttention(8, heads, bias=bias, batch_first=batch_first, **sizes))
    layer = cross_attention_from_torch(module)
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_weights(cross_attention_from_torch(back), layer)
    x = torch.randn(ROWS, 2, 8, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(ROWS, STEPS, sizes.get("kdim", 8), dtype=torch.float64, requires_grad=True)
    for lengths, padding in ((None, None), (LENGTHS, PADDING)):
        y, _ = layer(x, state=layer.start(memory, lengths))
        for theirs in (module, back):
            expected = ask_theirs(theirs, x, memory, key_padding_mask=padding)
            assert_close(y, expected)
            assert_close(gradients(y, x, memory), gradients(expected, x, memory))


def test_sizes_say_whether_attention_is_to_itself() -> None:
    assert type(from_torch(nn.MultiheadAttention(8, 2))) is SelfAttention
    assert type(from_torch(nn.MultiheadAttention(8, 2, kdim=6, vdim=6))) is CrossAttention


def test_attention_dropout_goes_along() -> None:
    layer = from_torch(nn.MultiheadAttention(8, 2, dropout=0.25))
    assert layer.attention.dropout == 0.25
    assert to_torch(layer).dropout == 0.25


# Transformer ------------------------------------------------------------------------------------------------------

sizes = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "layer_norm_eps": 1e-3}
parts = TransformerParts(depth=2, size=8, heads=2, hidden_size=12, dropout=0.0)
blocks = given(
    norm_first=st.booleans(),
    activation=st.sampled_from(["relu", "gelu", F.gelu, nn.SiLU(), nn.GELU("tanh"), nn.PReLU()]),
    bias=st.booleans(),
    causal=st.booleans(),
    batch_first=st.booleans(),
)


def run_encoder(module: nn.Module, x: Tensor, causal: bool, padding: Tensor | None) -> Tensor:
    first = (module.layers[0] if isinstance(module, nn.TransformerEncoder) else module).self_attn.batch_first
    masks = {"src_key_padding_mask": padding}
    if causal:
        name = "mask" if isinstance(module, nn.TransformerEncoder) else "src_mask"
        masks[name] = hidden_from(True)
    return module(x, **masks) if first else module(x.transpose(0, 1), **masks).transpose(0, 1)


def run_decoder(module: nn.Module, x: Tensor, memory: Tensor, padding: Tensor | None) -> Tensor:
    first = (module.layers[0] if isinstance(module, nn.TransformerDecoder) else module).self_attn.batch_first
    masks = {"tgt_mask": hidden_from(True), "memory_key_padding_mask": padding}
    if first:
        return module(x, memory, **masks)
    return module(x.transpose(0, 1), memory.transpose(0, 1), **masks).transpose(0, 1)


@blocks
def test_encoder_layer_both_ways(norm_first, activation, bias, causal, batch_first) -> None:
    module = shaken(
        nn.TransformerEncoderLayer(
            **sizes, norm_first=norm_first, activation=activation, bias=bias, batch_first=batch_first
        )
    )
    layer = encoder_layer_from_torch(module, causal=causal)
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_weights(from_torch(back), layer)
    x = torch.randn(ROWS, STEPS, 8, dtype=torch.float64, requires_grad=True)
    y, _ = layer(x)
    for theirs in (module, back):
        expected = run_encoder(theirs, x, causal, None)
        assert_close(y, expected)
        assert_close(gradients(y, x), gradients(expected, x), atol=1e-11)
    y = layer(x, LENGTHS)[0][~PADDING]
    for theirs in (module, back):
        assert_close(y, run_encoder(theirs, x, causal, PADDING)[~PADDING])
    with torch.no_grad():  # torch's fast path
        assert_close(y, run_encoder(back, x, causal, PADDING)[~PADDING])


@blocks
def test_decoder_layer_both_ways(norm_first, activation, bias, causal, batch_first) -> None:
    module = shaken(
        nn.TransformerDecoderLayer(
            **sizes, norm_first=norm_first, activation=activation, bias=bias, batch_first=batch_first
        )
    )
    layer = from_torch(module)
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_weights(from_torch(back), layer)
    x = torch.randn(ROWS, STEPS, 8, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(ROWS, STEPS, 8, dtype=torch.float64, requires_grad=True)
    for lengths, padding in ((None, None), (LENGTHS, PADDING)):
        y, _ = layer(x, state=layer.start(memory, lengths))
        for theirs in (module, back):
            expected = run_decoder(theirs, x, memory, padding)
            assert_close(y, expected)
            assert_close(gradients(y, x, memory), gradients(expected, x, memory), atol=1e-11)


@pytest.mark.parametrize("last", [None, nn.LayerNorm(8, eps=1e-3)], ids=["no last norm", "last norm"])
@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
def test_encoder_both_ways(causal: bool, last: nn.Module | None) -> None:
    one = nn.TransformerEncoderLayer(**sizes, norm_first=True, batch_first=True)
    module = shaken(nn.TransformerEncoder(one, 3, last, enable_nested_tensor=False))
    layer = encoder_from_torch(module, causal=causal)
    assert layer.traits.causal is causal
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_kind(back, module)
    x = torch.randn(ROWS, STEPS, 8, dtype=torch.float64)
    y = layer(x, LENGTHS)[0][~PADDING]
    for theirs in (module, back):
        assert_close(y, run_encoder(theirs, x, causal, PADDING)[~PADDING])


@pytest.mark.parametrize("last", [None, nn.LayerNorm(8)], ids=["no last norm", "last norm"])
def test_decoder_both_ways(last: nn.Module | None) -> None:
    module = shaken(nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes, batch_first=True), 3, last))
    layer = from_torch(module)
    assert layer.traits.causal
    back = to_torch(layer)
    assert_same_weights(back, module)
    assert_same_kind(back, module)
    x, memory = torch.randn(2, ROWS, STEPS, 8, dtype=torch.float64)
    y, _ = layer(x, state=layer.start(memory, LENGTHS))
    for theirs in (module, back):
        assert_close(y, run_decoder(theirs, x, memory, PADDING))


def test_a_decoder_that_sees_all_steps() -> None:
    module = shaken(nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes, batch_first=True), 2))
    x, memory = torch.randn(2, ROWS, STEPS, 8, dtype=torch.float64)
    layer = decoder_from_torch(module, causal=False)
    assert_close(layer(x, state=layer.start(memory))[0], module(x, memory))
    layer = decoder_layer_from_torch(module.layers[0], causal=False)
    assert_close(layer(x, state=layer.start(memory))[0], module.layers[0](x, memory))


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh", "swish", "prelu"])
def test_our_transformers_to_torch(order: str, activation: str) -> None:
    """What `transformer` builds; with torch's fast path, which takes nn.GELU("tanh") for the exact one, and without."""
    ours = TransformerParts(**{**vars(parts), "order": order, "activation": activation})
    x, memory = torch.randn(2, ROWS, STEPS, 8, dtype=torch.float64)
    for make, causal in ((encoder, False), (decoder, True)):
        layer = shaken(make(ours))
        expected = layer(x, LENGTHS)[0][~PADDING]
        for grad in (False, True):
            with torch.set_grad_enabled(grad):
                assert_close(run_encoder(to_torch(layer), x, causal, PADDING)[~PADDING], expected)
        assert_same_weights(from_torch(to_torch(layer)), layer)
    layer = shaken(cross_decoder(ours))
    y, _ = layer(x, state=layer.start(memory, LENGTHS))
    assert_close(run_decoder(to_torch(layer), x, memory, PADDING), y)
    assert_same_weights(from_torch(to_torch(layer)), layer)


def test_every_dropout_goes_along() -> None:
    module = nn.TransformerDecoderLayer(**sizes, dropout=0.5)
    module.dropout.p, module.dropout1.p, module.dropout2.p, module.dropout3.p = 0.1, 0.2, 0.3, 0.4
    module.self_attn.dropout, module.multihead_attn.dropout = 0.6, 0.7
    back = to_torch(from_torch(module))
    assert [each.p for each in (back.dropout, back.dropout1, back.dropout2, back.dropout3)] == [0.1, 0.2, 0.3, 0.4]
    assert (back.self_attn.dropout, back.multihead_attn.dropout) == (0.6, 0.7)


# What every conversion keeps --------------------------------------------------------------------------------------

every_module = pytest.mark.parametrize(
    "make",
    [
        lambda: nn.RNN(3, 4, 2),
        lambda: nn.LSTM(3, 4, bidirectional=True),
        lambda: nn.GRU(3, 4),
        lambda: nn.MultiheadAttention(8, 2),
        lambda: nn.MultiheadAttention(8, 2, kdim=6, vdim=6),
        lambda: nn.TransformerEncoderLayer(**sizes),
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), 2, nn.LayerNorm(8)),
    ],
    ids=["rnn", "lstm", "gru", "self-attention", "cross-attention", "encoder layer", "decoder"],
)
Make = Callable[[], nn.Module]


@every_module
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_precision_and_mode_stay(make: Make, dtype: torch.dtype, training: bool) -> None:
    layer = from_torch(make().to(dtype).train(training))
    for converted in (layer, to_torch(layer)):
        assert {weight.dtype for weight in converted.parameters()} == {dtype}
        assert {weight.device for weight in converted.parameters()} == {torch.device("cpu")}
        assert all(weight.requires_grad for weight in converted.parameters())
        assert {part.training for part in converted.modules()} == {training}


@every_module
def test_weights_are_copies(make: Make) -> None:
    module = make()
    layer = from_torch(module)
    theirs, ours, back = (
        {weight.untyped_storage().data_ptr() for weight in each.parameters()}
        for each in (module, layer, to_torch(layer))
    )
    assert not theirs & ours
    assert not ours & back


@every_module
def test_no_random_number_is_drawn(make: Make) -> None:
    module, before = make(), torch.get_rng_state()
    to_torch(from_torch(module))
    assert torch.equal(torch.get_rng_state(), before)


@every_module
def test_what_is_converted_loads_and_trains(make: Make) -> None:
    layer = from_torch(make())
    layer.load_state_dict(from_torch(make()).state_dict())
    x, memory = torch.randn(2, 5, layer.input_size), torch.randn(2, 4, getattr(layer, "memory_size", 8))
    layer(x, state=layer.start(memory))[0].square().sum().backward()
    assert all(weight.grad is not None for weight in layer.parameters())


# Refusals ---------------------------------------------------------------------------------------------------------


class Unlike(Cell):
    """A cell that we don't ship."""

    parts = ("hidden",)

    def step(self, projected, state):
        return projected, State(hidden=projected)


def block(attention: Layer, feed_forward: Layer | None = None, **settings) -> Stack:
    around = settings.pop("around", PreNorm)
    settings.setdefault("norm", "layer")
    return Stack([around(attention, **settings), around(feed_forward or FeedForward(8, 12), **settings)])


RESIDUAL = recurrent_stack("lstm", 3, 4, depth=2, connection="residual")
DENSE = recurrent_stack("lstm", 3, 4, depth=2, connection="dense")

ours_without_equal = {
    "GRU has .* before the product, that of nn.GRU after it; use GRUAfter": recurrent_stack("gru", 3, 4, depth=2),
    "SigmoidRNN has .* nn.RNN has tanh and relu alone": recurrent_stack("rnn-sigmoid", 3, 4),
    "LinearRNN has .* nn.RNN has tanh and relu alone": recurrent_stack("rnn-linear", 3, 4),
    "LSTMNoTanh has .* as o ⊙ c; use LSTM": recurrent_stack("lstm-no-tanh", 3, 4),
    "LSTMPeephole has .* don't see its memory; use LSTM": Recurrent(CELLS["lstm-peephole"](3, 4)),
    "LSTMCoupled has .* an input gate of its own; use LSTM": recurrent_stack("lstm-coupled", 3, 4, bidirectional=True),
    "LSTMLayerNorm has .* normalises nothing inside; use LSTM": recurrent_stack("lstm-layer-norm", 3, 4),
    "Unlike has .* no cell of this equation": Recurrent(Unlike(3, 4)),
    "Residual has .* no way around a layer; use connection='plain'": RESIDUAL,
    "DenseStack has .* read the one below alone; use connection='plain'": DENSE,
    "Backwards has .* only beside forwards; use Bidirectional": Backwards(Recurrent(LSTM(3, 4))),
    r"weight_drop=0\.1\), and torch.nn can't": recurrent_stack("lstm", 3, 4, weight_drop=0.1),
    r"zoneout=0\.1\), and torch.nn can't": recurrent_stack("lstm", 3, 4, zoneout=0.1),
    "initial state is 'learned', that of .* zero": recurrent_stack("lstm", 3, 4, initial="learned"),
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
    "nn.GRU hold no FeedForward": Stack([Recurrent(RNN(3, 8)), FeedForward(8, 12)]),
    "knows recurrent layers, multi-head attention and Transformer blocks": Stack([Dropout(3, 0.1)]),
    "FeedForward has no equal in torch.nn: to_torch knows": FeedForward(8, 12),
    "2 key heads for 4 heads": SelfAttention(8, 4, key_heads=2),
    "head_size 3, value_size 3, output_size 8; in nn.MultiheadAttention": SelfAttention(8, 2, head_size=3),
    "head_size 4, value_size 4, output_size 6": CrossAttention(8, 8, 2, output_size=6),
    "Rotary has .* by its position; use rotary=None": SelfAttention(8, 2, rotary=Rotary(4)),
    "window of 3 steps": SelfAttention(8, 2, causal=True, window=3),
    "weighting is 'sum'": SelfAttention(8, 2, weighting="sum"),
    "PlainSelfAttention has .* always has projections": PlainSelfAttention(8, score="scaled-dot"),
    "Rotary has no equal": decoder(TransformerParts(**{**vars(MODERN), "depth": 1})),
    "GatedFeedForward has .* no gate; use FeedForward": encoder(TransformerParts(**{**vars(parts), "gated": True})),
    "RMSNorm has .* use LayerNorm": encoder(TransformerParts(**{**vars(parts), "norm": "rms"})),
    "some of its maps and norms have a bias": encoder(TransformerParts(**{**vars(parts), "bias": False})),
    "has layer norms; use LayerNorm": block(SelfAttention(8, 2), norm="none"),
    "leaves out each value by itself; use Dropout": block(SelfAttention(8, 2), dropout=VariationalDropout(8, 0.1)),
    "it holds FeedForward, SelfAttention": block(FeedForward(8, 12), SelfAttention(8, 2)),
    "PreNorm or PostNorm around each": Stack(
        [PreNorm(SelfAttention(8, 2), norm="layer"), PostNorm(FeedForward(8, 12), norm="layer")]
    ),
    "size of its memory is 6, its own 8": cross_decoder(parts, memory_size=6),
    "it holds a Dropout": Stack([encoder(parts).layers["0"], Dropout(8, 0.1)]),
    "some of its blocks look at a memory": Stack([encoder(parts).layers["0"], cross_decoder(parts).layers["0"]]),
    "2 heads to itself and 4 to its memory": Stack(
        [
            PreNorm(SelfAttention(8, 2), norm="layer"),
            PreNorm(CrossAttention(8, 8, 4), norm="layer"),
            PreNorm(FeedForward(8, 12), norm="layer"),
        ]
    ),
}


@pytest.mark.parametrize(("sentence", "layer"), ours_without_equal.items(), ids=ours_without_equal)
def test_what_torch_has_no_equal_of_is_refused(sentence: str, layer: Layer) -> None:
    with pytest.raises(NoEqual, match=sentence) as caught:
        to_torch(layer)
    assert " has no equal in torch.nn: " in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("score", [name for name in SCORES if name != "scaled-dot"])
def test_other_scores_are_refused(score: str) -> None:
    with pytest.raises(NoEqual, match=f"{SCORES[score].__name__} has no equal .* scaled dot product alone"):
        to_torch(SelfAttention(8, 2, score=score))


class MyLSTM(nn.LSTM):
    """May compute anything."""


theirs_without_equal = {
    "LSTM with proj_size=2 has no equal in seqloom: .* put a linear layer": nn.LSTM(3, 4, proj_size=2),
    "kdim=5 and vdim=6 .* one memory": nn.MultiheadAttention(8, 2, kdim=5, vdim=6),
    "MultiheadAttention with add_bias_kv": nn.MultiheadAttention(8, 2, add_bias_kv=True),
    "MultiheadAttention with add_zero_attn": nn.MultiheadAttention(8, 2, add_zero_attn=True),
    "the activation silu .* nn.SiLU": nn.TransformerEncoderLayer(**sizes, activation=F.silu),
    r"the norm RMSNorm.* from_torch knows nn.LayerNorm": nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**sizes), 1, nn.RMSNorm(8), enable_nested_tensor=False
    ),
    "Linear has no equal in seqloom: from_torch knows nn.RNN, nn.LSTM, nn.GRU, nn.MultiheadAttention": nn.Linear(3, 4),
    "MyLSTM has .* no subclass of them": MyLSTM(3, 4),
}


@pytest.mark.parametrize(("sentence", "module"), theirs_without_equal.items(), ids=theirs_without_equal)
def test_what_we_have_no_equal_of_is_refused(sentence: str, module: nn.Module) -> None:
    with pytest.raises(NoEqual, match=sentence):
        from_torch(module)


def test_self_attention_from_a_module_for_another_sequence() -> None:
    with pytest.raises(
        NoEqual, match="MultiheadAttention with kdim=6 has no equal in SelfAttention: its own size is 8"
    ):
        self_attention_from_torch(nn.MultiheadAttention(8, 2, kdim=6, vdim=6))
