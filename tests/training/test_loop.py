"""The training loop: steps, validations, budgets, determinism and losses that are not finite."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqloom.nn import Model
from seqloom.nn.heads.head import Loss
from seqloom.nn.state import State
from seqloom.tasks.task import Batch, Evaluation, StepOutput
from seqloom.training.events import Disqualified, Event, Skip, Start, Step, Tick, Valid
from seqloom.training.loop import Diverged, Trainer
from seqloom.training.optimization import state_tensors
from seqloom.training.trainer_state import Candidate
from tests.training.small import tiny_session

EXACT = {"dropout": 0.0, "word_dropout": 0.0, "input_dropout": 0.0}


class RecordingCheckpointer:
    """A checkpointer that records its calls."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.bests: list[dict[str, Tensor]] = []
        self.best_steps: list[int | None] = []  # None: the model's weights; otherwise those of an earlier validation

    def save_best(self, model: nn.Module) -> None:
        self.best_steps.append(None)
        self.bests.append({name: tensor.clone() for name, tensor in model.state_dict().items()})

    def save_best_of(self, step: int) -> None:
        self.best_steps.append(step)

    def after_step(self, trainer: Trainer) -> None:
        self.steps.append(trainer.progress.step)


def trained(task: str, arch: str = "gru", **more: Any) -> tuple[Trainer, list[Event], RecordingCheckpointer]:
    """A finished run, its events and the calls of its checkpointer."""
    events: list[Event] = []
    trainer, checkpointer = tiny_session(task, arch, **more).trainer([events.append]), RecordingCheckpointer()
    trainer.run(checkpointer)
    return trainer, events, checkpointer


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}


