"""The names that a config may use are those that the code knows, in the same order; and saying them needs no torch."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import seqloom.kernels
import seqloom.nn
from seqloom.spec import names
from seqloom.spec.registry import Registry

tuples = {name: value for name, value in vars(names).items() if name.isupper()}
registries = {
    name: value
    for room in (seqloom.kernels, seqloom.nn)
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
    for name, value in vars(importlib.import_module(module.name)).items()
    if isinstance(value, Registry)
}


@pytest.mark.parametrize("name", sorted(set(tuples) & set(registries)))
def test_names_are_the_keys_of_their_registry(name: str) -> None:
    assert tuples[name] == tuple(registries[name])


def test_every_registry_has_its_names_in_spec() -> None:
    assert set(registries) - set(tuples) == set()


def test_names_that_stand_for_no_class_are_few() -> None:
    """Recurrent, Attention and record know these by themselves."""
    assert set(tuples) - set(registries) == {"INITIAL_STATES", "WEIGHTINGS", "RECORDS"}


def test_no_torch_is_needed() -> None:
    modules = [
        f"seqloom.spec.{module.name}"
        for module in pkgutil.iter_modules(importlib.import_module("seqloom.spec").__path__)
    ]
    program = f"import sys, seqloom, {', '.join(modules)}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
