"""What every test, doctest and page shares."""

import importlib
import os
import sys
from collections.abc import Iterator

import hypothesis
import jaxtyping
import pytest
import torch

from tests.shapes import check_shapes
from tests.temporary_parts import temporary_parts

jaxtyping.jaxtyped = check_shapes
jaxtyping.install_import_hook("seqloom", "tests.shapes.check")  # before anything imports seqloom
torch.set_num_threads(1)  # one worker per core
for device in (torch.cuda, torch.xpu):  # torch.manual_seed formats a stack trace for each device that is not there
    if not device.is_available():
        device.manual_seed_all = lambda seed: None
os.fsync = os.fstat  # refuses a bad descriptor too; no test cuts the power, and tests would mostly wait for the disk


class TorchRandom:
    """torch's generator, in the form that hypothesis knows: seeded for every example, put back after it."""

    seed = staticmethod(torch.manual_seed)
    getstate = staticmethod(torch.get_rng_state)
    setstate = staticmethod(torch.set_rng_state)


torch_random = TorchRandom()  # hypothesis keeps a weak reference
hypothesis.register_random(torch_random)
hypothesis.settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.register_profile("thorough", max_examples=300, deadline=None, print_blob=True)
hypothesis.settings.load_profile("quick")  # `--hypothesis-profile thorough` for the other


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests leave the cache of whoever runs them alone; workers share one."""
    os.environ["SEQLOOM_CACHE"] = str(tmp_path_factory.getbasetemp().parent / "seqloom-cache")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True, scope="session")
def names(doctest_namespace: dict[str, object]) -> None:
    """Names that a docstring's example needs no import for."""
    doctest_namespace.update(torch=torch, seqloom=importlib.import_module("seqloom"))


@pytest.fixture
def forget_parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Parts that a test registers, and modules that it imports from its folder, are removed after it."""
    modules, folder = set(sys.modules), str(tmp_path_factory.getbasetemp())
    with temporary_parts():
        yield
    for name in set(sys.modules) - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
            del sys.modules[name]


@pytest.fixture
def unchecked() -> Iterator[None]:
    """No shape checks: for bad input, which should meet the package's own error, and for `torch.compile`."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