def equal_tensors(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return list(left) == list(right) and all(tensor.equal(right[name]) for name, tensor in left.items())


def steps_of(events: list[Event], kind: type[Event]) -> list[int]:
    return [event.step for event in events if type(event) is kind]


def set_scores(trainer: Trainer, scores: list[float]) -> None:
    """Replace the scores of the next validations."""
    left = iter(scores)
    trainer.evaluate = lambda part: Evaluation({trainer.task.chosen_by: next(left)})  # type: ignore[method-assign]


# A step -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_accumulated_batches_equal_one_batch_of_all_rows(task: str) -> None:
    """The gradient of a step is the mean over its tokens, however they are divided into batches."""
    split = tiny_session(task, model=EXACT, train={"batch_tokens": 16, "accumulate": 10_000}).trainer([])
    whole = tiny_session(task, model=EXACT, train={"batch_tokens": 1_000_000}).trainer([])
    assert len(split.items) > 5
    assert len(whole.items) == 1
    for trainer in (split, whole):
        trainer.optimizer.step = lambda *_: None  # type: ignore[assignment, method-assign]
        trainer.step()
    assert split.progress.tokens == whole.progress.tokens
    assert split.progress.recent.count == whole.progress.recent.count
    assert split.progress.recent.loss == pytest.approx(whole.progress.recent.loss, rel=1e-5)
    for actual, expected in zip(split.parameters, whole.parameters, strict=True):
        torch.testing.assert_close(actual.grad, expected.grad, rtol=1e-3, atol=1e-6)


def test_accumulated_chunks_have_the_truncated_gradient() -> None:
    """In language modeling, two chunks of one step carry the state as two steps do."""
    accumulated = tiny_session("language", model=EXACT, train={"accumulate": 2}).trainer([])
    separate = tiny_session("language", model=EXACT).trainer([])
    first, second = (separate.backward(separate.task.batch(separate.items[i])) for i in range(2))
    whole = first + second
    accumulated.optimizer.step = lambda *_: None  # type: ignore[assignment, method-assign]
    accumulated.step()
    assert accumulated.progress.item == 2
    assert accumulated.progress.recent.loss == pytest.approx(whole.total.item())
    scale = 1 / max(1.0, accumulated.progress.recent.gradient)  # clip_norm is 1
    for actual, expected in zip(accumulated.parameters, separate.parameters, strict=True):
        assert expected.grad is not None
        torch.testing.assert_close(actual.grad, expected.grad / whole.count * scale, rtol=1e-3, atol=1e-6)


def test_the_loss_at_the_last_step_has_no_gradient_elsewhere() -> None:
    """In language modeling, only the last position has a gradient from the loss."""
    trainer = tiny_session("language", model=EXACT, train={"loss_at": "last"}).trainer([])
    batch = trainer.task.batch(trainer.items[0])
    output = trainer.task.step(trainer.model, batch, None, 0.0)
    assert int(output.loss.count) == batch.source.shape[0]
    (to_y,) = torch.autograd.grad(output.loss.total, output.y)
    assert not to_y[:, :-1].any()
    assert to_y[:, -1].any()


@pytest.mark.parametrize(("at", "steps"), [("last", "last"), ("every", "all")])
def test_classification_may_have_the_loss_at_every_step_or_the_last(at: str, steps: str) -> None:
    trainer = tiny_session("classify", model={**EXACT, "pool": "last-step"}, train={"loss_at": at}).trainer([])
    batch = next(b for b in map(trainer.task.batch, trainer.items) if b.lengths is not None and b.lengths.min() > 1)
    assert batch.lengths is not None
    output = trainer.task.step(trainer.model, batch, None, 0.0)
    assert int(output.loss.count) == (batch.tokens if steps == "all" else len(batch.rows))
    (to_y,) = torch.autograd.grad(output.loss.total, output.y)
    for row, length in zip(to_y, batch.lengths.tolist(), strict=True):
        touched = row.abs().sum(dim=1) > 0
        assert touched[length - 1]
        assert bool(touched[: length - 1].all()) == (steps == "all")
        assert not touched[length:].any()


@pytest.mark.parametrize("task", ["language", "classify", "tag"])
def test_label_smoothing_applies_in_training_only(task: str) -> None:
    smooth, plain = (
        tiny_session(task, model=EXACT, train={"label_smoothing": share}).trainer([]) for share in (0.2, 0.0)
    )
    batch = plain.task.batch(plain.items[0])
    with torch.no_grad():
        in_training = [float(t.task.step(t.model.train(), batch, None, 0.0).loss.total) for t in (smooth, plain)]
    assert in_training[0] != pytest.approx(in_training[1], rel=1e-4)
    assert smooth.evaluate("valid").scores == plain.evaluate("valid").scores


# Budgets and validations ------------------------------------------------------------------------------------------


def test_steps_end_the_run() -> None:
    _, events, checkpointer = trained("classify", train={"steps": 5, "validate_every": 2, "log_every": 2})
    assert checkpointer.steps == [1, 2, 3, 4, 5]
    assert steps_of(events, Valid) == [2, 4, 5]  # the end is always validated
    assert steps_of(events, Step) == [2, 4, 5]
    assert steps_of(events, Start) == [0]
    assert [event.total for event in events if isinstance(event, Tick)] == [5] * 5


def test_epochs_end_the_run_and_each_is_validated() -> None:
    trainer, events, _ = trained("classify", train={"epochs": 2, "steps": None, "validate_every": None})
    per_epoch = len(trainer.task.epoch(0))
    assert steps_of(events, Valid) == [per_epoch, trainer.progress.step]
    assert trainer.progress.epoch == 2
    assert [event.epoch for event in events if isinstance(event, Valid)] == [1.0, 2.0]


def test_the_smaller_of_epochs_and_steps_ends_the_run() -> None:
    assert trained("classify", train={"epochs": 1, "steps": 1000})[0].progress.epoch == 1
    assert trained("classify", train={"epochs": 1000, "steps": 3})[0].progress.step == 3


def test_early_stop_waits_for_its_number_of_validations() -> None:
    trainer, checkpointer = (
        tiny_session("language", train={"early_stop": 2, "validate_every": 1, "steps": 99}).trainer([]),
        RecordingCheckpointer(),
    )
    set_scores(trainer, [3.0, 2.0, 2.5, 1.0, 1.0, 1.5, 0.5])  # equal is not better
    trainer.run(checkpointer)
    assert trainer.progress.step == 6
    assert (trainer.progress.candidates, len(checkpointer.bests)) == ([Candidate(4, 1.0, 1.0)], 3)


def test_the_best_weights_are_saved() -> None:
    trainer, checkpointer = (
        tiny_session("classify", train={"validate_every": 1, "steps": 4}).trainer([]),
        RecordingCheckpointer(),
    )
    set_scores(trainer, [0.2, 0.9, 0.1, 0.3])  # an accuracy: higher is better
    trainer.run(checkpointer)
    assert len(checkpointer.bests) == 2
    assert not equal_tensors(checkpointer.bests[-1], weights(trainer))


def test_between_equal_scores_the_lower_loss_is_best() -> None:
    trainer, checkpointer = (
        tiny_session("classify", train={"validate_every": 1, "steps": 4}).trainer([]),
        RecordingCheckpointer(),
    )
    left = iter([(0.0, 5.0), (0.0, 4.0), (0.0, 4.5), (0.0, 4.0)])
    trainer.evaluate = lambda part: Evaluation(dict(zip(("accuracy", "loss"), next(left), strict=True)))  # type: ignore[method-assign]
    trainer.run(checkpointer)
    assert trainer.progress.candidates == [Candidate(2, 0.0, 4.0)]
    assert len(checkpointer.bests) == 2


def test_a_nan_score_does_not_stay_the_best() -> None:
    trainer, checkpointer = (
        tiny_session("language", train={"validate_every": 1, "steps": 3}).trainer([]),
        RecordingCheckpointer(),
    )
    set_scores(trainer, [math.nan, 5.0, math.nan])
    trainer.run(checkpointer)
    assert trainer.progress.candidates == [Candidate(2, 5.0, 5.0)]


def test_a_plateau_counts_validations() -> None:
    events: list[Event] = []
    more = {"schedule": "plateau", "halve_every": 2, "lr": 0.1, "validate_every": 1, "steps": 8, "log_every": 1}
    trainer = tiny_session("language", train=more).trainer([events.append])
    set_scores(trainer, [3.0, 3.1, 3.2, 3.0, 3.0, 2.0, 2.1, 2.1])
    trainer.run(RecordingCheckpointer())
    rates = [event.lr for event in events if isinstance(event, Step)]
    assert rates == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.025])


