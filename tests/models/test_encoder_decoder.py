"""From config to encoder-decoder: every combination trains and decodes; sizes are those of the papers."""

import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from torch import nn

from seqloom import register
from seqloom.core import names
from seqloom.core.config.section import keys
from seqloom.core.config.toml import to_toml
from seqloom.core.problem import ArgumentError, ConfigError
from seqloom.models import encoder_decoder
from seqloom.models.encoder_decoder import AttentionDecoderKeys, EncoderDecoderKeys, encoder_section
from seqloom.models.registry import ARCHITECTURES
from seqloom.nn.attention_decoder import AttentionDecoder
from seqloom.nn.bridges import LastBridge, LastMapBridge, LearnedBridge, NoBridge
from seqloom.nn.cells import GRU
from seqloom.nn.convolution import CausalConvolution, CenteredConvolution
from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, NoContext, PooledContext
from seqloom.nn.layer import Layer
from seqloom.nn.model import EncoderDecoder
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.tasks.registry import experiment
from tests.temporary_parts import temporary_parts

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


DEFAULT_BRIDGES: list[tuple[str, dict[str, Any]]] = [
    # Without attention the encoder's final state, copied where it fits (Sutskever et al. 2014).
    ("last", {"attention": "none", "bidirectional": False}),
    ("last", {"attention": "none", "bidirectional": False, "depth": 2, "connection": "dense"}),
    ("last", {"attention": "none", "bidirectional": False, "context_pool": "mean"}),
    ("last-map", {"attention": "none"}),
    ("last-map", {"attention": "none", "context_pool": "last"}),
    ("last-map", {"attention": "none", "bidirectional": False, "encoder_depth": 2}),
    ("last-map", {"attention": "none", "bidirectional": False, "encoder": "gru"}),
    # The mean where there is no final state, because the last output may have seen only a few positions.
    ("mean-map", {"attention": "none", "encoder": "transformer"}),
    ("mean-map", {"attention": "none", "encoder": "conv"}),
    ("mean-map", {"attention": "none", "encoder": "window"}),
    ("mean-map", {"attention": "none", "encoder": "mixer"}),
    # With attention as in older versions.
    ("last", {"bidirectional": False}),
    ("mean-map", {}),
    ("mean-map", {"bidirectional": False, "encoder": "gru"}),
    ("mean-map", {"bidirectional": False, "encoder_depth": 2}),
    ("mean-map", {"encoder": "conv"}),
    ("none", {"arch": "conv"}),
    ("none", {"arch": "window", "attention": "none", "context_pool": "max"}),
]


@pytest.mark.parametrize(("bridge", "options"), DEFAULT_BRIDGES)
def test_the_default_bridge_is_in_the_config(bridge: str, options: dict[str, Any]) -> None:
    raw = {"task": "translate", "model": {"size": "tiny", "arch": "lstm", **options}}
    config = experiment(raw)
    assert keys(config.model, AttentionDecoderKeys).bridge == bridge
    assert f'bridge = "{bridge}"' in to_toml(config)
    model = build(**{"arch": "lstm", **options})
    assert type(model.decoder.bridge) is BRIDGE_TYPES[bridge]
    check_training_and_decoding(model)
    if "attention" not in options:  # as `source`, which older runs have
        torch.manual_seed(1)
        explicit = build(**{"arch": "lstm", **options, "bridge": bridge}).state_dict()
        torch.manual_seed(1)
        source = build(**{"arch": "lstm", **options, "bridge": "source"}).state_dict()
        assert list(source) == list(explicit)
        assert all(torch.equal(source[name], weight) for name, weight in explicit.items())


BRIDGE_TYPES = {"last": LastBridge, "last-map": LastMapBridge, "mean-map": LearnedBridge, "none": NoBridge}


