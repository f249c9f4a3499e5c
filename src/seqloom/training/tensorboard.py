"""TensorBoard files beside metrics.jsonl, for those who look there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.core import atomic_io
from seqloom.core.problem import KeyName, UserError
from seqloom.core.run_format import TENSORBOARD
from seqloom.training.events import NOT_LOGGED, Event, Sample, Step, Valid
from seqloom.training.loop import Trainer

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


@contextmanager
def tracked(trainer: Trainer, folder: Path) -> Iterator[None]:
    """Within: what happens is written for TensorBoard too, if the config says so; steps that come again replace."""
    if not trainer.part.tensorboard:
        yield
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        message = f"{KeyName('train.tensorboard')} needs TensorBoard, which is not installed"
        raise UserError(message, "Install it with `pip install 'seqloom[track]'`") from None
    place = folder / TENSORBOARD
    with atomic_io.write_errors(place):
        writer = SummaryWriter(str(place), purge_step=trainer.progress.step + 1)  # the first step that is to come

    def listen(event: Event) -> None:
        if not isinstance(event, NOT_LOGGED):
            with atomic_io.write_errors(place):
                write(writer, event)
                writer.flush()  # what a checkpoint has seen does not come again

    trainer.listeners.append(listen)
    try:
        yield
    finally:
        trainer.listeners.remove(listen)
        with atomic_io.write_errors(place):
            writer.close()


def write(writer: "SummaryWriter", event: Event) -> None:
    """An event, in TensorBoard's words."""
    if isinstance(event, Step):
        for name in ("loss", "lr", "gradient", "clipped"):
            writer.add_scalar(f"train/{name}", getattr(event, name), event.step)
    elif isinstance(event, Valid):
        for name, score in event.scores.items():
            writer.add_scalar(f"valid/{name}", score, event.step)
    elif isinstance(event, Sample):
        writer.add_text("sample", event.text, event.step)
