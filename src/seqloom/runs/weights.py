"""Load the weights of a run into a model, and check that they are complete, finite and of the right shape and type."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from seqloom.core.problem import KeyName, RunError
from seqloom.core.run_format import EXPERIMENT, RESTORE, cannot_read


def load_weights(model: nn.Module, path: Path, device: torch.device) -> None:
    """Load the weights in a file into a model, which may be on `meta`."""
    dtypes = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    try:
        weights = load_file(path, device=str(device))
        for name, tensor in weights.items():
            if tensor.dtype != dtypes.get(name, tensor.dtype):
                actual, expected = (str(dtype).removeprefix("torch.") for dtype in (tensor.dtype, dtypes[name]))
                raise weights_mismatch(path, f"{name} is {actual}, expected {expected}")
            if not bool(tensor.isfinite().all()):
                message = f"{name} has non-finite values, so it can't be used"
                advice = f"{RESTORE}, or train again with a lower {KeyName('train.lr')}"
                raise RunError(message, advice, location=path)
        model.load_state_dict(weights, assign=True)
    except FileNotFoundError:  # the file existed when the folder was checked
        message = "no longer there: the run is still training and has replaced it with better weights"
        raise RunError(message, "Try again", location=path) from None
    except OSError as error:
        raise cannot_read(path, error) from None
    except (SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[-1].strip().rstrip(".")  # the first line of torch's message names no cause
        raise weights_mismatch(path, reason) from None


def weights_mismatch(path: Path, reason: str) -> RunError:
    return RunError(f"does not fit {EXPERIMENT} ({reason})", RESTORE, location=path)
