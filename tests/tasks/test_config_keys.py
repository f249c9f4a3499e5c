"""The keys of the config: their descriptions, types and options; the nearest key to a wrong name."""

import re
from dataclasses import replace
from inspect import get_annotations

import pytest

from seqloom.core.config.train import Train
from seqloom.core.problem import ArgumentError
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import ALSO_CALLED, all_keys, merge_keys, nearest_key
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS
from tests.tasks.conditions import config_of, keys_of_some


def test_every_field_of_every_section_is_a_key() -> None:
    configs = [config_of(task, arch) for task in TASKS for arch in ARCHITECTURES]
    sections = {(section, kind) for config in configs for section, kind in config.sections().items()}
    fields = {f"{section}.{name}" for section, kind in sections for name in kind.model_fields}
    assert set(all_keys()) == fields


def test_every_key_has_a_description_a_type_and_an_option() -> None:
    several = ("data.train", "data.valid", "data.test", "data.languages", "train.metrics")
    for key in all_keys().values():
        assert key.description.endswith("."), key.dotted
        assert "\n" not in key.description, key.dotted
        assert not re.search(r"\b[Aa] [aeio]", key.description), key.dotted  # "an"
        assert len(key.description) > 8, key.dotted
        assert key.kind in (bool, int, float, str, tuple), key.dotted
        assert (key.kind is tuple) == (key.dotted in several), key.dotted
        assert all(isinstance(word, str) for word in key.choices), key.dotted
        assert key.option.removeprefix("--").replace("-", "_") == key.dotted


def test_one_text_is_true_of_the_patience_and_the_checkpoints_of_every_task() -> None:
    once = {"early_stop", "halve_every", "keep_checkpoints", "average_checkpoints"}
    assert once < set(get_annotations(Train))
    for entry in TASKS.values():
        own = entry.config.sections()["train"].__mro__
        assert not any(once & set(get_annotations(section)) for section in own[: own.index(Train)])
    patience = all_keys()["train.early_stop"].description
    assert "without a new best" in patience
    assert "a new lowest loss" in patience


def test_sections_have_a_description() -> None:
    assert all((field.description or "").endswith(".") for field in Experiment.model_fields.values())


def test_a_key_of_several_models_lists_them_all() -> None:
    assert all_keys()["model.dim"].archs == tuple(ARCHITECTURES)
    assert all_keys()["model.heads"].archs == ("transformer",)
    assert set(all_keys()["model.norm"].archs) == {"mixer", "conv", "transformer"}
    assert all_keys()["train.lr"].archs == ()


def test_a_key_says_whether_it_may_be_none() -> None:
    assert all_keys()["train.clip_norm"].optional
    assert not all_keys()["train.lr"].optional
    never_none = {key.name for key in keys_of_some() if key.section == "model"}
    assert not [
        key for key in all_keys().values() if key.section == "model" and key.name in never_none and key.optional
    ]


def test_a_key_says_which_tasks_have_it() -> None:
    assert all_keys()["train.lr"].tasks == tuple(TASKS)
    assert all_keys()["train.bptt"].tasks == ("language",)
    assert all_keys()["model.attention"].tasks == ("translate", "caption")
    assert "transformer" not in all_keys()["model.attention"].archs


def test_a_key_has_one_kind_of_value_in_all_tasks() -> None:
    lr = all_keys()["train.lr"]
    with pytest.raises(ArgumentError, match=r"train\.lr is float in language, tuple in other; expected one kind"):
        merge_keys(lr, replace(lr, kind=tuple, tasks=("other",)))


def test_the_nearest_key_of_every_key_is_itself() -> None:
    for dotted in all_keys():
        assert nearest_key(dotted) == nearest_key(dotted.replace("_", "-")) == dotted


def test_the_nearest_key_of_a_typing_error_is_in_its_section() -> None:
    """A doubled, a missing or two swapped letters, in names of at least four."""
    for key in all_keys().values():
        name = key.name
        if len(name) < 4:
            continue
        for wrong in (name + name[-1], name[:2] + name[3:], name[:1] + name[2] + name[1] + name[3:]):
            nearest = nearest_key(f"{key.section}.{wrong}")
            assert nearest in all_keys(), wrong
            assert (nearest or "").startswith(f"{key.section}."), wrong


def test_names_in_other_libraries_have_a_key() -> None:
    for name, dotted in ALSO_CALLED.items():
        assert dotted in all_keys()
        assert nearest_key(f"{dotted.partition('.')[0]}.{name}") == nearest_key(name) == dotted


def test_a_name_unlike_any_key_has_no_nearest_key() -> None:
    assert nearest_key("train.qqqq") is None
    assert nearest_key("") is None


@pytest.mark.parametrize("task", TASKS)
def test_the_keys_for_files_come_first(task: str) -> None:
    data, train = (TASKS[task].config.sections()[name] for name in ("data", "train"))
    assert list(data.model_fields)[:4] == ["train", "valid", "test", "corpus"]
    assert next(iter(train.model_fields)) == "epochs"
