"""The trainer against a hand-written loop with the same model, batches and optimizer; milliseconds per step on the CPU.

    python benchmarks/trainer.py [--steps 60]

Both alternate in one process, from the same weights, and must end with the same loss. The hand-written loop does the
usual: zero the gradients, forward, backward, clip, step. It shares the trainer's batches, seeding and schedule, so
their cost is not part of the overhead. The trainer also checks that numbers are finite, counts, and logs a line every
ten steps. Checkpoints and validations are not timed.
"""

import argparse
import copy
import statistics
import tempfile
import time
from pathlib import Path

import torch

from seqloom.runs.devices import seed_torch
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment
from seqloom.training.checkpointer import RunCheckpointer
from seqloom.training.loop import Trainer
from seqloom.training.schedules import ScheduleState, learning_rate
from seqloom.training.session import Session

TRAIN = {"steps": 1000, "device": "cpu"}
CASES = {
    "language, lstm, small": {"task": "language", "model": {"arch": "lstm"}, "train": TRAIN},
    "language, transformer, small": {"task": "language", "model": {"arch": "transformer"}, "train": TRAIN},
    "language, lstm, tiny": {"task": "language", "model": {"arch": "lstm", "size": "tiny"}, "train": TRAIN},
    "classify, lstm, small": {"task": "classify", "model": {"arch": "lstm"}, "train": TRAIN},
    "tag, lstm, small": {"task": "tag", "model": {"arch": "lstm"}, "train": TRAIN},
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--steps", type=int, default=60, help="of each, after five to warm up (default: %(default)s)"
    )
    options = arguments.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"{'':32s}{'by hand':>10s}{'trainer':>10s}{'overhead':>10s}   loss at the end, both")
    for name, raw in CASES.items():
        print(row(name, Session.prepare(experiment(raw)), options.steps), flush=True)


def row(name: str, session: Session, steps: int) -> str:
    """A table row of one case; the loop and the trainer alternate."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = session.trainer([RunCheckpointer(Path(folder)).log_event])
        model = copy.deepcopy(trainer.model)
        hand = HandWrittenLoop(session, model)
        ours: list[float] = []
        theirs: list[float] = []
        for number in range(steps + 5):
            start = time.perf_counter()
            hand.step(number)
            between = time.perf_counter()
            trainer_step(trainer)
            after = time.perf_counter()
            if number >= 5:
                theirs.append(between - start)
                ours.append(after - between)
    expected, actual = hand.loss, trainer.progress.recent.loss / max(1, trainer.progress.recent.count)
    assert trainer.progress.step == steps + 5
    a, b = 1e3 * statistics.median(theirs), 1e3 * statistics.median(ours)
    assert abs(hand.last - trainer_last(trainer)) < 1e-6, (expected, actual)
    return f"{name:32s}{a:10.2f}{b:10.2f}{b / a - 1:+10.1%}   {hand.last:.6f}"


def trainer_step(trainer: Trainer) -> None:
    """A step of `Trainer.run` without a validation; it repeats the first epoch."""
    trainer.progress.item %= len(trainer.items)
    trainer.step()
    if trainer.progress.step % trainer.config.log_every == 0:
        trainer.last = trainer.progress.recent.loss / trainer.progress.recent.count  # type: ignore[attr-defined]
        trainer.log()


def trainer_last(trainer: Trainer) -> float:
    """The mean loss of the last ten steps that were logged."""
    return float(trainer.last)  # type: ignore[attr-defined]


class HandWrittenLoop:
    """A training loop without seqloom's trainer."""

    def __init__(self, session: Session, model: torch.nn.Module) -> None:
        self.task, self.model, self.experiment = session.task, model, session.experiment
        config: Experiment = session.experiment
        kind = torch.optim.AdamW if config.train.optimizer == "adamw" else torch.optim.Adam
        decay = config.train.weight_decay if config.train.optimizer == "adamw" else 0.0
        groups = [
            {"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": decay},
            {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
        ]
        self.optimizer = kind(groups, lr=config.train.lr, fused=True)
        self.items, self.state = session.task.epoch(0), None
        self.loss, self.last, self.sums = 0.0, 0.0, [0.0, 0]

    def step(self, number: int) -> None:
        seed_torch("step", self.experiment.seed, number)  # the same dropout as the trainer's
        batch = self.task.batch(self.items[number % len(self.items)])
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(ScheduleState(number, 1000, 0, 0), self.experiment.train)
        self.model.train()
        self.optimizer.zero_grad()
        carried = self.state.detach() if self.state is not None and batch.continues else None
        y, self.state = self.model(batch.source, batch.lengths, carried)
        loss = self.model.head.loss(y, batch.target, batch.lengths)
        loss.mean.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.loss = loss.total.item()
        self.sums = [self.sums[0] + self.loss, self.sums[1] + int(loss.count)]
        if (number + 1) % 10 == 0:
            self.last, self.sums = self.sums[0] / self.sums[1], [0.0, 0]


if __name__ == "__main__":
    main()
