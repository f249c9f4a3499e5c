"""From config to encoder-decoder: every combination trains and decodes; sizes are those of the papers."""

from itertools import product
from typing import Any, get_args

import pytest
import torch
from torch import nn

from seqloom.core import names
from seqloom.core.config.section import keys
from seqloom.core.problem import ConfigError
from seqloom.models import encoder_decoder
from seqloom.models.encoder_decoder import EncoderDecoderKeys, encoder_section
from seqloom.models.registry import ARCHITECTURES
from seqloom.nn.attention_decoder import AttentionDecoder
from seqloom.nn.bridges import CopyBridge
from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, NoContext, PooledContext
from seqloom.nn.model import EncoderDecoder
from seqloom.nn.recurrent import Recurrent
from seqloom.tasks.registry import experiment

MAX_LENGTH = 9


def build(vocabulary: int = 11, max_length: int = MAX_LENGTH, **model: Any) -> EncoderDecoder:
    section = experiment({"task": "translate", "model": {"size": "tiny", **model}}).model
    target = section.tokens(vocabulary, max_length=max_length)
    of_encoder = encoder_section(section, max_length) or section
    tied = target if keys(section, EncoderDecoderKeys).tied else None
    source = of_encoder.tokens(vocabulary, max_length=max_length, tied=tied)
    return encoder_decoder.build(section, source, target, max_length=max_length, smoothing=0.1)


