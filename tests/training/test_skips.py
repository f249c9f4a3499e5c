"""A step whose loss or gradient is not finite: it is told, changes nothing, and too many of them end the run."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.nn import Model
from seqloom.training.events import Event, Skip, Step, Tick
from seqloom.training.loop import Diverged, Trainer
from seqloom.training.optimization import state_tensors
from tests.training.small import tiny_session
from tests.training.test_loop import Nowhere, same, weights


def spoil(trainer: Trainer, steps: set[int], how: Callable[[Tensor], Tensor]) -> None:
    """Make the loss of some steps what it should not be."""
    step = trainer.task.step

    def spoilt(model: Model, batch: Any, state: Any, done: float) -> Any:
        made = step(model, batch, state, done)
        if trainer.progress.step + 1 in steps:
            object.__setattr__(made, "loss", made.loss._replace(total=how(made.loss.total)))
        return made

    trainer.task.step = spoilt  # type: ignore[method-assign]


def infinite_gradient(total: Tensor) -> Tensor:
    """0, with a slope without end."""
    return torch.sqrt((total - total.detach()).clamp(min=0))


@pytest.mark.parametrize("arch", ["gru", "lstm", "conv", "window"])
@pytest.mark.parametrize(
    ("what", "how"), [("loss", lambda total: total * math.nan), ("gradient", infinite_gradient)], ids=["loss", "slope"]
)
def test_a_step_that_is_not_finite_changes_nothing(arch: str, what: str, how: Callable[[Tensor], Tensor]) -> None:
    events: list[Event] = []
    model = {"norm": "batch"} if arch == "conv" else {}
    trainer = tiny_session("language", arch, model=model).trainer([events.append])
    spoil(trainer, {3}, how)
    trainer.step()
    trainer.step()
    before, carried = weights(trainer), trainer.state
    remembered = {name: tensor.clone() for name, tensor in state_tensors(trainer.optimizer).items()}
    assert carried is not None
    values = {name: tensor.clone() for name, tensor in carried.items()}
    trainer.step()
    (skip,) = [event for event in events if isinstance(event, Skip)]
    assert (skip.step, skip.what) == (3, what)
    assert not math.isfinite(skip.value)
    assert same(weights(trainer), before)  # batch statistics too
    assert same(state_tensors(trainer.optimizer), remembered)
    assert trainer.state is not None
    assert same(dict(trainer.state), values)
    trainer.step()  # and the run goes on from it
    assert not same(weights(trainer), before)
    assert trainer.progress.not_finite == 0
    assert (trainer.progress.step, trainer.progress.item) == (4, 4)


def test_a_skipped_step_is_not_in_the_mean_of_the_log() -> None:
    events: list[Event] = []
    trainer = tiny_session("language", train={"steps": 3, "log_every": 3}).trainer([events.append])
    spoil(trainer, {2}, lambda total: total * math.inf)
    trainer.run(Nowhere())
    (line,) = [event for event in events if isinstance(event, Step)]
    assert math.isfinite(line.loss)
    assert math.isfinite(line.gradient)
    ticks = [event for event in events if isinstance(event, Tick)]
    assert line.loss == pytest.approx((ticks[0].loss + ticks[2].loss) / 2, rel=1e-6)


def test_too_many_in_a_row_end_the_run_with_a_sentence() -> None:
    trainer = tiny_session("language", train={"max_skipped_steps": 3}).trainer([])
    spoil(trainer, {1, 2, 4, 5, 6}, lambda total: total * math.nan)
    with pytest.raises(Diverged) as wrong:
        trainer.run(Nowhere())
    assert trainer.progress.step == 6  # the third good step began the count anew
    assert str(wrong.value) == (
        "3 steps in a row without a finite loss and gradient, the last at step 6. "
        "Lower train.lr (0.002), or clip with train.clip_norm."
    )
