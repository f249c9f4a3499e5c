"""Settings and fixtures of all tests, doctests and pages."""

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
for device in (torch.cuda, torch.xpu):  # torch.manual_seed formats a stack trace for each missing device
    if not device.is_available():
        device.manual_seed_all = lambda seed: None
os.fsync = os.fstat  # refuses an invalid descriptor too; fsync would only slow tests down


class TorchRandom:
    """torch's generator in the form that hypothesis expects: seeded for every example and restored after it."""

    seed = staticmethod(torch.manual_seed)
    getstate = staticmethod(torch.get_rng_state)
    setstate = staticmethod(torch.set_rng_state)


torch_random = TorchRandom()  # hypothesis has only a weak reference
hypothesis.register_random(torch_random)
hypothesis.settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.register_profile("thorough", max_examples=300, deadline=None, print_blob=True)
hypothesis.settings.load_profile("quick")  # the other one: --hypothesis-profile thorough


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All workers share one cache, which is not that of the user."""
    os.environ["SEQLOOM_CACHE"] = str(tmp_path_factory.getbasetemp().parent / "seqloom-cache")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True, scope="session")
def names(doctest_namespace: dict[str, object]) -> None:
    """Names that the examples in docstrings need not import."""
    doctest_namespace.update(torch=torch, seqloom=importlib.import_module("seqloom"))


@pytest.fixture
def forget_parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove the parts that a test registers and the modules that it imports from its folder."""
    modules, folder = set(sys.modules), str(tmp_path_factory.getbasetemp())
    with temporary_parts():
        yield
    for name in set(sys.modules) - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
            del sys.modules[name]


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Disable the shape checks: for invalid input, whose error is that of the package, and for `torch.compile`."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
