"""The names that a config may use are those that the code knows, in the same order; and saying them needs no torch."""

import importlib
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import seqloom.core
import seqloom.data
import seqloom.decoding
import seqloom.kernels
import seqloom.models
import seqloom.nn
import seqloom.tasks
import seqloom.training
from seqloom.core import names
from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Marked, Registry
from seqloom.models.registry import ARCHITECTURES
from seqloom.nn.cells import CELLS
from seqloom.tasks.config_keys import all_keys
from seqloom.tasks.registry import TASKS

ROOMS = (seqloom.kernels, seqloom.nn, seqloom.data, seqloom.decoding, seqloom.tasks, seqloom.training)

# Anyone may add to them, and no config needs their names from elsewhere.
OPEN = {"TASKS", "ARCHITECTURES", "CELLS", "FORMATS"}

# Which keys of the config take which names, and the words that they take beyond them.
TAKEN_BY = {
    "ACTIVATIONS": ("model.activation", ()),
    "SUMMARIES": ("model.summary", ()),
    "INITIAL_STATES": ("model.initial", ()),
    "CONNECTIONS": ("model.connection", ()),
    "DROPOUTS": ("model.dropout_kind", ()),
    "SCORES": ("model.score", ()),
    "POSITIONS": ("model.positions", ()),
    "ORDERS": ("model.order", ()),
    "SCHEMES": ("model.init", ()),
    "NORMS": ("model.norm", ()),
    "HEADS": ("model.head", ()),
    "POOLS": ("model.pool", ()),
    "SIZES": ("model.size", ()),
    "CHARACTER_ENCODERS": ("model.characters", ("none",)),
    "TOKENIZERS": ("data.tokenizer", ()),
    "OPTIMIZERS": ("train.optimizer", ()),
    "SCHEDULES": ("train.schedule", ()),
    "METRICS": ("train.metrics", ()),
    "DEVICES": ("train.device", ()),
}


def modules(room: ModuleType) -> list[str]:
    """All modules of a package, those of its sub-packages too."""
    return [module.name for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")]


tuples = {name: value for name, value in vars(names).items() if name.isupper()}
registries = {
    name: value
    for room in ROOMS
    for module in modules(room)
    for name, value in vars(importlib.import_module(module)).items()
    if isinstance(value, Registry)
}


@pytest.mark.parametrize("name", sorted(set(tuples) & set(registries)))
def test_names_are_the_keys_of_their_registry(name: str) -> None:
    assert tuple(tuples[name]) == tuple(registries[name])


def test_every_closed_registry_has_its_names_in_spec() -> None:
    assert set(registries) - set(tuples) == OPEN


def test_names_that_stand_for_no_class_are_few() -> None:
    """Recurrent, Attention, PooledContext, record and the config know these by themselves."""
    known = {"INITIAL_STATES", "WEIGHTINGS", "SUMMARIES", "RECORDS", "SIZES", "DEVICES"}
    marked = {name for name, value in tuples.items() if isinstance(value, Marked)}
    assert marked == {"SAME_WIDTH", "ROTATABLE", "NORMS_OVER_TIME", "LIKELIHOODS"}
    assert set(tuples) - set(registries) == known | marked


def test_open_names_are_those_of_their_registries() -> None:
    """What tests may add to without touching the package has no tuple here."""
    assert all_keys()["model.arch"].choices == tuple(ARCHITECTURES)
    assert all_keys()["model.encoder"].choices == ("none", *ARCHITECTURES)
    assert set(all_keys()["data.corpus"].choices) == {
        name for task in TASKS.values() for name in task.data_spec.corpora
    }
    assert set(CELLS) == {name for name, each in ARCHITECTURES.items() if each.family.begins_in_state}


def test_scores_of_one_width_are_those_that_refuse_two() -> None:
    refusing = []
    for name, score in registries["SCORES"].items():
        try:
            score(3, 5)
        except ArgumentError:
            refusing.append(name)
    assert refusing == list(names.SAME_WIDTH)


@pytest.mark.parametrize("name", sorted(TAKEN_BY))
def test_a_config_takes_these_names_and_no_others(name: str) -> None:
    key, beyond = TAKEN_BY[name]
    assert all_keys()[key].choices == (*beyond, *tuples[name])


def test_every_other_choice_is_the_configs_own() -> None:
    """What only a config lists needs no tuple: refuse, skip, keep."""
    others = {key.dotted for key in all_keys().values() if key.choices} - {key for key, _ in TAKEN_BY.values()}
    own = {
        "data.format",
        "data.corpus",
        "model.arch",
        "model.encoder",
        "data.on_bad_line",
        "data.on_rare_label",
        "data.on_ratio",
        "data.on_bad_image",
    }
    own |= {"model.gate", "model.attend", "model.bridge", "model.meeting", "model.feed", "model.stem"}
    own |= {"train.loss_at", "train.precision"}
    assert others == own | {"model.recurrent_init", "model.attention"}
    assert all_keys()["model.recurrent_init"].choices == names.SCHEMES
    assert all_keys()["model.attention"].choices == ("none", *names.SCORES)


def test_no_torch_is_needed() -> None:
    found = modules(seqloom.core)
    assert "seqloom.core.config.section" in found
    program = f"import sys, seqloom, {', '.join(found)}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
