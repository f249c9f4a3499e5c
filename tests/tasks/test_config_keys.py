"""The keys of the config: each is described, and what is nearly one finds it."""

from dataclasses import replace

import pytest

from seqloom.core.problem import ArgumentError
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import ALSO_CALLED, Key, all_keys, merged, nearest
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS
from tests.tasks.conditions import config_of, keys_of_some

every_key = pytest.mark.parametrize("key", all_keys().values(), ids=lambda key: key.dotted)


def test_every_field_of_every_section_is_a_key() -> None:
    configs = [config_of(task, arch) for task in TASKS for arch in ARCHITECTURES]
    sections = {(part, kind) for config in configs for part, kind in config.sections().items()}
    fields = {f"{part}.{name}" for part, kind in sections for name in kind.model_fields}
    assert set(all_keys()) == fields


@every_key
def test_a_key_says_what_it_is_in_a_sentence(key: Key) -> None:
    assert key.description.endswith(".")
    assert "\n" not in key.description
    assert len(key.description) > 8


def test_the_parts_too_are_described() -> None:
    assert all((field.description or "").endswith(".") for field in Experiment.model_fields.values())


@every_key
def test_a_key_takes_one_kind_of_value(key: Key) -> None:
    assert key.kind in (bool, int, float, str, tuple)
    several = ("data.train", "data.valid", "data.test", "data.languages", "train.metrics")
    assert (key.kind is tuple) == (key.dotted in several)
    assert all(isinstance(word, str) for word in key.choices)


@every_key
def test_an_option_is_the_key_with_hyphens(key: Key) -> None:
    assert key.option.removeprefix("--").replace("-", "_") == key.dotted


def test_a_key_of_several_models_lists_them_all() -> None:
    assert all_keys()["model.dim"].archs == tuple(ARCHITECTURES)
    assert all_keys()["model.heads"].archs == ("transformer",)
    assert set(all_keys()["model.norm"].archs) == {"mixer", "conv", "transformer"}
    assert all_keys()["train.lr"].archs == ()


def test_what_may_be_none_is_known() -> None:
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
        merged(lr, replace(lr, kind=tuple, tasks=("other",)))


@every_key
def test_the_nearest_to_a_key_is_itself(key: Key) -> None:
    assert nearest(key.dotted) == key.dotted
    assert nearest(key.dotted.replace("_", "-")) == key.dotted


@every_key
def test_a_typing_mistake_finds_a_right_key(key: Key) -> None:
    """A letter doubled, one left out, two swapped: of words long enough that a letter is not most of them."""
    name = key.name
    if len(name) < 4:
        return
    for wrong in (name + name[-1], name[:2] + name[3:], name[:1] + name[2] + name[1] + name[3:]):
        found = nearest(f"{key.section}.{wrong}")
        assert found in all_keys()
        assert found is not None
        assert found.startswith(f"{key.section}.")


@pytest.mark.parametrize("name", sorted(ALSO_CALLED))
def test_what_others_call_it_is_known(name: str) -> None:
    part = ALSO_CALLED[name].partition(".")[0]
    assert ALSO_CALLED[name] in all_keys()
    assert nearest(f"{part}.{name}") == ALSO_CALLED[name]
    assert nearest(name) == ALSO_CALLED[name]


def test_what_is_like_nothing_finds_nothing() -> None:
    assert nearest("train.qqqq") is None
    assert nearest("") is None


@pytest.mark.parametrize("task", TASKS)
def test_the_files_come_first(task: str) -> None:
    data, train = (TASKS[task].config.sections()[name] for name in ("data", "train"))
    assert list(data.model_fields)[:4] == ["train", "valid", "test", "corpus"]
    assert next(iter(train.model_fields)) == "epochs"
