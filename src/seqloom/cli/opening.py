"""A run by its folder, ready to be asked."""

from seqloom.runs.devices import device_of
from seqloom.runs.run import Run
from seqloom.spec.config.train import Train
from seqloom.spec.errors import UserError
from seqloom.spec.registry import unknown

DEVICES: tuple[str, ...] = Train.model_fields["device"].annotation.__args__  # type: ignore[union-attr]


def opened(folder: str, device: str) -> Run:
    """The run in a folder, checked, its weights on this device."""
    if device not in DEVICES:
        raise UserError(unknown("device", device, DEVICES))
    run = Run(folder, str(device_of(device)))
    _ = run.model  # now, so that a run without weights is told before anything is read
    return run
