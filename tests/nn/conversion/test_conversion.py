"""Properties that every conversion keeps."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from seqloom.nn.conversion import from_torch, to_torch
from seqloom.nn.deep_recurrent import recurrent_stack

sizes = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "layer_norm_eps": 1e-3}

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
def test_precision_and_mode_are_kept(make: Make, dtype: torch.dtype, training: bool) -> None:
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
        {weight.untyped_storage().data_ptr() for weight in module_.parameters()}
        for module_ in (module, layer, to_torch(layer))
    )
    assert not theirs & ours
    assert not ours & back


@every_module
def test_no_random_number_is_drawn(make: Make) -> None:
    module, before = make(), torch.get_rng_state()
    to_torch(from_torch(module))
    assert torch.equal(torch.get_rng_state(), before)


@every_module
def test_a_converted_layer_loads_and_trains(make: Make) -> None:
    layer = from_torch(make())
    layer.load_state_dict(from_torch(make()).state_dict())
    x, memory = torch.randn(2, 5, layer.input_size), torch.randn(2, 4, getattr(layer, "memory_size", 8))
    layer(x, state=layer.start(memory))[0].square().sum().backward()
    assert all(weight.grad is not None for weight in layer.parameters())


@every_module
@pytest.mark.parametrize("device", ["meta", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_device_is_kept(make: Make, device: str) -> None:
    module = make().to(device)
    layer = from_torch(module)
    back = to_torch(layer)
    assert {weight.device.type for module_ in (layer, back) for weight in module_.parameters()} == {device}


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["rnn", "lstm", "gru-after"])
def test_recurrences_agree_on_the_device(name: str) -> None:
    layer = recurrent_stack(name, 3, 4, depth=2, bidirectional=True).cuda().double()
    x = torch.randn(2, 5, 3, device="cuda", dtype=torch.float64)
    torch.testing.assert_close(to_torch(layer)(x)[0], layer(x)[0], rtol=0, atol=1e-12)
