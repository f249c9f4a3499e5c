"""Every supported experiment is resolved; every other one is an error that names its key."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core import names
from seqloom.core.config.data import FAMILIAR, LANGUAGES
from seqloom.core.config.section import merge_values
from seqloom.core.problem import ConfigError
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import Key, all_keys
from seqloom.tasks.registry import TASKS, experiment
from tests.tasks.conditions import keys_of_some

JARGON = re.compile(r"pydantic|\binput\b|a valid |type=|Literal|union|instance of|\n|Traceback|dictionary update")

WRONG: list[Any] = [
    "zzz",
    -1,
    10**30,
    "9" * 40,
    1.5,
    float("nan"),
    float("inf"),
    [],
    {},
    [[1]],
    {"a": 1},
    True,
    object(),
]


def is_supported(task: str, arch: str) -> bool:
    return not (task in ("language", "translate", "caption") and arch == "mixer")


def error_message(raw: dict[str, Any]) -> str:
    """The error message of an invalid experiment."""
    with pytest.raises(ConfigError) as caught:
        experiment(raw)
    return checked_message(caught.value)


def checked_message(error: ConfigError) -> str:
    message = str(error)
    assert not JARGON.search(message), message
    assert message.endswith((".", "?", "lists all)"))
    assert len(message) < 400
    return message


def test_every_task_and_architecture_resolves_or_the_error_names_the_supported_ones() -> None:
    for task in TASKS:
        for arch in ARCHITECTURES:
            for size in names.SIZES:
                raw = {"task": task, "model": {"arch": arch, "size": size}}
                if is_supported(task, arch):
                    assert experiment(raw).model.arch == arch
                else:
                    assert "rnn and transformer can" in error_message(raw)


def test_every_architecture_has_every_size() -> None:
    for architecture in ARCHITECTURES.values():
        sizes = architecture.family.sizes
        assert set(sizes) == set(names.SIZES)
        assert len({frozenset(values) for values in sizes.values()}) == 1


@pytest.mark.parametrize("task", TASKS)
def test_a_resolved_experiment_resolves_to_itself(task: str) -> None:
    for arch in ARCHITECTURES:
        if is_supported(task, arch):
            once = experiment({"task": task, "model": {"arch": arch}})
            assert experiment(once.model_dump()) == once
            assert experiment(once.model_dump(exclude_none=True)) == once


def test_an_experiment_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        experiment({"task": "tag"}).seed = 2  # type: ignore[misc]


def with_value(key: Key, value: object, task: str) -> dict[str, Any]:
    archs = [arch for arch in key.archs or ("gru",) if is_supported(task, arch)]
    raw: dict[str, Any] = {"task": task, "model": {"arch": archs[0] if archs else "gru"}}
    return merge_values(raw, {key.section: {key.name: value}})


def tasks_of(key: Key) -> tuple[str, ...]:
    """The tasks that have the key with a model that has it too."""
    return tuple(task for task in key.tasks if any(is_supported(task, arch) for arch in key.archs or ("gru",)))


@pytest.mark.parametrize("key", all_keys().values(), ids=lambda key: key.dotted)
def test_the_error_of_an_invalid_value_names_its_key(key: Key) -> None:
    messages = []
    for task in tasks_of(key):
        for wrong in WRONG:
            try:
                experiment(with_value(key, wrong, task))
            except ConfigError as error:
                messages.append(checked_message(error))
    assert all(key.dotted in message for message in messages), messages
    assert messages or key.dotted == "decode.prompt"


@pytest.mark.parametrize("key", all_keys().values(), ids=lambda key: key.dotted)
def test_booleans_and_numbers_are_not_interchangeable(key: Key) -> None:
    if key.kind is bool:
        assert key.dotted in error_message(with_value(key, 7, tasks_of(key)[0]))
    if key.kind in (int, float):
        assert key.dotted in error_message(with_value(key, True, tasks_of(key)[0]))


@pytest.mark.parametrize("key", [key for key in all_keys().values() if key.choices], ids=lambda key: key.dotted)
def test_the_error_of_an_invalid_choice_lists_the_valid_ones(key: Key) -> None:
    message = error_message(with_value(key, key.choices[0] + "x", tasks_of(key)[0]))
    assert key.choices[0] in message
    assert "Did you mean" in message


@pytest.mark.parametrize("key", keys_of_some(), ids=lambda key: key.dotted)
def test_the_error_of_a_key_of_another_task_names_that_task(key: Key) -> None:
    kinds = {bool: True, int: 2, float: 0.5, str: "x", tuple: "en"}
    own = {"data.sample": 2000, "data.image_size": 32, "data.max_ratio": 2.0}
    own |= dict.fromkeys(("data.source_language", "data.target_language"), "de")
    value = key.choices[0] if key.choices else own.get(key.dotted, kinds[key.kind])
    for task in set(TASKS) - set(key.tasks):
        message = error_message(with_value(key, value, task))
        assert key.dotted in message or (key.section == "decode" and message.startswith("decode has no effect in "))
        assert key.tasks[0] in message


@pytest.mark.parametrize("key", keys_of_some(), ids=lambda key: key.dotted)
def test_a_section_has_only_the_keys_of_its_task_and_architecture(key: Key) -> None:
    for task in TASKS:
        for arch in ("gru", "transformer", "mixer"):
            config = TASKS[task].config.with_family(ARCHITECTURES[arch].family)
            section = config.sections().get(key.section)
            exists = section is not None and key.name in section.model_fields
            assert exists == (task in key.tasks and (not key.archs or arch in key.archs))


def test_a_key_of_another_task_may_be_none() -> None:
    plain = experiment({"task": "tag"})
    assert experiment({"task": "tag", "data": {"text": None}, "train": {"bptt": "none"}, "decode": {}}) == plain


def test_keys_of_the_file_without_effect_in_another_task_are_dropped() -> None:
    file = {"task": "classify", "data": {"text": "review"}, "model": {"pool": "max"}, "train": {"lr": 0.5}}
    assert experiment(file, over={"task": "tag"}) == experiment({"task": "tag", "train": {"lr": 0.5}})
    with pytest.raises(
        ConfigError,
        match=r"^data\.text has no effect in tag; it is a key of classify\. Leave it "
        r"out\.$",
    ):
        experiment(file, over={"task": "tag", "data": {"text": "x"}})


def test_a_config_is_composed_once() -> None:
    first, second = (experiment({"task": "tag", "model": {"arch": arch}}) for arch in ("lstm", "gru"))
    assert type(first) is type(second)
    assert type(experiment({"task": "tag", "model": {"arch": "conv"}})) is not type(first)


@pytest.mark.parametrize("task", TASKS)
def test_the_error_of_a_corpus_of_another_task_lists_the_corpora(task: str) -> None:
    own = set(TASKS[task].data_spec.corpora)
    for corpus in {name for entry in TASKS.values() for name in entry.data_spec.corpora} - own:
        message = error_message({"task": task, "data": {"corpus": corpus}})
        assert message.startswith(f"data.corpus is {corpus}, which is not a corpus for {task} (only for ")
        assert all(name in message.partition("Use ")[2] for name in own)
    assert "expected one of" in error_message({"task": task, "data": {"corpus": "nonsense"}})


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, ["task is missing"]),
        ({"task": "tga"}, ["task is 'tga'", "Did you mean tag?"]),
        ({"task": ["tag"]}, ["task"]),
        ({"task": "tag", "model": "lstm"}, ["model is 'lstm'", "a table of keys"]),
        ({"task": "tag", "train": 5}, ["train is 5", "a table of keys"]),
        ({"task": "tag", "data": [1]}, ["data is [1]", "a table of keys"]),
        ({"task": "tag", "modle": {}}, ["unknown key modle", "Did you mean model?"]),
        ({"task": "tag", "sed": 1}, ["unknown key sed", "Did you mean seed?"]),
        ({"task": "tag", "lr": 1}, ["unknown key lr", "Did you mean train.lr?", "model, train and decode"]),
        ({"task": "tag", "train": {"opimizer": "sgd"}}, ["Did you mean train.optimizer?"]),
        ({"task": "classify", "data": {"label_separator": ""}}, ["data.label_separator", "at least 1 character)"]),
        ({"task": "classify", "data": {"label_separator": "x" * 9}}, ["data.label_separator", "at most 8 characters)"]),
        ({"task": "classify", "data": {"languages": "en,eng"}}, ["data.languages has 'eng' (did you mean en?)", "vi"]),
        ({"task": "classify", "data": {"languages": "pt-BR"}}, ["data.languages has 'pt-BR' (did you mean pt?)"]),
        ({"task": "classify", "data": {"languages": ["xx"]}}, ["data.languages has 'xx'; expected all"]),
        ({"task": "classify", "data": {"languages": []}}, ["data.languages has ''; expected all"]),
        ({"task": "tag", "model": {"arch": "lsmt"}}, ["model.arch 'lsmt'", "Did you mean 'lstm'?"]),
        ({"task": "tag", "model": {"arch": []}}, ["model.arch"]),
        ({"task": "tag", "model": {"heads": 3}}, ["model.heads is not a key of lstm", "transformer"]),
        ({"task": "tag", "model": {"arch": "conv", "zoneout": 0.1}}, ["model.zoneout is not a key of conv", "lstm"]),
        ({"task": "tag", "train": {"learning_rat": 1}}, ["train.learning_rat", "Did you mean train.lr?"]),
        ({"task": "tag", "decode": {"max_length": 3}}, ["decode", "language"]),
        ({"task": "language", "decode": {"n_best": 3}}, ["decode.n_best has no effect in language"]),
        ({"task": "language", "decode": {"n_best": 3, "beam_size": 4}}, ["decode.n_best has no effect in language"]),
        ({"task": "tag", "data": {"train": "a", "corpus": "copy"}}, ["data.train", "data.corpus"]),
        ({"task": "tag", "data": {"valid_share": 0.5, "test_share": 0.5}}, ["data.valid_share", "data.test_share"]),
        ({"task": "tag", "train": {"epochs": None}}, ["train.epochs", "train.steps"]),
        ({"task": "tag", "train": {"optimizer": "adamw", "l2": 0.1}}, ["train.l2", "train.weight_decay"]),
        ({"task": "tag", "train": {"optimizer": "sgd", "weight_decay": 0.1}}, ["train.weight_decay", "train.l2"]),
        ({"task": "tag", "model": {"dim": 8, "character_width": 8}}, ["model.character_width", "model.dim"]),
        ({"task": "tag", "model": {"character_width": 7}}, ["model.character_width", "even"]),
        ({"task": "tag", "model": {"arch": "mixer", "max_length": 9}}, ["data.max_length", "model.max_length"]),
        ({"task": "tag", "model": {"arch": "transformer", "max_length": 9}}, ["data.max_length", "model.max_length"]),
        ({"task": "tag", "model": {"arch": "transformer", "heads": 3}}, ["model.heads", "model.dim"]),
        ({"task": "tag", "model": {"arch": "transformer", "kv_heads": 3}}, ["model.kv_heads", "model.heads"]),
        (
            {"task": "tag", "model": {"arch": "transformer", "positions": "rotary", "score": "cosine"}},
            ["model.positions", "scaled-dot"],
        ),
        ({"task": "tag", "model": {"arch": "conv", "init": "identity"}}, ["model.init", "orthogonal"]),
        ({"task": "tag", "model": {"characters": "conv", "init": "identity"}}, ["model.init", "orthogonal"]),
        ({"task": "classify", "train": {"loss_at": "every"}}, ["train.loss_at", "model.pool"]),
        ({"task": "language", "model": {"bidirectional": True}}, ["model.bidirectional"]),
        ({"task": "language", "model": {"arch": "conv", "centered": True}}, ["model.centered"]),
        ({"task": "language", "model": {"arch": "conv", "norm": "group"}}, ["model.norm", "layer"]),
        ({"task": "language", "model": {"arch": "transformer", "norm": "instance"}}, ["model.norm", "layer"]),
        ({"task": "language", "model": {"tied": True}}, ["model.tied", "256", "128"]),
        (
            {"task": "language", "model": {"arch": "window", "dim": 8, "hidden": 8, "tied": True, "direct": True}},
            ["model.tied"],
        ),
        (
            {"task": "language", "model": {"arch": "transformer"}, "train": {"carry_state": True}},
            ["train.carry_state", "lstm"],
        ),
        (
            {"task": "language", "train": {"carry_state": False, "bptt_random": True}},
            ["train.bptt_random", "train.carry_state"],
        ),
        (
            {"task": "language", "model": {"arch": "transformer", "max_length": 9}, "train": {"bptt": 10}},
            ["train.bptt", "model.max_length"],
        ),
    ],
)
def test_the_error_of_an_invalid_experiment_names_the_keys(raw: dict[str, Any], words: list[str]) -> None:
    message = error_message(raw)
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    "raw",
    [
        {"task": "tag", "nonsense": 1},
        {"task": "tag", "train": {"shuffle": True}},
        {"task": "tag", "data": {"columns": 2}},
        {"task": "tag", "model": {"blocks": 2}},
        {"task": "sentiment"},
        {"task": "tag", "model": {"arch": "bert"}},
    ],
)
def test_a_name_unlike_any_other_has_no_suggestion(raw: dict[str, Any]) -> None:
    message = error_message(raw)
    assert "Did you mean" not in message
    assert re.search("lists all|A config has|expected one of|Known", message)


def test_the_error_names_the_value_that_a_default_is_derived_from() -> None:
    raw = {"task": "language", "model": {"arch": "transformer"}, "train": {"bptt": "x"}}
    assert error_message(raw).startswith("train.bptt is 'x'")


def test_a_long_invalid_value_is_truncated_in_the_error() -> None:
    assert len(error_message({"task": "tag", "train": {"lr": "x" * 10_000}})) < 150


def test_steps_replace_epochs_unless_both_are_set() -> None:
    assert experiment({"task": "tag"}).train.epochs == 15
    assert experiment({"task": "tag", "train": {"steps": 5}}).train.epochs is None
    assert experiment({"task": "tag", "train": {"steps": 5, "epochs": 2}}).train.epochs == 2
    assert experiment({"task": "tag", "train": {"steps": "none"}}).train.epochs == 15


def test_weight_decay_has_a_default_only_with_adamw() -> None:
    assert experiment({"task": "tag", "model": {"arch": "transformer"}}).train.weight_decay == 0.01
    other = {"task": "tag", "model": {"arch": "transformer"}, "train": {"optimizer": "sgd"}}
    assert experiment(other).train.weight_decay == 0


def test_the_length_of_the_model_follows_the_data() -> None:
    assert experiment({"task": "tag", "model": {"arch": "mixer"}, "data": {"max_length": 9}}).model.max_length == 9  # type: ignore[union-attr]
    model = experiment({"task": "language", "model": {"arch": "transformer"}, "train": {"bptt": 9}}).model
    assert model.max_length == 9  # type: ignore[union-attr]


@given(st.integers(3, 300))
def test_the_character_width_is_smaller_than_the_word_width(width: int) -> None:
    model = experiment({"task": "tag", "model": {"dim": width}}).model
    assert model.character_width is not None
    assert 0 < model.character_width < width
    assert model.character_width % 2 == 0


def test_none_disables_an_optional_key_and_otherwise_means_the_default() -> None:
    for none in (None, "none"):
        config = experiment({"task": "classify", "train": {"clip_norm": none}, "data": {"max_length": none}})
        assert config.train.clip_norm is None
        assert config.data.max_length == 512
    assert experiment({"task": "classify", "model": {"pool": None}}).model.pool == "mean"
    assert experiment({"task": "tag", "model": {"characters": "none"}}).model.characters == "none"


def test_one_file_is_a_list_of_one_and_a_column_may_be_a_number() -> None:
    data = experiment({"task": "classify", "data": {"train": "a.csv", "text": 2}}).data
    assert data.train == ("a.csv",)
    assert data.text == "2"


def test_languages_are_a_list_a_string_or_all() -> None:
    def resolved(languages: Any) -> tuple[str, ...]:
        return experiment({"task": "classify", "data": {"languages": languages}}).data.languages

    assert resolved("en, fr,de") == resolved(["fr", "de", "en"]) == resolved(["de", "fr,en"]) == ("de", "en", "fr")
    assert resolved("all") == LANGUAGES
    assert experiment({"task": "classify"}).data.languages == FAMILIAR


@pytest.mark.parametrize("task", ["translate", "caption"])
def test_the_default_length_of_answers_is_that_of_the_targets_and_the_end(task: str) -> None:
    def length(**sections: Any) -> int | None:
        decode = experiment({"task": task, **sections}).decode
        return None if decode is None else decode.max_length

    assert length() == 129
    assert length(data={"max_length": 16}) == length(data={"max_length": "16"}) == 17
    assert length(data={"max_length": 16}, decode={"max_length": 9}) == 9
    assert length(data={"max_length": 1_000_000}) == 100_000
    with pytest.raises(ConfigError, match=r"^data\.max_length is 'many'; expected a whole number"):
        length(data={"max_length": "many"})
