"""Architectures are described without torch: their family, their sizes, and whether they can generate."""

import pkgutil
import subprocess
import sys

import pytest

import seqloom.models
from seqloom.core import names
from seqloom.models.family import Family, Use
from seqloom.models.registry import ARCHITECTURES, architectures_of, generative_architectures
from seqloom.nn.cells import CELLS
from seqloom.tasks.registry import TASKS

every_architecture = pytest.mark.parametrize("arch", ARCHITECTURES)


@every_architecture
def test_an_architecture_belongs_to_its_family(arch: str) -> None:
    family = ARCHITECTURES[arch].family
    assert issubclass(family, Family)
    assert arch in architectures_of(family)


@every_architecture
def test_sizes_and_defaults_are_keys_of_the_family(arch: str) -> None:
    family = ARCHITECTURES[arch].family
    for size in names.SIZES:
        own = {*family.sizes[size], *family.encoder_values(9)}
        own |= {name for use in Use for name in family.defaults(size, use)}
        assert own <= family.model_fields.keys()


@every_architecture
def test_an_architecture_names_the_vectors_of_its_cell(arch: str) -> None:
    assert ARCHITECTURES[arch].vectors == (CELLS[arch].carries if arch in CELLS else ())


def test_generative_architectures_are_one_of_each_family_but_the_mixer() -> None:
    families = {entry.family for entry in ARCHITECTURES.values()} - {ARCHITECTURES["mixer"].family}
    assert [ARCHITECTURES[name].family for name in generative_architectures()] == [
        entry
        for entry in dict.fromkeys(architecture.family for architecture in ARCHITECTURES.values())
        if entry in families
    ]


def test_families_and_configs_import_no_torch() -> None:
    names_found = {entry.name for entry in pkgutil.walk_packages(seqloom.models.__path__, "seqloom.models.")}
    modules = sorted(names_found - {"seqloom.models.register_model_parts"})  # it needs torch
    modules += [f"{task.folder}.config" for task in TASKS.values()]
    program = f"import sys, {', '.join(modules)}; print({{'torch', 'numpy', 'tokenizers'}} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