@pytest.mark.parametrize("bridge", ["last", "last-map", "mean", "mean-map", "source"])
@pytest.mark.parametrize("connection", ["plain", "residual"])
@pytest.mark.parametrize("depth", [1, 2])
def test_every_bridge_trains_and_decodes(bridge: str, connection: str, depth: int) -> None:
    options = {"bidirectional": False, "connection": connection, "depth": depth, "dim": 64}
    model = build(arch="lstm", attention="none", bridge=bridge, **options)
    check_training_and_decoding(model)
    assert largest_encoder_gradient(model) > 0


@pytest.mark.parametrize("context_pool", ["last", "last-step"])
def test_the_last_context_of_a_bidirectional_encoder_has_both_directions(context_pool: str) -> None:
    model = build(arch="gru", attention="none", context_pool=context_pool).eval()
    lengths = torch.tensor([7, 4])
    memory, final = model.encoder(torch.randn(2, 7, 32), lengths)
    c = model.decoder.start(memory, lengths, final)["context.pooled"]
    backward = final["recurrent.0.backwards.reversed.hidden"] if context_pool == "last" else memory[[0, 1], [6, 3], 64:]
    torch.testing.assert_close(c, torch.cat([final["recurrent.0.forwards.hidden"], backward], dim=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "an encoder that reads in both directions has one that is twice as wide as the decoder's"),
        ({"encoder": "gru"}, "an encoder that reads in both directions has one that is twice as wide as the decoder's"),
        ({"bidirectional": False, "encoder_depth": 2}, "the encoder has 2 layers and the decoder 1"),
        ({"encoder": "gru", "bidirectional": False}, "gru carries hidden, and lstm hidden and cell"),
    ],
)
def test_a_final_state_that_can_not_be_copied_is_refused(options: dict[str, Any], message: str) -> None:
    sentence = refusal(arch="lstm", attention="none", bridge="last", **options)
    assert sentence.startswith(f"model.bridge last copies the encoder's final state, but {message}. ")
    assert sentence.endswith("Give model.bridge last-map, which fits states of any sizes.")


@pytest.mark.parametrize("bridge", ["last", "last-map"])
@pytest.mark.parametrize("encoder", ["conv", "window", "mixer", "transformer"])
def test_a_final_state_of_an_encoder_that_has_none_is_refused(encoder: str, bridge: str) -> None:
    for attention in ("none", "additive"):
        sentence = refusal(arch="gru", encoder=encoder, attention=attention, bridge=bridge)
        message = f"model.bridge {bridge} reads the encoder's final state, but {encoder} has none. "
        assert sentence == f"{message}Give model.bridge mean-map, which fits any encoder."
    raw = {"task": "caption", "model": {"attention": "none", "context_pool": "mean", "bridge": bridge}}
    with pytest.raises(ConfigError, match="but there is no encoder"):
        experiment(raw)


@pytest.mark.parametrize("encoder", ["gru", "transformer"])
def test_bridges_are_checked_without_torch(encoder: str) -> None:
    script = f"""
import sys
from seqloom.core.problem import ConfigError
from seqloom.tasks.registry import experiment
options = {{"bidirectional": False}} if {encoder!r} == "gru" else {{}}
for bridge in ("last", "mean"):
    model = {{"arch": "lstm", "encoder": {encoder!r}, "attention": "none", "bridge": bridge, "dim": 64, **options}}
    try:
        experiment({{"task": "translate", "model": model}})
    except ConfigError as error:
        print(error)
    assert "torch" not in sys.modules
"""
    command = [sys.executable, "-c", script]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]).stdout
    assert output.startswith("model.bridge last ")


def test_a_state_of_another_cell_is_copied_if_its_shapes_fit() -> None:
    options = {"attention": "none", "bridge": "last", "bidirectional": False}
    check_training_and_decoding(build(arch="gru", encoder="rnn", **options))
    check_training_and_decoding(build(arch="lstm", encoder="lstm-coupled", **options))


def one_way(size: int, *, causal: bool) -> Layer:
    return Recurrent(GRU(size, 8))


def both_ways(size: int, *, causal: bool) -> Layer:
    return one_way(size, causal=True) if causal else Bidirectional(*(Recurrent(GRU(size, 4)) for _ in range(2)))


