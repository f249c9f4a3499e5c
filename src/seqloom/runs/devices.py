"""Devices, random seeds, precision and determinism. torch is imported when it is needed."""

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
    """Refuse an unknown name. (`resolve_device` checks whether this machine has the device; it needs torch.)"""
    if name not in DEVICES:
        raise UserError(*unknown_name(KeyName(key), name, DEVICES), code="unknown-name")


def resolve_device(name: str, key: str = "device") -> "torch.device":
    """The device of this name; `auto` is a GPU if there is one.

    key: the argument or config key that names it, for messages
    """
    check_device(name, key)
    import torch

    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device in available if available[device])
    if not available[name]:
        message = f"{KeyName(key, name)}: torch finds no such device here"
        raise UserError(message, "`seqloom doctor` lists the devices")
    return torch.device(name)


def device_name(device: "torch.device") -> str:
    """A readable name, such as `2 CPU cores`."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "mps":
        return "Apple GPU"
    cores = torch.get_num_threads()
    return f"{cores} CPU core{'s' if cores > 1 else ''}"


def seed_torch(*key: object) -> None:
    """Seed torch with the hash of a key such as (seed, step), so that dropout depends on the key alone."""
    import torch

    from seqloom.data.permutation import stable_hash

    torch.manual_seed(stable_hash(*key))


def autocast(train: Train, device: "torch.device") -> AbstractContextManager[object]:
    """Compute matrix products in `train.precision`."""
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16) if train.precision == "bf16" else nullcontext()


@contextmanager
def deterministic_algorithms(train: Train) -> Iterator[None]:
    """With `train.deterministic`, refuse operations whose results differ from run to run."""
    if not train.deterministic:
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
