"""A key that would change nothing is refused where it is said, and is not written down."""

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


def valid(key: Key) -> Any:
    """A value that the key may have."""
    few: dict[type, Any] = {bool: True, int: 2, float: 0.25, str: "x", tuple: "other.file"}
    return key.choices[-1] if key.choices else VALUES.get(key.dotted, few[key.kind])


def nested(dotted: str, value: Any) -> dict[str, Any]:
    part, _, name = dotted.partition(".")
    return {part: {name: value}}


def base(need: Need) -> dict[str, Any]:
    """Where the key would do something, but for what stands beside it."""
    some = {"task": need.task, "model": {"arch": need.arch}}
    drawn = ("data.corpus_length", "data.examples", "data.languages", "data.source_language", "data.target_language")
    return some if need.key in drawn else merge_values(some, FILE)


def refused(raw: dict[str, Any], over: dict[str, Any] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        experiment(raw, over)
    assert caught.value.problem.key is not None
    return str(caught.value)


def others(need: Need) -> list[Any]:
    """Values of the other key beside which this one does nothing; None where leaving it out is enough."""
    known = own_keys(need.task, need.arch)[need.other]
    if known.choices:
        unset: list[Any] = [None] if need.other == "model.init" else []
        return [value for value in [*unset, *known.choices] if value not in need.values]
    return [False] if known.kind is bool and True in need.values else [valid(known)]


@pytest.mark.parametrize("need", NEEDS, ids=str)
def test_a_key_beside_what_leaves_it_without_a_use_is_refused(need: Need) -> None:
    said = nested(need.key, valid(own_keys(need.task, need.arch)[need.key]))
    values = [value for value in others(need) if need.other != "data.corpus" or value is None]
    for value in values:
        sentence = refused(merge_values(base(need), nested(need.other, value), said))
        assert sentence.startswith(f"{need.key} has no effect ")
        assert (value[0] if need.other == "data.train" else need.other) in sentence  # the name of the file
        assert sentence.endswith(("Leave it out.", "instead.", "sample with decode.temperature."))
    assert values or need.other == "data.corpus"  # a task has no corpus with which it could be


@pytest.mark.parametrize("need", NEEDS, ids=str)
def test_a_key_beside_what_gives_it_a_use_is_taken(need: Need) -> None:
    raw = base(need)
    for each in NEEDS:
        words = [value for value in each.values if value not in (None, (), False, "identity")]
        if (each.task, each.arch, each.key) == (need.task, need.arch, need.key) and words:
            raw = merge_values(raw, nested(each.other, words[-1]))
    value = valid(own_keys(need.task, need.arch)[need.key])
    whole = experiment(merge_values(raw, nested(need.key, value)))
    part, _, name = need.key.partition(".")
    assert getattr(getattr(whole, part), name) == value
    assert name in tomllib.loads(to_toml(whole))[part]


@pytest.mark.parametrize("key", OF_FILES, ids=lambda key: key.name)
def test_a_key_about_files_needs_one(key: Key) -> None:
    for task in key.tasks:
        own = own_keys(task, "lstm")[key.dotted]
        said = {"task": task, **nested(key.dotted, valid(own))}
        assert f"{key.dotted} has no effect without a file" in refused(said)
        experiment(merge_values(said, FILE))
        experiment(merge_values(said, {"data": {"test": "a.file"}}))


def test_the_keys_about_files_are_these() -> None:
    names = {"format", "text", "label", "header", "label_separator", "tag", "source", "target"}
    assert {key.name for key in OF_FILES} == names | {"on_bad_line", "on_bad_image", "max_characters"}
    assert all(key.section == "data" for key in OF_FILES)


def test_none_is_not_said() -> None:
    for none in (None, "none"):
        whole = experiment({"task": "language", "data": {"tokenizer": "byte", "vocabulary_size": none}})
        assert "vocabulary" not in to_toml(whole)


def test_the_default_is_refused_too_where_it_does_nothing() -> None:
    assert "train.momentum" in refused({"task": "tag", "train": {"optimizer": "sgd", "momentum": 0.9}})
    assert "data.max_characters" in refused({"task": "language", "data": {"max_characters": 1_000_000}})


def test_a_residual_connection_must_have_somewhere_to_be() -> None:
    around = {"connection": "residual", "hidden": 8, "bidirectional": False}
    assert "model.connection" in refused({"task": "classify", "model": {**around, "dim": 4, "depth": 1}})
    experiment({"task": "classify", "model": {**around, "dim": 8, "depth": 1}})
    experiment({"task": "classify", "model": {**around, "dim": 4, "depth": 2}})
    experiment({"task": "classify", "model": {**around, "dim": 16, "depth": 1, "bidirectional": True}})


SGD = {"train": {"optimizer": "sgd"}}


def test_what_an_option_makes_useless_in_the_file_goes() -> None:
    file = {"task": "tag", "train": {"optimizer": "adam", "beta1": 0.8, "l2": 0.5}}
    assert experiment(file, SGD) == experiment({"task": "tag", "train": {"optimizer": "sgd", "l2": 0.5}})
    assert "beta1" not in to_toml(experiment(file, SGD))


def test_what_is_useless_in_the_file_by_itself_is_refused() -> None:
    file = {"task": "tag", "train": {"schedule": "halve", "min_lr_ratio": 0.5}}
    assert "train.min_lr_ratio" in refused(file, SGD)
    assert "train.min_lr_ratio" in refused(file)


def test_what_is_useless_among_the_options_is_refused() -> None:
    file = {"task": "tag", "train": {"optimizer": "adam", "beta1": 0.8}}
    assert "train.beta1" in refused(file, {"train": {"optimizer": "sgd", "beta1": 0.7}})


def test_a_whole_written_config_can_be_overruled() -> None:
    """What `init` writes names every key that does something."""
    file = tomllib.loads(to_toml(experiment({"task": "classify", **FILE})))
    assert experiment(file, {"data": {"valid": ["b.file"]}}).data.valid == ("b.file",)
    assert experiment(file, {"train": {"optimizer": "momentum", "schedule": "halve"}}).train.momentum == 0.9
    assert experiment(file, {"data": {"label_separator": "|"}}).data.label_separator == "|"
    del file["data"]["train"]
    assert experiment(file, {"data": {"corpus": "numbers"}}).data.corpus == "numbers"


@pytest.mark.parametrize("anew", [{"text": "1"}, {"format": "folder"}, {"format": "jsonl"}, {"label_separator": "|"}])
@pytest.mark.parametrize("data", [{"corpus": "numbers"}, {"train": "a.csv", "text": "x", "label": "y", "header": True}])
def test_how_another_file_is_read_can_be_said_over_a_resolved_config(data: Any, anew: dict[str, str]) -> None:
    file = tomllib.loads(to_toml(experiment({"task": "classify", "data": data})))
    whole = experiment(file, over={"data": {"test": ["b.file"], **anew}})
    assert whole.data.test == ("b.file",)
    assert all(getattr(whole.data, name) == value for name, value in anew.items())


WORDS = [key for key in all_keys().values() if key.choices and key.dotted not in ("data.corpus", "model.arch")]


@given(st.sampled_from(tuple(TASKS)), st.sampled_from(tuple(ARCHITECTURES)), st.data())
def test_what_is_written_is_what_does_something(task: str, arch: str, data: st.DataObject) -> None:
    raw: dict[str, Any] = {"task": task, "model": {"arch": arch}}
    for key in data.draw(st.lists(st.sampled_from(WORDS), max_size=4)):
        raw = merge_values(raw, nested(key.dotted, data.draw(st.sampled_from(key.choices))))
    try:
        whole = experiment(raw)
    except ConfigError:
        return
    read = tomllib.loads(to_toml(whole))
    assert experiment(read) == whole == experiment(whole.model_dump())
    idle = {each.key for each in unused_keys(whole)}
    assert not idle & {f"{part}.{name}" for part in ("data", "model", "train") for name in read[part]}
    assert not idle & {f"{part}.{name}" for part in raw.keys() - {"task"} for name in raw[part]}
