"""The keys of the config: each is described, and what is nearly one finds it."""

import pytest

from seqloom.spec import names
from seqloom.spec.config.data import Data
from seqloom.spec.config.decode import Decode
from seqloom.spec.config.experiment import USED_BY
from seqloom.spec.config.keys import ALSO_CALLED, Key, all_keys, nearest
from seqloom.spec.config.model import MODELS
from seqloom.spec.config.train import Train
from seqloom.tasks.experiment import Experiment

every_key = pytest.mark.parametrize("key", all_keys().values(), ids=lambda key: key.dotted)


def test_every_field_of_every_part_is_a_key() -> None:
    parts = {"data": [Data], "model": list(MODELS.values()), "train": [Train], "decode": [Decode]}
    fields = {f"{part}.{name}" for part, kinds in parts.items() for kind in kinds for name in kind.model_fields}
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
    assert (key.kind is tuple) == (key.dotted in ("data.train", "data.valid", "data.test", "data.languages"))
    assert all(isinstance(word, str) for word in key.choices)


@every_key
def test_an_option_is_the_key_with_hyphens(key: Key) -> None:
    assert key.option.removeprefix("--").replace("-", "_") == key.dotted


def test_a_key_of_several_models_lists_them_all() -> None:
    assert all_keys()["model.width"].archs == names.ARCHITECTURES
    assert all_keys()["model.heads"].archs == ("transformer",)
    assert set(all_keys()["model.norm"].archs) == {"mixer", "conv", "transformer"}
    assert all_keys()["train.lr"].archs == ()


def test_what_may_be_none_is_known() -> None:
    assert all_keys()["train.clip_norm"].optional
    assert not all_keys()["train.lr"].optional
    always = {"data.on_bad_line", "data.max_characters", "data.languages", "data.source_language"}
    always |= {"data.target_language", "data.max_ratio", "data.on_ratio", "data.on_bad_image", "decode.n_best"}
    assert {key for key in USED_BY if not all_keys()[key].optional} == always


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
        found = nearest(f"{key.part}.{wrong}")
        assert found in all_keys()
        assert found is not None
        assert found.startswith(f"{key.part}.")


@pytest.mark.parametrize("name", sorted(ALSO_CALLED))
def test_what_others_call_it_is_known(name: str) -> None:
    part = ALSO_CALLED[name].partition(".")[0]
    assert ALSO_CALLED[name] in all_keys()
    assert nearest(f"{part}.{name}") == ALSO_CALLED[name]
    assert nearest(name) == ALSO_CALLED[name]


def test_what_is_like_nothing_finds_nothing() -> None:
    assert nearest("train.qqqq") is None
    assert nearest("") is None
