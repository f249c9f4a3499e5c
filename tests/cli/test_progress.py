import io
import math
import re

import pytest
from rich.console import Console

from seqloom.cli import progress as module
from seqloom.cli.console import print_labeled, print_unwrapped
from seqloom.cli.progress import Progress
from seqloom.training.events import Disqualified, Resume, Sample, Skip, Tick, Valid


def console(*, terminal: bool, width: int = 80) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    options = {"highlight": False, "markup": False, "emoji": False}
    return Console(file=out, force_terminal=terminal, width=width, soft_wrap=not terminal, **options), out


def tick(step: int, loss: float = 2.0) -> Tick:
    return Tick(step, total=100, epoch=step // 50, loss=loss, tokens=1000)


def test_the_progress_line_has_epoch_fraction_loss_rate_and_time_left() -> None:
    progress = Progress(console(terminal=False)[0])
    assert progress.fields() == {}
    for step in range(1, 61):
        progress(tick(step))
    epoch, done, loss, rate, left = progress.fields().values()
    assert (epoch, done, loss) == ("epoch 2", "60%", "loss 2.000")
    assert rate.endswith("tokens/s")
    assert left.endswith("left")


def test_the_rate_excludes_the_time_of_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    progress = Progress(console(terminal=False)[0])
    for step in range(1, 21):
        now += 1.0
        progress(tick(step))
        if step % 5 == 0:
            now += 100.0
            progress(Valid(step, 1.0, {"loss": 1.0}, False))
    assert progress.fields()["rate"] == "1,000 tokens/s"
    assert progress.fields()["left"] == "29:24 left"  # with validation: 80 steps at 419 seconds for 19


def test_the_smoothed_loss_skips_values_that_are_not_finite() -> None:
    progress = Progress(console(terminal=False)[0])
    for loss in (4.0, math.nan, math.inf, 4.0):
        progress(tick(1, loss))
    assert progress.fields()["loss"] == "loss 4.000"


@pytest.mark.parametrize(
    ("width", "fields"),
    [(18, "epoch %"), (28, "epoch % left"), (40, "epoch % loss left"), (80, "epoch % loss tokens/s left")],
)
def test_a_narrow_terminal_has_fewer_fields(width: int, fields: str) -> None:
    terminal, _ = console(terminal=True, width=width)
    progress = Progress(terminal)
    for step in range(1, 61):
        progress(tick(step))
    lines = terminal.render_lines(progress.line(), terminal.options)
    assert len(lines) == 1
    text = "".join(segment.text for segment in lines[0])
    assert re.findall("epoch|%|loss|tokens/s|left", text) == fields.split()
    assert "…" not in text


@pytest.mark.parametrize("width", [20, 60, 80, 120])
def test_on_a_terminal_the_progress_line_is_one_line_and_is_wiped(width: int) -> None:
    terminal, out = console(terminal=True, width=width)
    with Progress(terminal) as progress:
        progress(tick(1))
        progress(tick(50))
        assert len(terminal.render_lines(progress.line(), terminal.options)) == 1
        progress(Valid(50, 1.0, {"accuracy": 0.5, "loss": 1.0}, True))
    assert "accuracy 0.5" in out.getvalue().replace("\n", " ") or width < 60
    assert out.getvalue().rstrip().endswith("\x1b[2K")  # the line is wiped


def test_without_a_terminal_progress_is_printed_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, out = console(terminal=False)
    with Progress(plain) as progress:
        progress(tick(1))
        assert out.getvalue() == ""
        monkeypatch.setattr(module, "INTERVAL", -1.0)
        progress(tick(2))
    assert out.getvalue().startswith("epoch 1  2%, loss 2.000, ")


def test_validations_resumptions_and_skipped_steps_are_printed() -> None:
    plain, out = console(terminal=False)
    progress = Progress(plain)
    progress(Resume(40, "now"))
    progress(Valid(50, 1.0, {"accuracy": 0.5, "micro_f1": 0.5, "loss": 1.0}, True))
    progress(Valid(60, 1.25, {"accuracy": 0.4, "loss": 1.1}, False))
    for step in range(70, 90):
        progress(Skip(step, "loss", math.nan))
    lines = out.getvalue().splitlines()
    assert lines[:3] == [
        "resumed  at step 40",
        "valid    epoch 1: accuracy 0.5, loss 1  best",
        "valid    epoch 1.25, step 60: accuracy 0.4, loss 1.1",
    ]
    assert lines[3] == "skipped  step 70: its loss was nan, so the weights were not updated"
    assert len(lines) == 3 + 5 + 2  # the first five, then every tenth
    assert progress.skipped == 20


def test_a_disqualified_validation_is_named_with_its_loss() -> None:
    plain, out = console(terminal=False)
    progress = Progress(plain)
    progress(Valid(50, 1.0, {"chrf": 30.0, "loss": 3.4}, True))
    progress(Valid(100, 2.0, {"chrf": 28.0, "loss": 3.0}, False))
    progress(Valid(150, 3.0, {"chrf": 25.0, "loss": 2.8}, False))
    progress(Disqualified(150, 50, 3.4, 2.8, 0.5, 100, {"chrf": 28.0, "loss": 3.0}))
    assert progress.best is not None
    assert progress.best.step == 100
    assert out.getvalue().splitlines()[-1] == (
        "best     epoch 2, no longer epoch 1: its loss of 3.4 is more than 0.5 above the lowest, 2.8"
    )
    progress(Disqualified(200, 20, 3.4, 2.8, 0.5, 40, {}))  # validations before the run was resumed
    assert progress.best is None
    assert out.getvalue().splitlines()[-1].startswith("best     step 40, no longer step 20: ")


def test_only_samples_of_the_best_weights_are_kept() -> None:
    progress = Progress(console(terminal=False)[0])
    progress(Valid(50, 1.0, {"loss": 1.0}, True))
    progress(Sample(50, "", "good"))
    progress(Valid(60, 2.0, {"loss": 2.0}, False))
    progress(Sample(60, "", "worse"))
    assert [sample.text for sample in progress.samples] == ["good"]


def test_wrapped_lines_are_indented_and_commands_are_not_wrapped() -> None:
    terminal, out = console(terminal=True, width=30)
    print_labeled(terminal, "data", "one two three four five six seven")
    print_unwrapped(terminal, "next", "seqloom predict runs/a-long-name 'a text'")
    plain = Console(file=io.StringIO()).render_str(out.getvalue()).plain
    assert "\n         " in plain
    assert "seqloom predict runs/a-long-name 'a text'" in plain
