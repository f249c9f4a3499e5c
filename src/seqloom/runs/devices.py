"""Where to compute, and with which random numbers."""

from typing import TYPE_CHECKING

from seqloom.spec.errors import UserError
from seqloom.spec.names import DEVICES
from seqloom.spec.problem import KeyName
from seqloom.spec.registry import unknown

if TYPE_CHECKING:
    import torch


def check_device(name: str, key: str = "device") -> None:
    """Refuse a device that exists nowhere; whether this machine has it, `device_of` knows, which needs torch."""
    if name not in DEVICES:
        raise UserError(*unknown(KeyName(key), name, DEVICES), code="unknown-name")


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

    from seqloom.data.order import number

    torch.manual_seed(number(*words))


def device_words(device: "torch.device") -> str:
    """For a person."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "mps":
        return "Apple GPU"
    cores = torch.get_num_threads()
    return f"{cores} CPU core{'s' if cores > 1 else ''}"
