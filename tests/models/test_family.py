"""From config to layers: they have the right width, are causal for generation, and use every key."""

from typing import Any, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from seqloom.core import names
from seqloom.core.config.section import keys
from seqloom.core.problem import ConfigError
from seqloom.models.family import Family
from seqloom.models.registry import ARCHITECTURES, generative_architectures
from seqloom.nn import activations, normalization
from seqloom.nn.cells import CELLS
from seqloom.nn.convolution import CausalConvolution, CenteredConvolution, Convolution, GatedLinearUnit, GatedTanhUnit
from seqloom.nn.dropout import Dropout, DropoutBase, VariationalDropout
from seqloom.nn.feed_forward import FeedForward, GatedFeedForward
from seqloom.nn.heads.per_token import PerToken
from seqloom.nn.layer import Layer
from seqloom.nn.mixer import MixerBlock, TokenMixing
from seqloom.nn.model import Model
from seqloom.nn.multihead import SelfAttention
from seqloom.nn.positions import LearnedPositions, Rotary, Sinusoidal
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.residual import PostNorm, PreNorm, Residual
from seqloom.nn.scores import SCORES
from seqloom.nn.stack import DenseStack
from seqloom.nn.window import FixedWindow, FixedWindowDirect, Window
from seqloom.tasks.config_keys import Key, all_keys
from seqloom.tasks.language.config import LanguageModel
from seqloom.tasks.registry import TASKS, experiment

OURS = ("window", "mixer", "conv", "transformer", *CELLS)  # architectures whose layers this file knows
LANGUAGE = [arch for arch in ARCHITECTURES if arch != "mixer"]


def model_section(task: str, arch: str, **more: Any) -> Family:
    small = {"arch": arch, "size": "tiny", "dim": 8, "depth": 2}
    if arch == "transformer":
        small |= {"heads": 2}
    if "hidden" in ARCHITECTURES[arch].family.model_fields:
        small |= {"hidden": 12}
    return experiment({"task": task, "model": {**small, **more}, "data": {}}).model


def build(task: str, arch: str, **more: Any) -> Layer:
    family = model_section(task, arch, **more)
    torch.manual_seed(1)
    return family.build(family.dim, causal=task == "language").eval()


def modules_of(layer: nn.Module, kind: type[nn.Module]) -> list[Any]:
    return [module for module in layer.modules() if isinstance(module, kind)]


def changed_steps(layer: Layer, at: int, time: int = 9) -> list[int]:
    """The steps at which the output changes if the input changes at step `at`."""
    x = torch.randn(1, time, layer.input_size)
    other = x.clone()
    other[:, at] = torch.randn(layer.input_size)
    with torch.no_grad():
        differs = (layer(x)[0] - layer(other)[0]).abs().amax(dim=2)[0]
    return torch.nonzero(differs > 1e-6).flatten().tolist()


@pytest.mark.parametrize("arch", LANGUAGE)
def test_a_language_model_is_causal(arch: str) -> None:
    layer = build("language", arch)
    assert layer.traits.causal
    assert layer.input_size == 8
    assert min(changed_steps(layer, at=4)) == 4
    assert len(changed_steps(layer, at=4)) > 1  # later steps change too


@pytest.mark.parametrize("norm", names.NORMS)
@pytest.mark.parametrize("arch", ["conv", "transformer"])
def test_norms_of_a_language_model_are_causal(arch: str, norm: str) -> None:
    if norm not in ("group", "instance"):  # the config refuses these
        assert min(changed_steps(build("language", arch, norm=norm), at=4)) == 4


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("task", ["classify", "tag"])
def test_an_encoder_is_bidirectional_where_it_can_be(task: str, arch: str) -> None:
    layer = build(task, arch)
    assert layer.input_size == 8
    causal = ("window",)  # among those of this package
    assert layer.traits.causal == (arch in causal) or arch not in OURS
    assert min(changed_steps(layer, at=4)) < 4 or layer.traits.causal
    assert max(changed_steps(layer, at=4)) > 4


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_output_has_its_declared_size(arch: str) -> None:
    layer = build("tag", arch)
    width = {"window": 12, "mixer": 8, "conv": 8, "transformer": 8} | dict.fromkeys(CELLS, 24)
    y, _ = layer(torch.randn(2, 5, 8), lengths=torch.tensor([5, 3]))
    assert y.shape == (2, 5, width.get(arch, layer.output_size))
    assert y.shape[2] == layer.output_size


