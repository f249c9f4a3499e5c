"""Where to compute, and with which random numbers."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from seqloom.core.config.train import Train
from seqloom.core.names import DEVICES
from seqloom.core.problem import KeyName, UserError
from seqloom.core.registry import unknown_name

if TYPE_CHECKING:
    import torch


def check_device(name: str, key: str = "device") -> None:
    """Refuse a device that exists nowhere; whether this machine has it, `device_of` knows, which needs torch."""
    if name not in DEVICES:
        raise UserError(*unknown_name(KeyName(key), name, DEVICES), code="unknown-name")


def device_of(name: str, key: str = "device") -> "torch.device":
    """A device by name; `auto` takes a GPU if there is one.

    key: the argument, or the key of the config, that names it
    """
    check_device(name, key)
    import torch

    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(each for each in ("cuda", "mps", "cpu") if there[each])
    if not there[name]:
        raise UserError(
            f"{KeyName(key, name)}: there is none here that torch can use",
            "`seqloom doctor` says what there is",
        )
    return torch.device(name)


def seed(*words: object) -> None:
    """Start torch's random numbers where these words say: dropout is then a pure function of (seed, step)."""
    import torch

    from seqloom.data.permutation import stable_hash

    torch.manual_seed(stable_hash(*words))


def device_words(device: "torch.device") -> str:
    """For a person."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "mps":
        return "Apple GPU"
    cores = torch.get_num_threads()
    return f"{cores} CPU core{'s' if cores > 1 else ''}"


def precision(part: Train, device: "torch.device") -> AbstractContextManager[object]:
    """Matrix products in bfloat16, where asked for."""
    import torch

    if part.precision == "bf16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()


@contextmanager
def determinism(part: Train) -> Iterator[None]:
    """Within: an operation that differs from run to run is refused, where the config says so."""
    if not part.deterministic:
        yield
        return
    import torch

    before = torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
