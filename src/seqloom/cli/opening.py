"""A run by its folder, ready to be asked."""

from seqloom.runs.devices import device_of
from seqloom.runs.run import Run


def opened(folder: str, device: str) -> Run:
    """The run in a folder, checked, its weights on this device."""
    run = Run(folder, str(device_of(device)))
    _ = run.model  # now, so that a run without weights is told before anything is read
    return run
