"""TensorBoard files in the run folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seqloom.core import atomic_io
from seqloom.core.problem import KeyName, UserError
from seqloom.core.run_format import TENSORBOARD
from seqloom.training.events import NOT_LOGGED, Event, Sample, Step, Valid
from seqloom.training.loop import Trainer


@contextmanager
def tensorboard_log(trainer: Trainer, folder: Path) -> Iterator[None]:
    """Write events within the block for TensorBoard too, if the config says so; repeated steps are replaced."""
    if not trainer.config.tensorboard:
        yield
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        message = f"{KeyName('train.tensorboard')} needs TensorBoard, which is not installed"
        raise UserError(message, "Install it with `pip install 'seqloom[track]'`") from None
    path = folder / TENSORBOARD
    with atomic_io.write_errors(path):
        writer = SummaryWriter(str(path), purge_step=trainer.progress.step + 1)

    def write(event: Event) -> None:
        if isinstance(event, NOT_LOGGED):
            return
        with atomic_io.write_errors(path):
            if isinstance(event, Step):
                for name in ("loss", "lr", "gradient", "clipped"):
                    writer.add_scalar(f"train/{name}", getattr(event, name), event.step)
            elif isinstance(event, Valid):
                for name, score in event.scores.items():
                    writer.add_scalar(f"valid/{name}", score, event.step)
            elif isinstance(event, Sample):
                writer.add_text("sample", event.text, event.step)
            writer.flush()  # events before a checkpoint are not sent again

    trainer.listeners.append(write)
    try:
        yield
    finally:
        trainer.listeners.remove(write)
        with atomic_io.write_errors(path):
            writer.close()