@pytest.mark.parametrize("arch", OURS)
@pytest.mark.parametrize("depth", [1, 3])
def test_depth_is_the_number_of_layers(arch: str, depth: int) -> None:
    layer = build("classify", arch, depth=depth)
    kinds = {"window": (FixedWindow, 1), "mixer": (MixerBlock, depth), "conv": (Convolution, depth)}
    kinds |= {"transformer": (SelfAttention, depth)}
    kind, number = kinds.get(arch, (Bidirectional, depth))
    assert len(modules_of(layer, kind)) == number
    if arch == "window":
        assert len(modules_of(layer, nn.Linear)) == depth


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_has_dropout_that_is_off_in_eval(arch: str) -> None:
    torch.manual_seed(1)
    layer, x = build("classify", arch, dropout=0.5), torch.randn(2, 6, 8)
    assert torch.equal(layer(x)[0], layer(x)[0])
    layer.train()
    assert not torch.equal(layer(x)[0], layer(x)[0])
    without_dropout = build("classify", arch, dropout=0).train()
    assert torch.equal(without_dropout(x)[0], without_dropout(x)[0])


def values(key: Key) -> st.SearchStrategy[Any]:
    """Some values of a key."""
    if key.choices:
        return st.sampled_from(key.choices)
    few: list[Any] = {bool: [False, True], int: [1, 2, 3, 6], float: [0, 0.3]}[key.kind]
    return st.sampled_from([600] if key.name == "max_length" else few)


@given(st.sampled_from(tuple(TASKS)), st.sampled_from(tuple(ARCHITECTURES)), st.data())
def test_every_valid_config_can_be_built(task: str, arch: str, data: st.DataObject) -> None:
    known = [key for key in all_keys().values() if arch in key.archs and task in key.tasks]
    free = {key.name: values(key) for key in known if key.name not in ("arch", "size", "dim")}
    more = data.draw(st.fixed_dictionaries({"dim": st.sampled_from([4, 6, 7])}, optional=free))
    try:
        family = experiment({"task": task, "model": {"arch": arch, "size": "tiny", **more}}).model
    except ConfigError:
        return
    layers = family.build(family.dim, causal=task == "language")
    built = Model(family.tokens(11), layers, PerToken(layers.output_size, 3))
    y, _ = family.initialized(built)(torch.tensor([[1, 2, 10], [4, 5, 0]]), torch.tensor([3, 2]))
    assert y.shape == (2, 3, layers.output_size)
    assert y.isfinite().all()
    assert layers.traits.causal or task != "language"
    assert task != "language" or not keys(family, LanguageModel).tied or layers.output_size == family.dim


# Window


@pytest.mark.parametrize("depth", [1, 2])
def test_a_window_has_its_width_and_direct_connections(depth: int) -> None:
    layer = build("language", "window", window=3, direct=True, depth=depth, activation="relu")
    assert modules_of(layer, Window)[0].width == 3
    assert changed_steps(layer, at=4) == [4, 5, 6]
    assert modules_of(layer, FixedWindowDirect)
    assert layer.output_size == (12 if depth > 1 else 3 * 8 + 12)
    assert len(modules_of(layer, nn.ReLU)) == depth
    assert not modules_of(build("language", "window"), FixedWindowDirect)


# Mixer


def test_a_mixer_has_the_sizes_of_its_config() -> None:
    layer = build("tag", "mixer", max_length=600, token_hidden=5, norm="rms", activation="relu")
    mixing = modules_of(layer, TokenMixing)[0]
    assert (mixing.length, mixing.hidden_size, layer.traits.max_length) == (600, 5, 600)
    assert modules_of(layer, FeedForward)[0].widen.out_features == 12
    assert len(modules_of(layer, normalization.RMSNorm)) == 4
    assert len(modules_of(layer, nn.ReLU)) == 4


# Convolution


def test_kernel_and_dilation_set_the_receptive_field() -> None:
    layer = build("language", "conv", kernel=2, depth=3, norm="none")
    assert [convolution.reach for convolution in modules_of(layer, Convolution)] == [1, 2, 4]
    assert len(changed_steps(layer, at=0, time=20)) == 8
    layer = build("language", "conv", kernel=4, depth=2, dilated=False, norm="none")
    assert len(changed_steps(layer, at=0, time=20)) == 7