def as_wide_as_its_input(size: int, *, causal: bool) -> Layer:
    return Recurrent(GRU(size, size))


def twice_as_wide(size: int, *, causal: bool) -> Layer:
    return one_way(size, causal=True) if causal else Bidirectional(*(Recurrent(GRU(size, 8)) for _ in range(2)))


def convolution(size: int, *, causal: bool) -> Layer:
    return (CausalConvolution if causal else CenteredConvolution)(size, size, kernel_size=3)


def recurrent_decoder(size: int, *, causal: bool) -> Layer:
    return one_way(size, causal=True) if causal else convolution(size, causal=False)


@pytest.mark.parametrize("layers", [one_way, both_ways, as_wide_as_its_input, twice_as_wide, recurrent_decoder])
def test_the_default_bridge_of_user_defined_layers_is_the_mean(layers: Any) -> None:
    """Only the built layers tell what they carry."""
    for options in ({}, {"context_pool": "last"}, {"depth": 2}):
        model = build(arch=layers, attention="none", **options)
        assert type(model.decoder.bridge) is LearnedBridge
        check_training_and_decoding(model)
    for attention in ("none", "additive"):
        config = experiment({"task": "translate", "model": {"arch": layers, "attention": attention}})
        assert keys(config.model, AttentionDecoderKeys).bridge == "mean-map"


@pytest.mark.parametrize("bridge", ["last", "last-map"])
def test_the_final_state_of_user_defined_layers_is_used_on_request(bridge: str) -> None:
    for layers in (one_way, both_ways):
        model = build(arch=layers, attention="none", bridge=bridge)
        assert type(model.decoder.bridge) is BRIDGE_TYPES[bridge]
        check_training_and_decoding(model)
    with pytest.raises(ArgumentError, match=r"^Last(Map)?Bridge: .*; or use L\w+Bridge"):
        build(arch=recurrent_decoder, attention="none", bridge=bridge)


def test_the_default_bridge_of_a_user_defined_cell_is_that_of_cells() -> None:
    class Mine(GRU):
        pass

    options = {"arch": "mine", "attention": "none"}
    with temporary_parts():
        register.cell("mine", Mine)
        assert type(build(**options).decoder.bridge) is LastMapBridge
        assert type(build(**options, bidirectional=False).decoder.bridge) is LastBridge
        sentence = refusal(**options, bidirectional=False, encoder="lstm", bridge="last")
        assert "lstm carries hidden and cell, and mine hidden" in sentence


def test_user_defined_layers_without_an_initial_state_need_a_context() -> None:
    sentence = refusal(arch=convolution, attention="none")
    assert "custom can't see the source, because it has no initial state" in sentence
    check_training_and_decoding(build(arch=convolution, attention="none", context_pool="mean"))


EVERY_ENCODER = ["window", "mixer", "conv", "rnn", "lstm", "gru-after", "transformer"]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("arch", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("encoder", EVERY_ENCODER)
def test_the_default_initial_state_depends_on_every_source_position(
    encoder: str, arch: str, bidirectional: bool
) -> None:
    model = {"arch": arch, "encoder": encoder, "encoder_depth": 1, "attention": "none"}
    is_recurrent = ARCHITECTURES[encoder].family.has_initial_state
    check_every_position_counts(**model, **({"bidirectional": bidirectional} if is_recurrent else {}))


@pytest.mark.parametrize("layers", [one_way, both_ways, as_wide_as_its_input, twice_as_wide, recurrent_decoder])
def test_the_initial_state_of_user_defined_layers_depends_on_every_source_position(layers: Any) -> None:
    check_every_position_counts(arch=layers, attention="none")


def check_every_position_counts(**options: Any) -> None:
    """Another token at any position of a row changes each vector of s_0 of this row; padding changes none."""
    torch.manual_seed(1)
    time, lengths = 38, torch.tensor([38, 20])
    model = build(max_length=time, **options).double().eval()
    source = torch.randint(1, 10, (2, time))

    def initial_state(source: torch.Tensor) -> dict[str, torch.Tensor]:
        with torch.no_grad():
            state = model.start(source, lengths).substate("body").substate("body")
        return {name: state[name] for name in state if state[name].dim() == 2}

    expected = initial_state(source)
    assert expected
    for t in range(time):
        changed = source.clone()
        changed[:, t] = 0
        for name, value in initial_state(changed).items():
            differs = (value != expected[name]).any(dim=1)
            assert differs.tolist() == (t < lengths).tolist(), (name, t)


def test_a_state_of_user_defined_layers_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ArgumentError, match=r"has the shapes \[\[\[16\]\]\]; .* or use LastMapBridge \(last-map\)\.$"):
        build(arch=twice_as_wide, attention="none", bridge="last")


