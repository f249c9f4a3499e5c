"""The config accepts the names of the registries, in the same order; listing them needs no torch."""

import importlib
import pkgutil
import subprocess
import sys
from types import ModuleType

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
from seqloom.core.registry import Names, Registry
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import all_keys
from seqloom.tasks.registry import TASKS

PACKAGES = (seqloom.kernels, seqloom.nn, seqloom.data, seqloom.decoding, seqloom.tasks, seqloom.training)

# The config key of each registry, and the values that the key accepts before its names.
KEYS = {
    "ACTIVATIONS": ("model.activation", ()),
    "CONNECTIONS": ("model.connection", ()),
    "DROPOUTS": ("model.dropout_kind", ()),
    "SCORES": ("model.score", ()),
    "POSITIONS": ("model.positions", ()),
    "NORM_ORDERS": ("model.norm_order", ()),
    "SCHEMES": ("model.init", ()),
    "NORMS": ("model.norm", ()),
    "HEADS": ("model.head", ()),
    "POOLS": ("model.pool", ()),
    "BRIDGES": ("model.bridge", ()),
    "CHARACTER_ENCODERS": ("model.characters", ("none",)),
    "TOKENIZERS": ("data.tokenizer", ()),
    "OPTIMIZERS": ("train.optimizer", ()),
    "SCHEDULES": ("train.schedule", ()),
    "METRICS": ("train.metrics", ()),
}
# Registries whose names no config key accepts, or whose names the config reads from the registry itself.
OTHERS = {"TASKS", "ARCHITECTURES", "CELLS", "FORMATS", "BACKENDS"}


def modules(package: ModuleType) -> list[str]:
    return [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]


registries = {
    name: value
    for package in PACKAGES
    for module in modules(package)
    for name, value in vars(importlib.import_module(module)).items()
    if isinstance(value, Registry)
}


def test_every_registry_has_a_config_key() -> None:
    assert set(registries) == KEYS.keys() | OTHERS


def test_a_config_key_accepts_the_names_of_its_registry() -> None:
    for name, (key, other_values) in KEYS.items():
        assert all_keys()[key].choices == (*other_values, *registries[name])
    assert all_keys()["model.recurrent_init"].choices == tuple(registries["SCHEMES"])
    assert all_keys()["model.attention"].choices == ("none", *registries["SCORES"])


def test_an_open_kind_of_part_has_the_names_of_its_registry() -> None:
    for name, value in vars(names).items():
        if isinstance(value, Names):
            assert registries[name].names is value


def test_names_of_open_registries_are_not_listed_twice() -> None:
    assert all_keys()["model.arch"].choices == tuple(ARCHITECTURES)
    assert all_keys()["model.encoder"].choices == ("none", *ARCHITECTURES)
    assert set(all_keys()["data.corpus"].choices) == {
        name for task in TASKS.values() for name in task.data_spec.corpora
    }
    recurrent = {name for name, architecture in ARCHITECTURES.items() if architecture.family.has_initial_state}
    assert set(registries["CELLS"]) == recurrent


def test_scores_of_one_width_are_those_that_refuse_two() -> None:
    refusing = set()
    for name, score in registries["SCORES"].items():
        try:
            score(3, 5)
        except ArgumentError:
            refusing.add(name)
    assert refusing == names.SAME_WIDTH & set(registries["SCORES"])  # without scores that another test removed


def test_no_module_of_core_imports_torch() -> None:
    core = modules(seqloom.core)
    assert "seqloom.core.config.section" in core
    program = f"import sys, seqloom, {', '.join(core)}; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
