"""Where to compute, in which precision, and how surely the same."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from seqloom.data.order import number
from seqloom.spec.config.train import Train
from seqloom.spec.errors import UserError


def device_of(name: str) -> torch.device:
    """A device by name; `auto` takes a GPU if there is one."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(each for each in ("cuda", "mps", "cpu") if there[each])
    if not there[name]:
        raise UserError(f"--device {name}: there is none here that torch can use. `seqloom doctor` says what there is.")
    return torch.device(name)


def device_words(device: torch.device) -> str:
    """For a person."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "mps":
        return "Apple GPU"
    cores = torch.get_num_threads()
    return f"{cores} CPU core{'s' if cores > 1 else ''}"


def precision(part: Train, device: torch.device) -> AbstractContextManager[object]:
    """Matrix products in bfloat16, where asked for."""
    if part.precision == "bf16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()


def seed(*words: object) -> None:
    """Start torch's random numbers where these words say: dropout is then a pure function of (seed, step)."""
    torch.manual_seed(number(*words))


@contextmanager
def determinism(part: Train) -> Iterator[None]:
    """Within: an operation that differs from run to run is refused, where the config says so."""
    if not part.deterministic:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
