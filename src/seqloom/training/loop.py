"""The training loop: take steps, validate, emit events. Everything else is in a file of its own."""

import math
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

import torch
from torch import nn

from seqloom.core.problem import KeyName, SeqloomError
from seqloom.core.wording import counted
from seqloom.nn.heads.head import Loss
from seqloom.nn.model import GenerativeModel
from seqloom.nn.state import State
from seqloom.runs.devices import autocast, device_name, seed_torch
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.task import Batch, Evaluation, Task
from seqloom.training.activation_regularization import activation_penalty
from seqloom.training.events import Disqualified, Event, Listener, Sample, Skip, Start, Step, Tick, Valid
from seqloom.training.optimization import average_and_clip, build_optimizer, loss_and_norm
from seqloom.training.schedules import ScheduleState, learning_rate
from seqloom.training.selection import Selection
from seqloom.training.trainer_state import Candidate, Progress, RunningSums


class Diverged(SeqloomError, ArithmeticError):
    """Too many steps in a row had a loss or gradient that is not finite."""


class Checkpointer(Protocol):
    """Saves the best weights and checkpoints of the loop."""

    def save_best(self, model: nn.Module) -> None:
        """Save the best weights so far."""

    def save_best_of(self, step: int) -> None:
        """Save as the best weights those of an earlier validation, from its checkpoint."""

    def after_step(self, trainer: "Trainer") -> None:
        """Save a checkpoint if one is due. May raise, to stop the run."""


