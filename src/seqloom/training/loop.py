"""The loop. It takes steps, measures, and tells what happens; everything else is a part with a file of its own."""

import math
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

import torch
from torch import Tensor, nn

from seqloom.core.plurals import counted
from seqloom.core.problem import KeyName, SeqloomError
from seqloom.nn.heads.head import Loss
from seqloom.nn.model import GenerativeModel
from seqloom.nn.state import State
from seqloom.runs.devices import device_words, precision, seed
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.task import Batch, Evaluation, Task
from seqloom.training.activation_regularization import penalty
from seqloom.training.events import Event, Listener, Sample, Skip, Start, Step, Tick, Valid
from seqloom.training.optimization import ScheduleState, optimizer, rate, read, ready
from seqloom.training.trainer_state import Progress, Recent


class NotFinite(SeqloomError, ArithmeticError):
    """Too many steps in a row had no finite loss and gradient."""


class Checkpointer(Protocol):
    """Who keeps what the loop makes: on the disk, or nowhere for a dry run."""

    def best(self, model: nn.Module, evaluation: Evaluation) -> None:
        """These are the best weights so far."""

    def step(self, trainer: "Trainer") -> None:
        """A step is over, and all that belongs to it; save if it is time. May raise, to stop."""


class Trainer:
    """A model that learns a task.

    Each step: some batches, the mean of their losses over all their tokens, a gradient, a step of the optimizer. The
    state is carried from batch to batch where the task says so, cut from the gradient (truncated BPTT).
    """

    def __init__(
        self,
        task: Task[GenerativeModel, object],
        model: GenerativeModel,
        experiment: Experiment,
        device: torch.device,
        listeners: Sequence[Listener],
    ) -> None:
        self.task, self.model, self.experiment, self.device = task, model.to(device), experiment, device
        self.part = experiment.train
        self.listeners = list(listeners)
        self.optimizer = optimizer(self.model, self.part)
        self.lr_factors = [float(group.get("lr", self.part.lr)) / self.part.lr for group in self.optimizer.param_groups]
        self.parameters = list(self.model.parameters())
        saved = self.model.state_dict().keys()  # tables that never change are not among them
        self.statistics = [buffer for name, buffer in self.model.named_buffers() if name in saved]
        self.progress, self.state = Progress(), None
        self.items = task.epoch(0)
        self.total = total_steps(len(self.items), experiment)

    state: State | None

    def run(self, keeper: Checkpointer) -> None:
        """From where it stands to the end."""
        progress, part = self.progress, self.part
        if progress.step == 0:
            size = sum(weight.numel() for weight in self.parameters)
            self.tell(Start(0, now(), device_words(self.device), size, self.total))
        self.items = self.task.epoch(progress.epoch)
        begun = time.monotonic() - progress.seconds
        while not self.finished():
            before = time.monotonic()
            self.step()
            progress.stepping += time.monotonic() - before
            progress.seconds = time.monotonic() - begun
            ended = progress.item >= len(self.items)
            if ended:
                progress.epoch, progress.item, self.state = progress.epoch + 1, 0, None
            if progress.step % part.log_every == 0:
                self.log()
            if self.finished() or (progress.step % part.validate_every == 0 if part.validate_every else ended):
                self.validate(keeper)
            if self.finished():  # early, perhaps, with steps that no line has told yet
                self.log()
            progress.seconds = time.monotonic() - begun
            keeper.step(self)
            if ended:
                self.items = self.task.epoch(progress.epoch)

    def step(self) -> None:
        """One step over the next batches."""
        progress, part = self.progress, self.part
        seed("step", self.experiment.seed, progress.step)
        some = range(progress.item, min(progress.item + part.accumulate, len(self.items)))
        lr = rate(ScheduleState(progress.step, self.total, progress.epoch, progress.plateaus), part)
        for group, factor in zip(self.optimizer.param_groups, self.lr_factors, strict=True):
            group["lr"] = lr * factor
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        before, losses, tokens = self.standing(), [], 0
        for i in some:
            batch = self.task.batch(self.items[i])
            losses.append(self.backward(batch.to(self.device)))
            tokens += batch.tokens
        gradients = [weight.grad for weight in self.parameters if weight.grad is not None]
        total, count, norm = read(losses, gradients)
        gradient = norm / max(count, 1)
        clipped = ready(gradients, gradient, count, part)
        progress.step += 1
        progress.item += len(some)
        progress.tokens += tokens
        if math.isfinite(total) and math.isfinite(gradient):
            self.optimizer.step()
            progress.not_finite = 0
            note(progress.recent, total, count, gradient, clipped)
        else:
            self.put_back(*before)
            self.skip("gradient" if math.isfinite(total) else "loss", gradient if math.isfinite(total) else total)
        self.tell(Tick(progress.step, self.total, progress.epoch, total / max(count, 1), tokens))

    def backward(self, batch: Batch) -> Loss:
        """The sum of a batch's losses, and over how many items; gradients of the sum are added to those there are."""
        carried = self.state.detach() if self.state is not None and batch.continues else None
        with precision(self.part, self.device):
            output = self.task.step(self.model, batch, carried, self.done())
            self.state = output.state
            lengths = batch.lengths if output.lengths is None else output.lengths
            extra = penalty(output.y, lengths, self.part)
        total, count = output.loss
        (total if extra is None else total + extra * count).backward()
        return Loss(total.detach(), count)

    def standing(self) -> tuple[State | None, list[Tensor]]:
        """What a step changes before it is known to be good: the carried state, and batch statistics."""
        return self.state, [statistic.clone() for statistic in self.statistics]

    def put_back(self, state: State | None, statistics: list[Tensor]) -> None:
        """As it stood."""
        self.state = state
        for statistic, before in zip(self.statistics, statistics, strict=True):
            statistic.copy_(before)

    def skip(self, what: str, value: float) -> None:
        """A step without a finite loss and gradient changes nothing; too many in a row end the run."""
        self.progress.not_finite += 1
        self.tell(Skip(self.progress.step, what, value))
        if self.progress.not_finite >= self.part.not_finite:
            message = f"{counted(self.progress.not_finite, 'step')} in a row without a finite loss and gradient"
            advice = f"Lower {KeyName('train.lr')} ({self.part.lr:g}), or clip with {KeyName('train.clip_norm')}"
            raise NotFinite(f"{message}, the last at step {self.progress.step}", advice)

    def log(self) -> None:
        """What the steps since the last such line were like."""
        recent, progress = self.progress.recent, self.progress
        if recent.steps:
            lr = self.optimizer.param_groups[0]["lr"]
            mean, clipped = recent.gradient / recent.steps, recent.clipped / recent.steps
            loss = recent.loss / max(recent.count, 1)
            self.tell(
                Step(progress.step, self.epochs(), loss, lr, mean, clipped, progress.tokens, round(progress.seconds, 3))
            )
        progress.recent = Recent()

    def validate(self, keeper: Checkpointer) -> None:
        """Measure, note whether it is the best so far, write samples."""
        progress = self.progress
        evaluation = self.evaluate("valid")
        score, better = evaluation.scores[self.task.chosen_by], self.better(evaluation)
        progress.validated = progress.step
        if self.part.average is not None:
            progress.validations = [*progress.validations, progress.step][-self.part.average :]
        if better:
            progress.best, progress.best_step, progress.since_best, progress.waiting = score, progress.step, 0, 0
            progress.best_loss = evaluation.scores.get("loss")
            keeper.best(self.model, evaluation)
        else:
            progress.since_best += 1
            progress.waiting += 1
            if progress.waiting >= self.part.halve_every:
                progress.plateaus, progress.waiting = progress.plateaus + 1, 0
        self.tell(Valid(progress.step, self.epochs(), evaluation.scores, better))
        with torch.inference_mode():
            for told in self.task.samples(self.model, self.device):
                self.tell(Sample(progress.step, **told))

    def evaluate(self, part: str) -> Evaluation:
        """Scores of the model as it is, for the course of training."""
        self.model.eval()
        with torch.inference_mode(), precision(self.part, self.device):
            return self.task.validate(self.model, part, self.device)

    def better(self, evaluation: Evaluation) -> bool:
        """Whether nothing before was as good; of equals, the one with the lower loss is better."""
        score, best = evaluation.scores[self.task.chosen_by], self.progress.best
        if score == best and self.progress.best_loss is not None:
            return evaluation.scores.get("loss", math.inf) < self.progress.best_loss
        return best is None or math.isnan(best) or (score > best if self.task.higher_is_better else score < best)

    def finished(self) -> bool:
        """Whether the budget is spent, or nothing has become better for long."""
        progress, part = self.progress, self.part
        early = part.early_stop is not None and progress.since_best >= part.early_stop
        steps = part.steps is not None and progress.step >= part.steps
        return early or steps or (part.epochs is not None and progress.epoch >= part.epochs)

    def done(self) -> float:
        """The share of the budget's steps that are taken."""
        return min(1.0, self.progress.step / max(1, self.total))

    def epochs(self) -> float:
        """How often the training part has been read, with what has been read of it now."""
        return round(self.progress.epoch + self.progress.item / max(1, len(self.items)), 4)

    def tell(self, event: Event) -> None:
        """To all who listen."""
        for listener in self.listeners:
            listener(event)


def note(recent: Recent, total: float, count: int, gradient: float, clipped: bool) -> None:
    """One step more."""
    recent.loss += total
    recent.count += count
    recent.gradient += gradient
    recent.clipped += clipped
    recent.steps += 1


def total_steps(items: int, experiment: Experiment) -> int:
    """How many steps the budget allows; with batches by length a few more or less, since epochs differ."""
    part = experiment.train
    by_epochs = None if part.epochs is None else part.epochs * -(-items // part.accumulate)
    return min(steps for steps in (by_epochs, part.steps) if steps is not None)


def now() -> str:
    """The time of day, for the log."""
    return datetime.now(UTC).isoformat(timespec="seconds")
