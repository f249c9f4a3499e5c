"""The weights of a run, from its file into a model: all of them, of the right shape and kind, and finite."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from seqloom.core.problem import KeyName, RunError
from seqloom.core.run_format import EXPERIMENT, cannot_read


def restore(model: nn.Module, path: Path, device: torch.device) -> None:
    """Give a model the weights of a file; what it had, which may be none (`meta`), says which are expected."""
    expected = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    try:
        weights = load_file(path, device=str(device))
        for name, tensor in weights.items():
            check(path, name, tensor, expected.get(name, tensor.dtype))
        model.load_state_dict(weights, assign=True)
    except FileNotFoundError:  # it was there when the folder was checked
        message = "no longer there, since the run is learning and has found better"
        raise RunError(message, "Try again", location=path) from None
    except OSError as wrong:
        raise cannot_read(path, wrong) from None
    except (SafetensorError, RuntimeError) as wrong:
        why = str(wrong).splitlines()[-1].strip().rstrip(".")  # torch's first line says only that it failed
        raise unfit(path, why) from None


def check(path: Path, name: str, tensor: Tensor, expected: torch.dtype) -> None:
    """One weight: of the kind that is expected, and finite."""
    if tensor.dtype != expected:
        came, wanted = (str(kind).removeprefix("torch.") for kind in (tensor.dtype, expected))
        raise unfit(path, f"{name} is {came}, expected {wanted}")
    if not bool(tensor.isfinite().all()):
        message = f"{name} has values that are not finite, so no answer can come of it"
        advice = f"Restore the folder from a copy, or train again with a lower {KeyName('train.lr')}"
        raise RunError(message, advice, location=path)


def unfit(path: Path, why: str) -> RunError:
    """Weights of another model."""
    return RunError(f"does not fit {EXPERIMENT} ({why})", "Restore the folder from a copy", location=path)