class Trainer:
    """Trains a model on a task.

    A step: the mean loss over all tokens of `accumulate` batches, its gradient, an update by the optimizer. Where the
    task says so, the state is carried from batch to batch without its gradient (truncated BPTT).
    """

    state: State | None

    def __init__(
        self,
        task: Task[GenerativeModel, object],
        model: GenerativeModel,
        experiment: Experiment,
        device: torch.device,
        listeners: Sequence[Listener],
    ) -> None:
        self.task, self.model, self.experiment, self.device = task, model.to(device), experiment, device
        self.config = experiment.train
        self.listeners = list(listeners)
        self.optimizer = build_optimizer(self.model, self.config)
        groups, lr = self.optimizer.param_groups, self.config.lr
        self.lr_factors = [float(group.get("lr", lr)) / lr for group in groups]
        self.parameters = list(self.model.parameters())
        persistent = self.model.state_dict().keys()
        self.statistics = [buffer for name, buffer in self.model.named_buffers() if name in persistent]
        self.progress, self.state = Progress(), None
        self.selection = Selection(task.loss_margin, task.higher_is_better)
        self.items = task.epoch(0)
        self.total = total_steps(len(self.items), experiment)

    def run(self, checkpointer: Checkpointer) -> None:
        """Train from the current progress to the end."""
        progress, config = self.progress, self.config
        if progress.step == 0:
            size = sum(weight.numel() for weight in self.parameters)
            rule = self.task.chosen_by, self.task.loss_margin
            self.emit(Start(0, now(), device_name(self.device), size, self.total, *rule))
        self.items = self.task.epoch(progress.epoch)
        start = time.monotonic() - progress.seconds
        while not self.finished():
            step_start = time.monotonic()
            self.step()
            progress.stepping += time.monotonic() - step_start
            progress.seconds = time.monotonic() - start
            epoch_ended = progress.item >= len(self.items)
            if epoch_ended:
                progress.epoch, progress.item, self.state = progress.epoch + 1, 0, None
            if progress.step % config.log_every == 0:
                self.log()
            due = progress.step % config.validate_every == 0 if config.validate_every else epoch_ended
            if due or self.finished():
                self.validate(checkpointer)
            if self.finished():  # perhaps by early stopping, with steps that are not logged yet
                self.log()
            progress.seconds = time.monotonic() - start
            checkpointer.after_step(self)
            if epoch_ended:
                self.items = self.task.epoch(progress.epoch)

    def step(self) -> None:
        """Take one step on the next `accumulate` batches. If loss or gradient is not finite, the model is unchanged."""
        progress, config = self.progress, self.config
        seed_torch("step", self.experiment.seed, progress.step)
        lr = learning_rate(ScheduleState(progress.step, self.total, progress.epoch, progress.plateaus), config)
        for group, factor in zip(self.optimizer.param_groups, self.lr_factors, strict=True):
            group["lr"] = lr * factor
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        state, statistics = self.state, [statistic.clone() for statistic in self.statistics]
        losses, tokens = [], 0
        indices = range(progress.item, min(progress.item + config.accumulate, len(self.items)))
        for i in indices:
            batch = self.task.batch(self.items[i])
            losses.append(self.backward(batch.to(self.device)))
            tokens += batch.tokens
        gradients = [weight.grad for weight in self.parameters if weight.grad is not None]
        loss, count, norm = loss_and_norm(losses, gradients)
        norm /= max(count, 1)
        clipped = average_and_clip(gradients, norm, count, config)
        progress.step += 1
        progress.item += len(indices)
        progress.tokens += tokens
        if math.isfinite(loss) and math.isfinite(norm):
            self.optimizer.step()
            progress.not_finite = 0
            progress.recent.add(loss, count, norm, clipped)
        else:
            self.state = state
            for statistic, previous in zip(self.statistics, statistics, strict=True):
                statistic.copy_(previous)
            self.skip("gradient" if math.isfinite(loss) else "loss", norm if math.isfinite(loss) else loss)
        self.emit(Tick(progress.step, self.total, progress.epoch, loss / max(count, 1), tokens))

    def backward(self, batch: Batch) -> Loss:
        """The sum of a batch's losses and their number; adds the gradient of the sum to the weights' gradients."""
        state = self.state.detach() if self.state is not None and batch.continues else None
        with autocast(self.config, self.device):
            output = self.task.step(self.model, batch, state, self.fraction_done())
            self.state = output.state
            lengths = batch.lengths if output.lengths is None else output.lengths
            penalty = activation_penalty(output.y, lengths, self.config)
        total, count = output.loss
        (total if penalty is None else total + penalty * count).backward()
        return Loss(total.detach(), count)

    def skip(self, quantity: str, value: float) -> None:
        """Count a step whose loss or gradient is not finite; too many in a row end the run."""
        progress, config = self.progress, self.config
        progress.not_finite += 1
        self.emit(Skip(progress.step, quantity, value))
        if progress.not_finite >= config.max_skipped_steps:
            message = f"{counted(progress.not_finite, 'step')} in a row with a non-finite loss or gradient"
            advice = f"Lower {KeyName('train.lr')} ({config.lr:g}), or clip with {KeyName('train.clip_norm')}"
            raise Diverged(f"{message}, the last at step {progress.step}", advice)

    def log(self) -> None:
        """Emit the means over the steps since the last log line."""
        sums, progress = self.progress.recent, self.progress
        if sums.steps:
            loss, lr = sums.loss / max(sums.count, 1), self.optimizer.param_groups[0]["lr"]
            gradient, clipped = sums.gradient / sums.steps, sums.clipped / sums.steps
            seconds = round(progress.seconds, 3)
            self.emit(Step(progress.step, self.epochs(), loss, lr, gradient, clipped, progress.tokens, seconds))
        progress.recent = RunningSums()

    def validate(self, checkpointer: Checkpointer) -> None:
        """Evaluate, save the best weights if they changed, generate samples."""
        progress, former = self.progress, self.progress.best
        evaluation = self.evaluate("valid")
        progress.validated = progress.step
        if self.config.average_checkpoints is not None:
            progress.validations = [*progress.validations, progress.step][-self.config.average_checkpoints :]
        candidate = self.candidate(evaluation)
        if self.selection.add(progress, candidate):
            progress.since_best, progress.waiting = 0, 0
        else:
            progress.since_best += 1
            progress.waiting += 1
            if progress.waiting >= self.config.halve_every:
                progress.plateaus, progress.waiting = progress.plateaus + 1, 0
        self.save_best(former, candidate, checkpointer)
        self.emit(Valid(progress.step, self.epochs(), evaluation.scores, progress.best is candidate))
        self.emit_disqualified(former)
        with torch.inference_mode():
            for sample in self.task.samples(self.model, self.device):
                self.emit(Sample(progress.step, **sample))

    def save_best(self, former: Candidate | None, current: Candidate, checkpointer: Checkpointer) -> None:
        """Save the best weights if they changed: the model's, or those of an earlier validation."""
        best = self.progress.candidates[0]
        if best is current:
            checkpointer.save_best(self.model)
        elif best is not former:
            checkpointer.save_best_of(best.step)

    def emit_disqualified(self, former: Candidate | None, average: Candidate | None = None) -> None:
        """Emit an event if the previous best has the better score, but its loss is now out of the margin."""
        progress, best, margin = self.progress, self.progress.candidates[0], self.selection.margin
        if former is not None and margin is not None and self.selection.order(former) < self.selection.order(best):
            scores = {self.task.chosen_by: best.score, "loss": best.loss}
            losses, best_step = (former.loss, progress.lowest_loss, margin), None if best is average else best.step
            self.emit(Disqualified(progress.step, former.step, *losses, best_step, scores))

    def evaluate(self, split: str) -> Evaluation:
        """The scores of the current weights, in the precision of training."""
        self.model.eval()
        with torch.inference_mode(), autocast(self.config, self.device):
            return self.task.validate(self.model, split, self.device)

    def candidate(self, evaluation: Evaluation) -> Candidate:
        """The current step with the score and the loss of an evaluation."""
        scores = evaluation.scores
        return Candidate(self.progress.step, float(scores[self.task.chosen_by]), float(scores.get("loss", math.inf)))

    def finished(self) -> bool:
        """Whether the budget of steps or epochs is used up, or early stopping applies."""
        progress, config = self.progress, self.config
        counts = (progress.step, progress.epoch, progress.since_best)
        limits = (config.steps, config.epochs, config.early_stop)
        return any(limit is not None and count >= limit for count, limit in zip(counts, limits, strict=True))

    def fraction_done(self) -> float:
        """The fraction of the run's steps that have been taken."""
        return min(1.0, self.progress.step / max(1, self.total))

    def epochs(self) -> float:
        """Epochs so far, with the fraction of the current one."""
        return round(self.progress.epoch + self.progress.item / max(1, len(self.items)), 4)

    def emit(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)


def total_steps(items: int, experiment: Experiment) -> int:
    """The number of steps that the budget allows; an estimate if batches are by length, since epochs then differ."""
    config = experiment.train
    by_epochs = None if config.epochs is None else config.epochs * -(-items // config.accumulate)
    return min(steps for steps in (by_epochs, config.steps) if steps is not None)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
