"""A run by its folder, ready to be asked."""

from seqloom.runs.devices import device_of
from seqloom.runs.run import Run
from seqloom.spec.folder import Manifest


def opened(folder: str, device: str, manifest: Manifest) -> Run:
    """The run in a folder that has been checked, its weights on this device."""
    run = Run(folder, str(device_of(device)), manifest)
    _ = run.model  # now, so that a run without weights is told before anything is read
    return run
