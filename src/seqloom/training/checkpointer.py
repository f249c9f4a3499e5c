"""What a run keeps on the disk while it learns: the log, the best weights, checkpoints; and when it stops."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from torch import nn

from seqloom.core import atomic_io
from seqloom.core.problem import SeqloomError
from seqloom.core.run_format import METRICS
from seqloom.runs.folder import keep_best
from seqloom.tasks.task import Evaluation
from seqloom.training import checkpoints
from seqloom.training.events import NOT_LOGGED, Event, Saved, Stop
from seqloom.training.loop import Trainer

SECONDS = 60  # between checkpoints, beside those at validations


class Stopped(SeqloomError):
    """The run was asked to stop, saved all, and left in order."""

    def __init__(self, folder: Path, step: int, number: int) -> None:
        name = signal.Signals(number).name
        super().__init__(f"stopped by {name} at step {step}; all is saved. Continue with `seqloom resume {folder}`.")
        self.number = number


class RunCheckpointer:
    """Keeps a run in its folder. `asked` is the signal that asked it to stop, if one did."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: int | None = None
        self._saved_at = time.monotonic()
        self._log_bytes = 0

    def listen(self, event: Event) -> None:
        """A line in metrics.jsonl for all but ticks."""
        if not isinstance(event, NOT_LOGGED):
            line = event.line()
            atomic_io.append(self.folder / METRICS, line)
            self._log_bytes += len(line.encode()) + 1

    def cut_log(self, size: int) -> None:
        """Back to where the log stood at a checkpoint: what came after will come again."""
        self._log_bytes = atomic_io.truncate(self.folder / METRICS, size)

    def best(self, model: nn.Module, evaluation: Evaluation) -> None:
        """The best weights so far."""
        keep_best(self.folder, model)

    def step(self, trainer: Trainer) -> None:
        """Save at validations, every so many steps or seconds, at the end, and when asked to stop."""
        progress, every = trainer.progress, trainer.part.checkpoint_every
        due = progress.step % every == 0 if every else time.monotonic() - self._saved_at > SECONDS
        if self.asked is not None or due or progress.validated == progress.step:
            self.save(trainer)
        if self.asked is not None and not trainer.finished():
            trainer.tell(Stop(progress.step, signal.Signals(self.asked).name))
            raise Stopped(self.folder, progress.step, self.asked)

    def save(self, trainer: Trainer) -> None:
        """A checkpoint, then fewer old ones."""
        trainer.progress.log_bytes = self._log_bytes
        atomic_io.fsync(self.folder / METRICS)
        checkpoints.save(self.folder, trainer.model, trainer.optimizer, trainer.state, trainer.progress)
        checkpoints.prune(self.folder, trainer.part.keep, besides=trainer.progress.validations)
        self._saved_at = time.monotonic()
        trainer.tell(Saved(trainer.progress.step))

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Within: SIGINT and SIGTERM ask for a stop after the step; a second SIGINT stops at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(number: int, frame: FrameType | None) -> None:
            if self.asked is not None:
                raise KeyboardInterrupt
            self.asked = number

        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