# Tasks whose best weights must also have a loss near the lowest ------------------------------------------------------


def run_with(
    losses_and_scores: list[tuple[float, float]], **train: Any
) -> tuple[Trainer, RecordingCheckpointer, list[Event]]:
    """A finished run of `translate` whose validations have these losses and scores."""
    events: list[Event] = []
    train = {"validate_every": 1, "steps": len(losses_and_scores), "log_every": 1, **train}
    trainer, checkpointer = tiny_session("translate", train=train).trainer([events.append]), RecordingCheckpointer()
    left = iter(losses_and_scores)
    trainer.evaluate = lambda part: Evaluation(dict(zip(("loss", "chrf"), next(left), strict=True)))  # type: ignore[method-assign]
    trainer.run(checkpointer)
    return trainer, checkpointer, events


def test_a_later_lower_loss_disqualifies_the_best_validation() -> None:
    """Long nonsense of the first epoch can have the highest chrF of all."""
    trainer, checkpointer, events = run_with([(5.6, 31.0), (4.0, 20.0), (3.4, 24.0), (3.5, 23.0)])
    assert trainer.progress.candidates == [Candidate(3, 24.0, 3.4)]
    assert checkpointer.best_steps == [None, None, None]
    assert [event.best for event in events if isinstance(event, Valid)] == [True, True, True, False]
    (event,) = [event for event in events if isinstance(event, Disqualified)]
    assert event == Disqualified(2, 1, 5.6, 4.0, 0.5, 2, {"chrf": 20.0, "loss": 4.0})


def test_the_new_best_may_be_an_earlier_validation_that_never_was_the_best() -> None:
    trainer, checkpointer, events = run_with([(3.4, 30.0), (3.0, 28.0), (2.8, 25.0)])
    assert trainer.progress.candidates == [Candidate(2, 28.0, 3.0), Candidate(3, 25.0, 2.8)]
    assert checkpointer.best_steps == [None, 2]
    assert [event.best for event in events if isinstance(event, Valid)] == [True, False, False]
    (event,) = [event for event in events if isinstance(event, Disqualified)]
    assert event == Disqualified(3, 1, 3.4, 2.8, 0.5, 2, {"chrf": 28.0, "loss": 3.0})


def test_patience_counts_validations_in_which_neither_loss_nor_score_improved() -> None:
    """The score alone would end this run after the third validation."""
    falling = [(5.0, 30.0), (4.9, 10.0), (4.8, 10.0), (4.7, 10.0), (4.75, 31.0), (4.72, 30.0), (4.71, 20.0), (1.0, 1.0)]
    trainer, _, _ = run_with(falling, early_stop=2)
    assert trainer.progress.step == 7
    rising, _, _ = run_with([(5.0, 30.0), (5.8, 40.0), (5.8, 50.0), (5.8, 60.0)], early_stop=2)
    assert rising.progress.step == 3  # such a score can't be the best


