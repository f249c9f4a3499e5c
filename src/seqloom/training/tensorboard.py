"""TensorBoard files beside metrics.jsonl, for those who look there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seqloom.spec.errors import UserError
from seqloom.training.events import Event, Sample, Step, Valid
from seqloom.training.loop import Trainer

FOLDER = "tensorboard"


@contextmanager
def tracked(trainer: Trainer, folder: Path) -> Iterator[None]:
    """Within: what happens is written for TensorBoard too, if the config says so; steps that come again replace."""
    if not trainer.part.tensorboard:
        yield
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        what = "train.tensorboard needs TensorBoard, which is not installed"
        raise UserError(f"{what}. Install it with `pip install 'seqloom[track]'`.") from None
    writer = SummaryWriter(str(folder / FOLDER), purge_step=trainer.progress.step or None)

    def listen(event: Event) -> None:
        if isinstance(event, Step):
            for name in ("loss", "lr", "gradient", "clipped"):
                writer.add_scalar(f"train/{name}", getattr(event, name), event.step)
        elif isinstance(event, Valid):
            for name, score in event.scores.items():
                writer.add_scalar(f"valid/{name}", score, event.step)
        elif isinstance(event, Sample):
            writer.add_text("sample", event.text, event.step)

    trainer.listeners.append(listen)
    try:
        yield
    finally:
        trainer.listeners.remove(listen)
        writer.close()
