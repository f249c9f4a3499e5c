"""From config to encoder-decoder: every combination is built, learns and writes; sizes are those of the papers."""

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
from seqloom.nn.cells import CELLS
from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, NoContext, PooledContext
from seqloom.nn.model import EncoderDecoder
from seqloom.nn.recurrent import Recurrent
from seqloom.tasks.registry import experiment

LONGEST = 9


def built(vocabulary: int = 11, longest: int = LONGEST, **model: Any) -> EncoderDecoder:
    part = experiment({"task": "translate", "model": {"size": "tiny", **model}}).model
    target = part.tokens(vocabulary, max_length=longest)
    reads = encoder_section(part, longest) or part
    tied = target if keys(part, EncoderDecoderKeys).tied else None
    source = reads.tokens(vocabulary, max_length=longest, tied=tied)
    return encoder_decoder.build(part, source, target, max_length=longest, smoothing=0.1)


def learns_and_writes(model: EncoderDecoder) -> None:
    torch.manual_seed(1)
    source, given, target = (torch.randint(11, (2, time)) for time in (7, 5, 5))
    lengths, target_lengths = torch.tensor([7, 4]), torch.tensor([5, 3])
    loss = model.loss(source, given, target, lengths, target_lengths)
    loss.mean.backward()
    assert all(weight.grad is not None for weight in model.parameters())
    model.eval()
    whole, _ = model.step(given, model.start(source, lengths))
    state = model.start(source, lengths)
    for t in range(5):
        logits, state = model.next_token_logits(given[:, t : t + 1], state)
        torch.testing.assert_close(logits, whole[:, t], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("arch", [arch for arch in ARCHITECTURES if arch != "mixer"])
def test_every_architecture_writes(arch: str) -> None:
    learns_and_writes(built(arch=arch))


@pytest.mark.parametrize("encoder", ARCHITECTURES)
@pytest.mark.parametrize("arch", ["gru", "transformer"])
def test_every_encoder_goes_with_every_decoder(arch: str, encoder: str) -> None:
    learns_and_writes(built(arch=arch, encoder=encoder, encoder_depth=2))


COMBINATIONS = list(product(("additive", "dot"), ("before", "after"), ("concatenation", "tanh"), (False, True)))


@pytest.mark.parametrize(("attention", "attend", "meeting", "input_feeding"), COMBINATIONS)
def test_every_attentive_decoder(attention: str, attend: str, meeting: str, input_feeding: bool) -> None:
    model = built(arch="lstm", attention=attention, attend=attend, combine=meeting, input_feeding=input_feeding)
    assert isinstance(model.decoder, AttentionDecoder)
    assert type(model.decoder.context) is (AttentionBefore if attend == "before" else AttentionAfter)
    assert model.decoder.input_feeding == input_feeding
    learns_and_writes(model)


@pytest.mark.parametrize("score", names.SCORES)
def test_every_score_with_both_kinds_of_decoder(score: str) -> None:
    learns_and_writes(built(arch="rnn", attention=score))
    learns_and_writes(built(arch="transformer", score=score))


def refused(**model: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        built(**model)
    assert "\n" not in str(caught.value)
    return str(caught.value)


SUMMARIES = [(summary, feed) for summary in get_args(names.Summary) for feed in ("every", "first") if summary != "none"]


@pytest.mark.parametrize(("summary", "feed"), SUMMARIES)
@pytest.mark.parametrize("arch", ["window", "conv", *CELLS])
def test_without_attention(arch: str, summary: str, feed: str) -> None:
    model = built(arch=arch, attention="none", context_pool=summary, context_input=feed)
    assert isinstance(model.decoder.context, PooledContext)
    learns_and_writes(model)
    assert what_the_encoder_learns(model) > 0


@pytest.mark.parametrize("arch", CELLS)
def test_without_attention_and_summary(arch: str) -> None:
    model = built(arch=arch, attention="none")
    assert isinstance(model.decoder.context, NoContext)
    learns_and_writes(model)
    assert what_the_encoder_learns(model) > 0


@pytest.mark.parametrize("bridge", ["source", "none"])
@pytest.mark.parametrize("arch", ["window", "conv"])
def test_without_a_state_to_begin_in_it_needs_attention_or_a_summary(arch: str, bridge: str) -> None:
    sentence = refused(arch=arch, attention="none", bridge=bridge)
    assert f"nothing of the source reaches {arch}," in sentence
    assert "Give model.context_pool mean, or a model.attention such as additive" in sentence


def what_the_encoder_learns(model: EncoderDecoder) -> float:
    """The largest gradient in it."""
    return max(weight.grad.abs().max().item() for weight in model.encoder.parameters() if weight.grad is not None)


@pytest.mark.parametrize("attention", ["none", "additive"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("arch", ["rnn", "lstm", "gru"])
def test_a_decoder_that_the_source_begins_has_no_first_state_of_its_own(
    arch: str, bidirectional: bool, attention: str
) -> None:
    model = built(arch=arch, attention=attention, bidirectional=bidirectional, initial_state="learned")
    assert begins(model.encoder) == {"learned"}
    assert begins(model.decoder) == {"zero"}
    learns_and_writes(model)


@pytest.mark.parametrize("arch", ["rnn", "lstm", "gru"])
def test_a_decoder_without_a_bridge_has_the_initial_state_of_the_config(arch: str) -> None:
    for encoder in (arch, "conv"):
        model = built(arch=arch, encoder=encoder, bridge="none", initial_state="learned")
        assert begins(model.decoder) == {"learned"}
        learns_and_writes(model)


def begins(layer: nn.Module) -> set[str]:
    """How its recurrent layers do."""
    return {part.initial_kind for part in layer.modules() if isinstance(part, Recurrent)}


def test_a_first_state_that_no_layer_would_have_is_refused() -> None:
    for initial in ("learned", "random"):
        sentence = refused(arch="gru", encoder="transformer", initial_state=initial)
        assert sentence.startswith(f"model.initial_state {initial} has no use here")
        assert "model.bridge none" in sentence


def test_the_encoders_last_state_is_the_decoders_first_where_they_agree() -> None:
    """Sutskever 2014: one direction, the same cell."""
    sutskever = built(arch="lstm", attention="none", bidirectional=False)
    assert isinstance(sutskever.decoder.bridge, CopyBridge)
    assert not isinstance(built(arch="lstm", attention="none").decoder.bridge, CopyBridge)
    learns_and_writes(sutskever)


@pytest.mark.parametrize("arch", ["gru", "transformer"])
def test_one_matrix_for_both_embeddings_and_the_output(arch: str) -> None:
    model = built(arch=arch, tied=True, **({"dim": 32} if arch == "transformer" else {}))
    of_vocabulary = [name for name, weight in model.named_parameters() if 11 in weight.shape]
    assert of_vocabulary == ["target_stem.embedding.weight"]
    learns_and_writes(model)


def test_base_has_the_parameters_of_the_2017_paper() -> None:
    """One matrix of 37,000 tokens; six blocks of 4 d² + 2 d f and their biases and norms, six with 8 d² more."""
    with torch.device("meta"):
        model = built(vocabulary=37_000, longest=129, arch="transformer", size="base")
    d, hidden, depth = 512, 2048, 6
    attention, feed_forward, norm = 4 * (d * d + d), 2 * d * hidden + hidden + d, 2 * d
    encoder = depth * (attention + feed_forward + 2 * norm)
    decoder = depth * (2 * attention + feed_forward + 3 * norm)
    assert sum(weight.numel() for weight in model.parameters()) == 37_000 * d + encoder + decoder == 63_082_496
