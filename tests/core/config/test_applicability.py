"""A config key without effect is refused where it is set, and is not saved."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.config.applicability import unused_keys
from seqloom.core.config.section import merge_values
from seqloom.core.config.toml import to_toml
from seqloom.core.problem import ConfigError
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import Key, all_keys
from seqloom.tasks.registry import TASKS, experiment
from tests.tasks.conditions import Need, needs, own_keys

FILE = {"data": {"train": "a.file"}}
VALUES: dict[str, Any] = {
    "data.sample": 2000,
    "data.vocabulary_size": 300,
    "model.character_width": 2,
    "data.examples": 20,
}
VALUES |= {"data.languages": ("en", "fr"), "data.source_language": "de", "data.target_language": "de"}
NEEDS = needs()
OF_FILES = [key for key in all_keys().values() if key.of_file]


def value_of(key: Key) -> Any:
    """A valid value of the key."""
    few: dict[type, Any] = {bool: True, int: 2, float: 0.25, str: "x", tuple: "other.file"}
    return key.choices[-1] if key.choices else VALUES.get(key.dotted, few[key.kind])


def nested(dotted: str, value: Any) -> dict[str, Any]:
    section, _, name = dotted.partition(".")
    return {section: {name: value}}


def base(need: Need) -> dict[str, Any]:
    """A config in which the key has an effect, except for the other key."""
    raw = {"task": need.task, "model": {"arch": need.arch}}
    corpus_keys = (
        "data.corpus_length",
        "data.examples",
        "data.languages",
        "data.source_language",
        "data.target_language",
    )
    return raw if need.key in corpus_keys else merge_values(raw, FILE)


def error_message(raw: dict[str, Any], over: dict[str, Any] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        experiment(raw, over)
    assert caught.value.problem.key is not None
    return str(caught.value)


def values_without_effect(need: Need) -> list[Any]:
    """Values of the other key with which this one has no effect; None if leaving it out is enough."""
    known = own_keys(need.task, need.arch)[need.other]
    if known.choices:
        unset: list[Any] = [None] if need.other == "model.init" else []
        return [value for value in [*unset, *known.choices] if value not in need.values]
    return [False] if known.kind is bool and True in need.values else [value_of(known)]


@pytest.mark.parametrize("need", NEEDS, ids=str)
def test_a_key_without_effect_is_refused(need: Need) -> None:
    key_values = nested(need.key, value_of(own_keys(need.task, need.arch)[need.key]))
    values = [value for value in values_without_effect(need) if need.other != "data.corpus" or value is None]
    for value in values:
        message = error_message(merge_values(base(need), nested(need.other, value), key_values))
        assert message.startswith(f"{need.key} has no effect ")
        assert (value[0] if need.other == "data.train" else need.other) in message  # the name of the file
        assert message.endswith(("Leave it out.", "instead.", "sample with decode.temperature."))
    assert values or need.other == "data.corpus"  # no corpus of the task gives the key an effect


@pytest.mark.parametrize("need", NEEDS, ids=str)
def test_a_key_with_an_effect_is_accepted(need: Need) -> None:
    raw = base(need)
    for other in NEEDS:
        words = [value for value in other.values if value not in (None, (), False, "identity")]
        if (other.task, other.arch, other.key) == (need.task, need.arch, need.key) and words:
            raw = merge_values(raw, nested(other.other, words[-1]))
    value = value_of(own_keys(need.task, need.arch)[need.key])
    config = experiment(merge_values(raw, nested(need.key, value)))
    section, _, name = need.key.partition(".")
    assert getattr(getattr(config, section), name) == value
    assert name in tomllib.loads(to_toml(config))[section]


@pytest.mark.parametrize("key", OF_FILES, ids=lambda key: key.name)
def test_a_key_for_files_needs_a_file(key: Key) -> None:
    for task in key.tasks:
        own = own_keys(task, "lstm")[key.dotted]
        raw = {"task": task, **nested(key.dotted, value_of(own))}
        assert f"{key.dotted} has no effect without a file" in error_message(raw)
        experiment(merge_values(raw, FILE))
        experiment(merge_values(raw, {"data": {"test": "a.file"}}))


def test_the_keys_for_files_are_listed() -> None:
    names = {"format", "text", "label", "header", "label_separator", "tag", "source", "target"}
    assert {key.name for key in OF_FILES} == names | {"on_bad_line", "on_bad_image", "max_characters"}
    assert all(key.section == "data" for key in OF_FILES)


def test_none_is_not_saved() -> None:
    for none in (None, "none"):
        config = experiment({"task": "language", "data": {"tokenizer": "byte", "vocabulary_size": none}})
        assert "vocabulary" not in to_toml(config)


def test_a_default_without_effect_is_refused_too() -> None:
    assert "train.momentum" in error_message({"task": "tag", "train": {"optimizer": "sgd", "momentum": 0.9}})
    assert "data.max_characters" in error_message({"task": "language", "data": {"max_characters": 1_000_000}})


def test_a_residual_connection_needs_a_layer_of_equal_sizes() -> None:
    around = {"connection": "residual", "hidden": 8, "bidirectional": False}
    assert "model.connection" in error_message({"task": "classify", "model": {**around, "dim": 4, "depth": 1}})
    experiment({"task": "classify", "model": {**around, "dim": 8, "depth": 1}})
    experiment({"task": "classify", "model": {**around, "dim": 4, "depth": 2}})
    experiment({"task": "classify", "model": {**around, "dim": 16, "depth": 1, "bidirectional": True}})


SGD = {"train": {"optimizer": "sgd"}}


def test_keys_of_the_file_without_effect_under_an_option_are_dropped() -> None:
    file = {"task": "tag", "train": {"optimizer": "adam", "beta1": 0.8, "l2": 0.5}}
    assert experiment(file, SGD) == experiment({"task": "tag", "train": {"optimizer": "sgd", "l2": 0.5}})
    assert "beta1" not in to_toml(experiment(file, SGD))


def test_keys_of_the_file_without_effect_by_themselves_are_refused() -> None:
    file = {"task": "tag", "train": {"schedule": "halve", "min_lr_ratio": 0.5}}
    assert "train.min_lr_ratio" in error_message(file, SGD)
    assert "train.min_lr_ratio" in error_message(file)


def test_options_without_effect_are_refused() -> None:
    file = {"task": "tag", "train": {"optimizer": "adam", "beta1": 0.8}}
    assert "train.beta1" in error_message(file, {"train": {"optimizer": "sgd", "beta1": 0.7}})


def test_options_override_a_complete_config_file() -> None:
    """The file that `init` writes has every key that has an effect."""
    file = tomllib.loads(to_toml(experiment({"task": "classify", **FILE})))
    assert experiment(file, {"data": {"valid": ["b.file"]}}).data.valid == ("b.file",)
    assert experiment(file, {"train": {"optimizer": "momentum", "schedule": "halve"}}).train.momentum == 0.9
    assert experiment(file, {"data": {"label_separator": "|"}}).data.label_separator == "|"
    del file["data"]["train"]
    assert experiment(file, {"data": {"corpus": "numbers"}}).data.corpus == "numbers"


@pytest.mark.parametrize(
    "options", [{"text": "1"}, {"format": "folder"}, {"format": "jsonl"}, {"label_separator": "|"}]
)
@pytest.mark.parametrize("data", [{"corpus": "numbers"}, {"train": "a.csv", "text": "x", "label": "y", "header": True}])
def test_options_for_a_test_file_override_a_resolved_config(data: Any, options: dict[str, str]) -> None:
    file = tomllib.loads(to_toml(experiment({"task": "classify", "data": data})))
    config = experiment(file, over={"data": {"test": ["b.file"], **options}})
    assert config.data.test == ("b.file",)
    assert all(getattr(config.data, name) == value for name, value in options.items())


WORDS = [key for key in all_keys().values() if key.choices and key.dotted not in ("data.corpus", "model.arch")]


@given(st.sampled_from(tuple(TASKS)), st.sampled_from(tuple(ARCHITECTURES)), st.data())
def test_a_saved_config_has_only_keys_with_an_effect(task: str, arch: str, data: st.DataObject) -> None:
    raw: dict[str, Any] = {"task": task, "model": {"arch": arch}}
    for key in data.draw(st.lists(st.sampled_from(WORDS), max_size=4)):
        raw = merge_values(raw, nested(key.dotted, data.draw(st.sampled_from(key.choices))))
    try:
        config = experiment(raw)
    except ConfigError:
        return
    saved = tomllib.loads(to_toml(config))
    assert experiment(saved) == config == experiment(config.model_dump())
    without_effect = {unused.key for unused in unused_keys(config)}
    assert not without_effect & {
        f"{section}.{name}" for section in ("data", "model", "train") for name in saved[section]
    }
    assert not without_effect & {f"{section}.{name}" for section in raw.keys() - {"task"} for name in raw[section]}