MEANS: list[tuple[int, dict[str, Any]]] = [
    (512, {"size": "small"}),
    (96, {"connection": "dense", "bidirectional": False}),
    (160, {"connection": "dense", "bidirectional": False, "encoder_depth": 2}),
    (32, {"encoder": "conv"}),
    (32, {"encoder": "mixer"}),
    (32, {"encoder": "transformer"}),
    (256, {"encoder": "window", "size": "small", "hidden": 64}),
    (128, {"encoder": "lstm"}),
    (16, {"encoder": twice_as_wide}),
]


@pytest.mark.parametrize(("width", "options"), MEANS)
def test_a_mean_of_another_width_is_refused(width: int, options: dict[str, Any]) -> None:
    if callable(options.get("encoder")):
        with temporary_parts():
            register.layer("twice", options["encoder"])
            sentence = refusal(arch="gru", attention="none", bridge="mean", **{**options, "encoder": "twice"})
    else:
        sentence = refusal(arch="gru", attention="none", bridge="mean", **options)
    hidden = 256 if options == {"size": "small"} else 64
    message = (
        f"model.bridge mean copies the mean of the encoder's outputs, which are {width} wide, to states of {hidden}"
    )
    assert sentence == f"{message}. Give model.bridge mean-map, which fits any encoder."


def test_a_mean_of_the_stem_is_refused_if_it_has_another_width() -> None:
    model = {"size": "tiny", "attention": "none", "context_pool": "mean", "bridge": "mean"}
    with pytest.raises(ConfigError, match=r"which are 32 wide, to states of 64\."):
        experiment({"task": "caption", "model": model})
    assert experiment({"task": "caption", "model": {**model, "dim": 64}})


@pytest.mark.parametrize("encoder", ["conv", "mixer", "transformer", "window"])
def test_a_mean_of_the_width_of_the_state_is_copied(encoder: str) -> None:
    check_training_and_decoding(build(arch="gru", encoder=encoder, attention="none", bridge="mean", dim=64))
    # A dot product needs vectors of one width, so the memory is as wide as the state.
    check_training_and_decoding(build(arch="gru", encoder=encoder, attention="dot", bridge="mean"))
    check_training_and_decoding(build(arch="gru", attention="dot", bridge="mean"))


@pytest.mark.parametrize("bridge", ["last", "last-map", "mean", "mean-map"])
def test_a_bridge_to_a_decoder_without_a_state_is_refused(bridge: str) -> None:
    sentence = refusal(arch="conv", bridge=bridge)
    message = f"model.bridge {bridge} has no effect, because conv has no initial state that a source could set"
    assert sentence == f"{message}. Leave it out."


def test_the_description_says_what_the_decoder_knows_of_the_source() -> None:
    for options, words in (
        ({}, "no attention, initial state a learned map of the encoder's last"),
        ({"bidirectional": False}, "no attention, initial state the encoder's last"),
        (
            {"context_pool": "last"},
            "no attention, initial state a learned map of the encoder's last, the last of the source at every step",
        ),
        ({"context_pool": "max", "bridge": "none"}, "no attention, the max of the source at every step"),
    ):
        config = experiment({"task": "translate", "model": {"arch": "gru", "attention": "none", **options}})
        assert config.describe_model().endswith(words)


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
