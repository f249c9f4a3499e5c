"""Writes the log, the best weights and checkpoints of a run while it trains, and stops it on a signal."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import torch
from torch import nn

from seqloom.core import atomic_io
from seqloom.core.problem import SeqloomError
from seqloom.core.run_format import METRICS, read_manifest
from seqloom.runs.folder import save_best
from seqloom.training import checkpoints
from seqloom.training.events import NOT_LOGGED, Event, Saved, Stop
from seqloom.training.loop import Trainer

SECONDS = 60  # between checkpoints, unless `train.checkpoint_every` counts steps


class Stopped(SeqloomError):
    """A signal stopped the run after a step, and a checkpoint was saved."""

    def __init__(self, folder: Path, step: int, number: int) -> None:
        name = signal.Signals(number).name
        super().__init__(
            f"stopped by {name} at step {step}; the run is saved. Continue with `seqloom resume {folder}`."
        )
        self.number = number


class RunCheckpointer:
    """Writes the log, the best weights and checkpoints into a run folder.

    signal_number: the signal that asked the run to stop, if one did
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.signal_number: int | None = None
        self._saved_at = time.monotonic()
        self._log_bytes = 0

    def log_event(self, event: Event) -> None:
        """Append a line to metrics.jsonl, for all events but `NOT_LOGGED`."""
        if not isinstance(event, NOT_LOGGED):
            line = event.to_json()
            atomic_io.append(self.folder / METRICS, line)
            self._log_bytes += len(line.encode()) + 1

    def truncate_log(self, size: int) -> None:
        """Cut the log to its size at a checkpoint: the steps after it are taken again."""
        self._log_bytes = atomic_io.truncate(self.folder / METRICS, size)

    def save_best(self, model: nn.Module) -> None:
        save_best(self.folder, model.state_dict(), sum(weight.numel() for weight in model.parameters()))

    def save_best_of(self, step: int) -> None:
        path = checkpoints.checkpoint_path(self.folder, step)
        checkpoints.verify(path)
        weights = checkpoints.read_tensors(path / checkpoints.WEIGHTS, torch.device("cpu"))
        save_best(self.folder, weights, read_manifest(self.folder).parameters)

    def after_step(self, trainer: Trainer) -> None:
        """Save a checkpoint after a validation, every so many steps or seconds, at the end, and on a signal."""
        progress, every = trainer.progress, trainer.config.checkpoint_every
        due = progress.step % every == 0 if every else time.monotonic() - self._saved_at > SECONDS
        if self.signal_number is not None or due or progress.validated == progress.step:
            self.save(trainer)
        if self.signal_number is not None and not trainer.finished():
            trainer.emit(Stop(progress.step, signal.Signals(self.signal_number).name))
            raise Stopped(self.folder, progress.step, self.signal_number)

    def save(self, trainer: Trainer) -> None:
        progress, keep, also_keep = trainer.progress, trainer.config.keep_checkpoints, set(trainer.progress.validations)
        progress.log_bytes = self._log_bytes
        checkpoints.drop_lost_candidates(self.folder, progress)
        atomic_io.fsync(self.folder / METRICS)
        checkpoints.save(self.folder, trainer)
        if trainer.selection.margin is not None:
            also_keep |= checkpoints.candidate_steps(self.folder, keep)
        checkpoints.prune(self.folder, keep, also_keep)
        self._saved_at = time.monotonic()
        trainer.emit(Saved(progress.step))

    @contextmanager
    def catch_signals(self) -> Iterator[None]:
        """Within the block, SIGINT and SIGTERM stop the run after the step; a second signal stops it at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(number: int, frame: FrameType | None) -> None:
            if self.signal_number is not None:
                raise KeyboardInterrupt
            self.signal_number = number

        previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