def check_training_and_decoding(model: EncoderDecoder) -> None:
    torch.manual_seed(1)
    source, inputs, target = (torch.randint(11, (2, time)) for time in (7, 5, 5))
    lengths, target_lengths = torch.tensor([7, 4]), torch.tensor([5, 3])
    loss = model.loss(source, inputs, target, lengths, target_lengths)
    loss.mean.backward()
    assert all(weight.grad is not None for weight in model.parameters())
    model.eval()
    expected, _ = model.step(inputs, model.start(source, lengths))
    state = model.start(source, lengths)
    for t in range(5):
        logits, state = model.next_token_logits(inputs[:, t : t + 1], state)
        torch.testing.assert_close(logits, expected[:, t], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("arch", [arch for arch in ARCHITECTURES if arch != "mixer"])
def test_every_architecture_decodes(arch: str) -> None:
    check_training_and_decoding(build(arch=arch))


@pytest.mark.parametrize("encoder", ["window", "mixer", "conv", "lstm", "transformer"])  # one of each family
@pytest.mark.parametrize("arch", ["gru", "transformer"])
def test_every_encoder_works_with_every_decoder(arch: str, encoder: str) -> None:
    check_training_and_decoding(build(arch=arch, encoder=encoder, encoder_depth=2))


COMBINATIONS = list(product(("additive", "dot"), ("before", "after"), ("concatenation", "tanh"), (False, True)))


@pytest.mark.parametrize(("attention", "attend", "combine", "input_feeding"), COMBINATIONS)
def test_every_attention_decoder_trains_and_decodes(
    attention: str, attend: str, combine: str, input_feeding: bool
) -> None:
    model = build(arch="lstm", attention=attention, attend=attend, combine=combine, input_feeding=input_feeding)
    assert isinstance(model.decoder, AttentionDecoder)
    assert type(model.decoder.context) is (AttentionBefore if attend == "before" else AttentionAfter)
    assert model.decoder.input_feeding == input_feeding
    check_training_and_decoding(model)


@pytest.mark.parametrize("score", names.SCORES)
def test_every_score_works_with_both_kinds_of_decoder(score: str) -> None:
    check_training_and_decoding(build(arch="rnn", attention=score))
    check_training_and_decoding(build(arch="transformer", score=score))


def refusal(**model: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        build(**model)
    assert "\n" not in str(caught.value)
    return str(caught.value)


POOLS = [name for name in get_args(names.Summary) if name != "none"]


@pytest.mark.parametrize(("pool", "context_input"), list(product(POOLS, ("every", "first"))))
@pytest.mark.parametrize("arch", ["window", "conv", "lstm"])
def test_without_attention_the_decoder_uses_a_pooled_context(arch: str, pool: str, context_input: str) -> None:
    model = build(arch=arch, attention="none", context_pool=pool, context_input=context_input)
    assert isinstance(model.decoder.context, PooledContext)
    check_training_and_decoding(model)
    assert largest_encoder_gradient(model) > 0


@pytest.mark.parametrize("arch", ["rnn", "lstm", "gru"])
def test_without_attention_or_pool_the_decoder_uses_the_bridge(arch: str) -> None:
    model = build(arch=arch, attention="none")
    assert isinstance(model.decoder.context, NoContext)
    check_training_and_decoding(model)
    assert largest_encoder_gradient(model) > 0


@pytest.mark.parametrize("bridge", ["source", "none"])
@pytest.mark.parametrize("arch", ["window", "conv"])
def test_a_decoder_without_a_state_needs_attention_or_a_context_pool(arch: str, bridge: str) -> None:
    sentence = refusal(arch=arch, attention="none", bridge=bridge)
    assert f"{arch} can't see the source," in sentence
    assert "Give model.context_pool mean, or a model.attention such as additive" in sentence


def largest_encoder_gradient(model: EncoderDecoder) -> float:
    return max(weight.grad.abs().max().item() for weight in model.encoder.parameters() if weight.grad is not None)


@pytest.mark.parametrize("attention", ["none", "additive"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("arch", ["rnn", "lstm", "gru"])
def test_a_decoder_with_a_bridge_has_no_learned_initial_state(arch: str, bidirectional: bool, attention: str) -> None:
    model = build(arch=arch, attention=attention, bidirectional=bidirectional, initial_state="learned")
    assert initial_kinds(model.encoder) == {"learned"}
    assert initial_kinds(model.decoder) == {"zero"}
    check_training_and_decoding(model)


@pytest.mark.parametrize("arch", ["rnn", "lstm", "gru"])
def test_a_decoder_without_a_bridge_has_the_initial_state_of_the_config(arch: str) -> None:
    for encoder in (arch, "conv"):
        model = build(arch=arch, encoder=encoder, bridge="none", initial_state="learned")
        assert initial_kinds(model.decoder) == {"learned"}
        check_training_and_decoding(model)


def initial_kinds(layer: nn.Module) -> set[str]:
    return {module.initial_kind for module in layer.modules() if isinstance(module, Recurrent)}


def test_an_initial_state_without_effect_is_refused() -> None:
    for initial in ("learned", "random"):
        sentence = refusal(arch="gru", encoder="transformer", initial_state=initial)
        assert sentence.startswith(f"model.initial_state {initial} has no effect here")
        assert "model.bridge none" in sentence


def test_the_last_state_of_an_encoder_with_the_same_cell_is_copied() -> None:
    """As in Sutskever et al. 2014: one direction, the same cell."""
    model = build(arch="lstm", attention="none", bidirectional=False)
    assert isinstance(model.decoder.bridge, CopyBridge)
    assert not isinstance(build(arch="lstm", attention="none").decoder.bridge, CopyBridge)
    check_training_and_decoding(model)


@pytest.mark.parametrize("arch", ["gru", "transformer"])
def test_tied_weights_are_one_matrix(arch: str) -> None:
    model = build(arch=arch, tied=True, **({"dim": 32} if arch == "transformer" else {}))
    matrices = [name for name, weight in model.named_parameters() if 11 in weight.shape]
    assert matrices == ["target_stem.embedding.weight"]
    check_training_and_decoding(model)


def test_base_has_as_many_parameters_as_the_2017_paper() -> None:
    """One matrix of 37,000 tokens; six blocks of 4 d² + 2 d f and their biases and norms, six with 8 d² more."""
    with torch.device("meta"):
        model = build(vocabulary=37_000, max_length=129, arch="transformer", size="base")
    d, hidden, depth = 512, 2048, 6
    attention, feed_forward, norm = 4 * (d * d + d), 2 * d * hidden + hidden + d, 2 * d
    encoder = depth * (attention + feed_forward + 2 * norm)
    decoder = depth * (2 * attention + feed_forward + 3 * norm)
    assert sum(weight.numel() for weight in model.parameters()) == 37_000 * d + encoder + decoder == 63_082_496