def test_a_plateau_counts_validations_in_which_neither_loss_nor_score_improved() -> None:
    more = {"schedule": "plateau", "halve_every": 1, "lr": 0.1}
    _, _, events = run_with([(5.0, 30.0), (4.9, 10.0), (4.9, 10.0), (4.95, 31.0), (4.95, 31.0)], **more)
    rates = [event.lr for event in events if isinstance(event, Step)]
    assert rates == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.05])


def test_a_loss_that_is_not_finite_is_never_within_the_margin_of_one_that_is() -> None:
    trainer, checkpointer, _ = run_with([(math.nan, 10.0), (math.inf, 20.0), (9.0, 1.0), (math.nan, 99.0)])
    assert trainer.progress.candidates == [Candidate(3, 1.0, 9.0)]
    assert checkpointer.best_steps == [None, None, None]


def test_a_step_gets_the_fraction_of_training_done(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, fractions = tiny_session("classify", train={"steps": 4, "accumulate": 2}).trainer([]), []
    step = trainer.task.step

    def recording(model: nn.Module, batch: Batch, state: State | None, done: float) -> StepOutput:
        fractions.append(done)
        return step(model, batch, state, done)

    monkeypatch.setattr(trainer.task, "step", recording)
    trainer.run(RecordingCheckpointer())
    assert sorted(set(fractions)) == [0.0, 0.25, 0.5, 0.75]
    assert fractions == sorted(fractions)  # the batches of one step have the same fraction
    trainer.progress.step = 9  # batches by length: an epoch may have more steps than the first
    assert trainer.fraction_done() == 1.0


def test_penalties_use_the_lengths_of_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of a step may have its own lengths: those of the target instead of the source."""
    trainer = tiny_session("classify", model=EXACT, train={"activation_l2": 1.0}).trainer([])
    batch = trainer.task.batch(trainer.items[0])
    step, gradients = trainer.task.step, []
    for lengths in (None, torch.ones_like(batch.target)):

        def step_with_lengths(model: nn.Module, batch: Batch, state: State | None, done: float) -> StepOutput:
            y = step(model, batch, state, done).y.detach().requires_grad_()
            gradients.append(y)
            return StepOutput(Loss(0.0 * y.sum(), torch.tensor(1)), None, y, lengths)  # noqa: B023

        monkeypatch.setattr(trainer.task, "step", step_with_lengths)
        trainer.backward(batch)
    without_lengths, with_lengths = (y.grad for y in gradients)
    assert without_lengths[:, 1:].any()
    assert not with_lengths[:, 1:].any()
    assert with_lengths[:, :1].any()


# Determinism ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["language", "classify", "tag"])
def test_equal_seeds_give_equal_runs(task: str) -> None:
    more = {"model": {"dropout": 0.3}, "train": {"steps": 4, "validate_every": 2}}
    torch.manual_seed(5)
    first, events, _ = trained(task, **more)
    torch.manual_seed(6)  # other uses of the global generator have no effect
    second, others, _ = trained(task, **more)
    assert equal_tensors(weights(first), weights(second))
    losses = [[event.loss for event in log if isinstance(event, Tick)] for log in (events, others)]
    assert losses[0] == losses[1]
    assert not equal_tensors(weights(first), weights(trained(task, seed=2, **more)[0]))


@pytest.mark.parametrize("task", ["language", "classify", "tag"])
def test_batches_do_not_depend_on_earlier_ones(task: str) -> None:
    """The items of an epoch are the same in any order, for a new task and a used one."""
    fresh, used = tiny_session(task).task, tiny_session(task)
    used.trainer([]).run(RecordingCheckpointer())
    for epoch in (2, 0):
        items = used.task.epoch(epoch)
        others = fresh.epoch(epoch)
        assert len(items) == len(others)
        for i in reversed(range(len(items))):
            assert used.task.batch(items[i]).source.equal(fresh.batch(others[i]).source)


def test_dropout_is_a_function_of_the_seed_and_the_step() -> None:
    def loss(seed: int, step: int) -> float:
        events: list[Event] = []
        trainer = tiny_session("classify", model={"dropout": 0.5}).trainer([events.append])
        trainer.experiment = trainer.experiment.model_copy(update={"seed": seed})
        torch.rand(step * 7)  # other uses of the global generator have no effect
        trainer.progress.step = step
        trainer.step()
        (tick,) = [event for event in events if isinstance(event, Tick)]
        return tick.loss

    assert loss(1, 4) == loss(1, 4)
    assert len({loss(1, 4), loss(1, 5), loss(2, 4)}) == 3


@pytest.mark.parametrize("task", ["language", "classify", "tag"])
def test_bf16_runs_and_leaves_weights_in_float32(task: str) -> None:
    trainer, events, _ = trained(task, train={"precision": "bf16", "steps": 4, "validate_every": 4})
    assert {weight.dtype for weight in trainer.parameters} == {torch.float32}
    assert all(math.isfinite(event.loss) for event in events if isinstance(event, Tick))
    exact, _, _ = trained(task, train={"steps": 4, "validate_every": 4})
    assert not equal_tensors(weights(trainer), weights(exact))


# A loss or gradient that is not finite -------------------------------------------------------------------------------


def change_loss(trainer: Trainer, steps: set[int], change: Callable[[Tensor], Tensor]) -> None:
    """Change the loss of some steps."""
    step = trainer.task.step

    def step_(model: Model, batch: Any, state: Any, done: float) -> Any:
        output = step(model, batch, state, done)
        if trainer.progress.step + 1 in steps:
            object.__setattr__(output, "loss", output.loss._replace(total=change(output.loss.total)))
        return output

    trainer.task.step = step_  # type: ignore[method-assign]


def infinite_gradient(total: Tensor) -> Tensor:
    """0, with an infinite gradient."""
    return torch.sqrt((total - total.detach()).clamp(min=0))


@pytest.mark.parametrize("arch", ["gru", "lstm", "conv", "window"])
@pytest.mark.parametrize(
    ("kind", "change"),
    [("loss", lambda total: total * math.nan), ("gradient", infinite_gradient)],
    ids=["loss", "slope"],
)
def test_a_step_that_is_not_finite_changes_nothing(arch: str, kind: str, change: Callable[[Tensor], Tensor]) -> None:
    events: list[Event] = []
    model = {"norm": "batch"} if arch == "conv" else {}
    trainer = tiny_session("language", arch, model=model).trainer([events.append])
    change_loss(trainer, {3}, change)
    trainer.step()
    trainer.step()
    before, carried = weights(trainer), trainer.state
    optimizer_state = {name: tensor.clone() for name, tensor in state_tensors(trainer.optimizer).items()}
    assert carried is not None
    values = {name: tensor.clone() for name, tensor in carried.items()}
    trainer.step()
    (skip,) = [event for event in events if isinstance(event, Skip)]
    assert (skip.step, skip.what) == (3, kind)
    assert not math.isfinite(skip.value)
    assert equal_tensors(weights(trainer), before)  # batch statistics too
    assert equal_tensors(state_tensors(trainer.optimizer), optimizer_state)
    assert trainer.state is not None
    assert equal_tensors(dict(trainer.state), values)
    trainer.step()  # the run continues
    assert not equal_tensors(weights(trainer), before)
    assert trainer.progress.not_finite == 0
    assert (trainer.progress.step, trainer.progress.item) == (4, 4)


def test_a_skipped_step_is_not_in_the_mean_of_the_log() -> None:
    events: list[Event] = []
    trainer = tiny_session("language", train={"steps": 3, "log_every": 3}).trainer([events.append])
    change_loss(trainer, {2}, lambda total: total * math.inf)
    trainer.run(RecordingCheckpointer())
    (line,) = [event for event in events if isinstance(event, Step)]
    assert math.isfinite(line.loss)
    assert math.isfinite(line.gradient)
    ticks = [event for event in events if isinstance(event, Tick)]
    assert line.loss == pytest.approx((ticks[0].loss + ticks[2].loss) / 2, rel=1e-6)


def test_too_many_skipped_steps_in_a_row_end_the_run() -> None:
    trainer = tiny_session("language", train={"max_skipped_steps": 3}).trainer([])
    change_loss(trainer, {1, 2, 4, 5, 6}, lambda total: total * math.nan)
    with pytest.raises(Diverged) as error:
        trainer.run(RecordingCheckpointer())
    assert trainer.progress.step == 6  # the finite third step reset the count
    assert str(error.value) == (
        "3 steps in a row with a non-finite loss or gradient, the last at step 6. "
        "Lower train.lr (0.002), or clip with train.clip_norm."
    )