def test_dilation_restarts_after_512() -> None:
    reach = [
        convolution.reach for convolution in modules_of(build("language", "conv", kernel=2, depth=12), Convolution)
    ]
    assert reach[8:] == [256, 512, 1, 2]


def test_convolutions_have_their_gate_and_direction() -> None:
    assert len(modules_of(build("tag", "conv", gate="linear"), GatedLinearUnit)) == 2
    assert len(modules_of(build("tag", "conv", gate="tanh"), GatedTanhUnit)) == 2
    plain = build("tag", "conv", gate="none", activation="selu")
    assert len(modules_of(plain, nn.SELU)) == 2
    assert not modules_of(plain, GatedLinearUnit)
    assert len(modules_of(build("tag", "conv"), CenteredConvolution)) == 2
    assert len(modules_of(build("tag", "conv", centered=False), CausalConvolution)) == 2
    assert len(modules_of(build("tag", "conv", norm="group"), normalization.GroupNorm)) == 2


# Recurrent


@pytest.mark.parametrize("arch", CELLS)
def test_an_architecture_has_its_cell(arch: str) -> None:
    cells = [recurrent.cell for recurrent in modules_of(build("language", arch), Recurrent)]
    assert [type(cell) for cell in cells] == [CELLS[arch]] * 2
    assert [cell.hidden_size for cell in cells] == [12, 12]


def test_a_recurrent_layer_gets_the_options_of_the_config() -> None:
    layers = modules_of(build("classify", "gru", weight_drop=0.1, zoneout=0.2, initial_state="learned"), Recurrent)
    assert [(layer.weight_drop, layer.zoneout, layer.initial_kind) for layer in layers] == [(0.1, 0.2, "learned")] * 4


def test_bias_and_directions_are_those_of_the_config() -> None:
    assert not any("bias" in name for name, _ in build("classify", "gru", bias=False).named_parameters())
    assert any("bias" in name for name, _ in build("classify", "gru").named_parameters())
    assert not modules_of(build("classify", "gru", bidirectional=False), Bidirectional)


@pytest.mark.parametrize(
    ("connection", "kind", "width"), [("plain", None, 12), ("residual", Residual, 12), ("dense", DenseStack, 8 + 24)]
)
def test_layers_have_the_connection_of_the_config(connection: str, kind: type[nn.Module] | None, width: int) -> None:
    layer = build("language", "gru", connection=connection)
    assert layer.output_size == width
    assert kind is None or len(modules_of(layer, kind)) == 1


@pytest.mark.parametrize(("kind", "dropout_class"), [("plain", Dropout), ("variational", VariationalDropout)])
def test_dropout_is_before_between_and_after_layers(kind: str, dropout_class: type[nn.Module]) -> None:
    dropouts = modules_of(
        build("language", "gru", dropout_kind=kind, dropout=0.3, input_dropout=0.4, depth=3), DropoutBase
    )
    assert {type(layer) for layer in dropouts} == {dropout_class}
    assert [layer.p for layer in dropouts] == [0.4, 0.3, 0.3, 0.3]


# Transformer


def test_attention_gets_the_options_of_the_config() -> None:
    layers = modules_of(
        build("language", "transformer", dim=16, heads=4, kv_heads=2, attention_window=3), SelfAttention
    )
    assert [(layer.heads, layer.kv_heads) for layer in layers] == [(4, 2)] * 2
    assert changed_steps(build("language", "transformer", attention_window=2, depth=1), at=4) == [4, 5]


@pytest.mark.parametrize("score", names.SCORES)
def test_attention_has_the_score_of_the_config(score: str) -> None:
    layer = build("language", "transformer", score=score)
    assert len(modules_of(layer, SCORES[score])) == 2
    assert min(changed_steps(layer, at=4)) == 4


@pytest.mark.parametrize("norm", [norm for norm in names.NORMS if norm != "none"])
@pytest.mark.parametrize(("order", "kind", "norms"), [("pre", PreNorm, 5), ("post", PostNorm, 4)])
def test_norms_have_the_order_of_the_config(order: str, kind: type[nn.Module], norms: int, norm: str) -> None:
    layer = build("tag", "transformer", norm_order=order, norm=norm)
    assert len(modules_of(layer, kind)) == 4
    assert len(modules_of(layer, type(normalization.NORMS[norm](8)))) == norms


