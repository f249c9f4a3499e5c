"""Where to compute."""

import torch

from seqloom.spec.errors import UserError
from seqloom.spec.problem import KeyName


def device_of(name: str) -> torch.device:
    """A device by name; `auto` takes a GPU if there is one."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(each for each in ("cuda", "mps", "cpu") if there[each])
    if name not in there:
        raise UserError(f"device {name!r} is none of auto, {', '.join(there)}", code="unknown-name")
    if not there[name]:
        raise UserError(
            f"{KeyName('train.device', name)}: there is none here that torch can use",
            "`seqloom doctor` says what there is",
        )
    return torch.device(name)


def device_words(device: torch.device) -> str:
    """For a person."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "mps":
        return "Apple GPU"
    cores = torch.get_num_threads()
    return f"{cores} CPU core{'s' if cores > 1 else ''}"
