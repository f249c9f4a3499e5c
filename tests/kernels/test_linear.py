"""Products with packed weights equal ordinary ones, also after a weight has changed."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Barrier

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from seqloom.core.config.decode import Decode
from seqloom.decoding.decode import decode
from seqloom.kernels.linear import MIN_NUMEL, PackedWeights, is_packable, is_supported_input, linear
from seqloom.nn import GRU, AttentionBefore, AttentionDecoder, ConcatCombine, PerToken, Recurrent, TokenEmbedding
from seqloom.nn.bridges import LearnedBridge
from seqloom.nn.model import EncoderDecoder


@pytest.mark.parametrize("shape", [(1, 256), (3, 256), (2, 5, 256)])
@pytest.mark.parametrize("bias", [True, False])
def test_a_packed_product_equals_the_ordinary_one(shape: tuple[int, ...], bias: bool) -> None:
    layer, x = nn.Linear(256, 100, bias=bias), torch.randn(shape)
    with torch.no_grad(), PackedWeights():
        assert is_supported_input(x)
        assert is_packable(layer.weight)
        for _ in range(3):
            y = linear(x, layer.weight, layer.bias)
            torch.testing.assert_close(y, F.linear(x, layer.weight, layer.bias), atol=1e-5, rtol=1e-5)


def test_unsupported_products_are_not_packed() -> None:
    weight, x = nn.Parameter(torch.randn(256, 256)), torch.randn(2, 256)
    with torch.no_grad():
        assert is_supported_input(x)
        assert not is_supported_input(x.double())
        assert not is_supported_input(x[:0])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert not is_supported_input(x)
        assert PackedWeights().copy_of(weight) is weight
        assert PackedWeights().copy_of(weight.detach()) is None  # not a parameter
        assert PackedWeights().copy_of(nn.Parameter(torch.randn(MIN_NUMEL // 8 - 1, 8))) is None
        assert PackedWeights().copy_of(nn.Parameter(torch.randn(256, 256, dtype=torch.float64))) is None
    assert not is_supported_input(x)  # a gradient is required
    with PackedWeights():
        linear(x, weight).sum().backward()
    torch.testing.assert_close(weight.grad, x.sum(dim=0).expand(256, -1))


def test_a_weight_is_packed_at_the_second_product() -> None:
    weight, packed = nn.Parameter(torch.randn(256, 256)), PackedWeights()
    with torch.no_grad(), packed:
        assert packed.copy_of(weight) is weight
        copy = packed.copy_of(weight)
        assert copy is not None
        assert copy.is_mkldnn
        with packed:
            assert packed.copy_of(weight) is copy
            assert PackedWeights.current() is packed
    assert PackedWeights.current() is not packed
    assert PackedWeights().copy_of(weight) is weight


def translator() -> EncoderDecoder:
    torch.manual_seed(1)
    body = Recurrent(GRU(64 + 64, 128))
    decoder = AttentionDecoder(
        body, AttentionBefore(128, 64, "additive"), ConcatCombine(64, 128), LearnedBridge(64, body)
    )
    return EncoderDecoder(
        TokenEmbedding(300, 64), Recurrent(GRU(64, 64)), TokenEmbedding(300, 64), decoder, PerToken(192, 300)
    )


def test_decodings_in_one_context_share_packed_weights() -> None:
    model, packed = translator().eval(), PackedWeights()
    weight = next(parameter for parameter in model.head.parameters() if parameter.dim() == 2)
    source, options = torch.arange(12).reshape(2, 6), Decode(temperature=0, beam_size=1, max_length=3)
    copies = []
    with torch.no_grad(), packed:
        for _ in range(2):
            decode(model, source, prompts=[[0], [0]], end=None, options=options)
            copies.append(packed.copy_of(weight))
    assert copies[0].is_mkldnn
    assert copies[0] is copies[1]


def test_packed_weights_close_in_the_thread_that_opened_them() -> None:
    """As in a server, whose threads start with the context of their parent."""
    packed, both_inside = PackedWeights(), Barrier(2)

    def answer() -> bool:
        with PackedWeights.current():
            both_inside.wait(timeout=10)
        both_inside.wait(timeout=10)
        return PackedWeights.current() is packed

    with packed, ThreadPoolExecutor(2) as threads:
        assert all(future.result() for future in [threads.submit(copy_context().run, answer) for _ in range(2)])


def test_each_decoding_uses_the_present_weights() -> None:
    """A fused optimizer changes weights without raising their version."""
    model = translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, fused=True)
    source, options = torch.arange(12).reshape(2, 6), Decode(temperature=0, beam_size=2, max_length=5)
    for _ in range(3):
        model.loss(source, source, source).mean.backward()
        optimizer.step()
        model.eval()
        hypotheses = decode(model, source, prompts=[[0], [0]], end=1, options=options)
        model.train()
        for row, (best, *_) in enumerate(hypotheses):
            inputs = torch.tensor([[0, *best.tokens]])
            with torch.no_grad():
                log_p = model.step(inputs, model.start(source[row : row + 1]))[0].log_softmax(dim=2)[0]
            tokens = [*best.tokens, 1][: len(best.log_probs)]
            total = sum(float(log_p[t, token]) for t, token in enumerate(tokens))
            assert best.total == pytest.approx(total, abs=1e-3)