def test_a_transformer_may_have_no_norms() -> None:
    layer = build("tag", "transformer", norm="none")
    assert len(modules_of(layer, PreNorm)) == 4
    assert not any("norm" in name for name, _ in layer.named_parameters())


def test_feed_forward_layers_have_their_gate_activation_and_bias() -> None:
    gated = modules_of(build("tag", "transformer", gated=True, activation="swish"), GatedFeedForward)
    assert len(gated) == 2
    assert isinstance(gated[0].activation, type(activations.activation("swish")))
    assert gated[0].widen.out_features == 12
    without = build("tag", "transformer", bias=False)
    assert all(linear.bias is None for linear in modules_of(without, nn.Linear))


@pytest.mark.parametrize(
    ("positions", "kind"),
    [("sinusoidal", Sinusoidal), ("learned", LearnedPositions), ("rotary", Rotary), ("none", None)],
)
def test_positions_are_in_the_stem_or_in_attention(positions: str, kind: type[nn.Module] | None) -> None:
    family = model_section("language", "transformer", positions=positions)
    both = nn.ModuleList([family.tokens(11), family.build(8, causal=True)])
    positional = [module for module in both.modules() if isinstance(module, Sinusoidal | LearnedPositions | Rotary)]
    assert {type(module) for module in positional} == ({kind} if kind else set())


# Stem and start


@pytest.mark.parametrize("arch", LANGUAGE)
def test_every_model_has_a_stem(arch: str) -> None:
    stem = model_section("language", arch, word_dropout=0.2).tokens(11)
    assert (stem.vocabulary, stem.output_size, stem.word_dropout, stem.scale) == (11, 8, 0.2, 1.0)
    assert stem(torch.tensor([[1, 2, 10]]))[0].shape == (1, 3, 8)


def test_the_stem_of_a_transformer_has_its_max_length_scale_and_dropout() -> None:
    stem = model_section(
        "language", "transformer", positions="learned", max_length=70, scale_embeddings=True, dropout=0.4
    ).tokens(11)
    assert stem.traits.max_length == 70
    assert stem.scale == pytest.approx(8**0.5)
    assert [dropout.p for dropout in modules_of(stem, DropoutBase)] == [0.4]


def model(family: Family) -> Model:
    torch.manual_seed(1)
    layers = family.build(family.dim, causal=False)
    return family.initialized(Model(family.tokens(11), layers, PerToken(layers.output_size, 3)))


@pytest.mark.parametrize("scheme", get_args(names.Scheme))
@pytest.mark.parametrize("arch", ["mixer", "conv", "lstm", "transformer"])
def test_every_scheme_initializes_every_model(arch: str, scheme: str) -> None:
    if (arch, scheme) == ("conv", "identity"):
        return  # the config refuses it
    built = model(model_section("classify", arch, init=scheme))
    assert all(weight.isfinite().all() for weight in built.parameters())
    if scheme == "zero":
        assert all(not linear.weight.any() for linear in modules_of(built.body, nn.Linear))


def test_recurrent_weights_have_their_own_scheme() -> None:
    def recurrent(**more: Any) -> torch.Tensor:
        [layer] = modules_of(model(model_section("classify", "rnn", **more)), Recurrent)[:1]
        weight: torch.Tensor = layer.cell.recurrent_weight
        return weight

    assert torch.equal(recurrent(init="normal", recurrent_init="identity"), torch.eye(12))
    product = recurrent(init="normal") @ recurrent(init="normal").T
    assert torch.allclose(product, torch.eye(12), atol=1e-5)


@pytest.mark.parametrize("arch", generative_architectures())
@pytest.mark.parametrize("more", [{}, {"depth": 1}, {"dim": 12}])
def test_a_family_declares_the_width_of_its_output(arch: str, more: dict[str, int]) -> None:
    family = model_section("language", arch, **more)
    assert family.build(family.dim, causal=True).output_size == family.output_width
    if family.output_has_hidden_width:  # for any width of its input
        assert family.build(family.dim + 5, causal=True).output_size == family.hidden_width
