"""The progress of training: a line that is redrawn on a terminal, and a line every ten seconds elsewhere."""

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from seqloom.cli.console import TimedSpinner, is_live, print_labeled
from seqloom.tasks.metrics.registry import SCORE_INFO, readable, score_info
from seqloom.training.events import Average, Disqualified, Event, Reading, Ready, Resume, Sample, Skip, Tick, Valid
from seqloom.views.format import rounded

if TYPE_CHECKING:
    from seqloom.training.session import Session

DECAY = 0.97  # of the moving average of the loss
INTERVAL = 10.0  # seconds between lines without a terminal
MAX_SKIPS = 5  # skipped steps that are reported one by one; after them, every tenth is
GAP = 2  # columns between the fields of the line
MIN_BAR, MAX_BAR = 8, 26  # columns


class Progress:
    """A listener that prints the events of a run, and draws the progress line in another thread.

    with Progress(console) as progress:
        run = api.start(experiment, folder, [progress])
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.samples: list[Sample] = []  # of the best weights so far
        self.best: Valid | None = None
        self._validations: dict[int, Valid] = {}  # of this session, by step
        self.skipped = 0
        self.session: Session | None = None  # None until the data is read and the model is built
        self._waiting = TimedSpinner("starting torch …")
        self._tick: Tick | None = None
        self._first_step = 0  # of this session; it is slower, and does not count for the rate
        self._tokens, self._seconds = 0, 0.0  # of the steps since then, without validation
        self._last_time: float | None = None  # when the last step ended; None after a validation or sample
        self._loss, self._weight = 0.0, 0.0  # the moving average, and the sum of its weights: their quotient is shown
        self._start = self._printed = time.monotonic()
        self._is_best = False
        self._live = Live(get_renderable=self.line, console=console, transient=True, refresh_per_second=5)

    def __enter__(self) -> "Progress":
        if is_live(self.console):
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        match event:
            case Reading():
                source = event.source
                first, *others = source.data.train or ("",)
                files = f"reading {first}{f' and {len(others)} more' if others else ''} …"
                self.show_waiting(f"generating the corpus {source.corpus} …" if source.corpus else files)
            case Ready():
                from seqloom.cli.run_summary import show_start

                self.session = event.session
                show_start(self.console, event.session, event.model, event.steps, event.parameters)
                self.show_waiting("first step …")
            case Tick():
                self._add_tick(event)
            case Valid():
                self._last_time, self._is_best = None, event.best
                text = Text(f"{epoch_and_step(event.epoch, event.step)}: {format_scores(event.scores)}")
                self._validations[event.step] = event
                if event.best:
                    self.best, self.samples = event, []
                    text.append("  best", "bold green")
                print_labeled(self.console, "valid", text)
            case Disqualified():
                best = "the average" if event.best is None else self._name_of(event.best)
                loss, margin, lowest = map(rounded, (event.former_loss, event.loss_margin, event.lowest_loss))
                reason = f"its loss of {loss} is more than {margin} above the lowest, {lowest}"
                print_labeled(self.console, "best", f"{best}, no longer {self._name_of(event.former)}: {reason}")
                self.best = None if event.best is None else self._validations.get(event.best)
            case Average():
                text = Text(f"average weights of {len(event.steps)} validations: {format_scores(event.scores)}")
                print_labeled(self.console, "average", text.append("  best" * event.best, "bold green"))
            case Sample():
                self._last_time = None
                if self._is_best:
                    self.samples.append(event)
            case Skip():
                self._add_skip(event)
            case Resume():
                print_labeled(self.console, "resumed", f"at step {event.step:,}")

    def _name_of(self, step: int) -> str:
        """The epoch of a validation, if it was in this session; otherwise its step."""
        event = self._validations.get(step)
        return f"step {step:,}" if event is None else epoch_and_step(event.epoch, step)

    def _add_tick(self, tick: Tick) -> None:
        now = time.monotonic()
        if self._tick is None:
            self._first_step, self._start = tick.step, now
        self._tick = tick
        if self._last_time is not None:
            self._tokens, self._seconds = self._tokens + tick.tokens, self._seconds + now - self._last_time
        self._last_time = now
        if math.isfinite(tick.loss):
            self._loss = DECAY * self._loss + (1 - DECAY) * tick.loss
            self._weight = DECAY * self._weight + (1 - DECAY)
        if not self._live.is_started and now - self._printed > INTERVAL:
            self._printed = now
            epoch, *others = self.fields().values()
            print_labeled(self.console, epoch, ", ".join(others))

    def _add_skip(self, event: Skip) -> None:
        self.skipped += 1
        if self.skipped <= MAX_SKIPS or self.skipped % 10 == 0:
            total = f" (skipped so far: {self.skipped:,})" if self.skipped > MAX_SKIPS else ""
            text = f"step {event.step:,}: its {event.what} was {event.value}, so the weights were not updated{total}"
            print_labeled(self.console, "skipped", text, "bold yellow")

    def show_waiting(self, message: str) -> None:
        """Show a spinner with this message until the first step."""
        self._waiting = TimedSpinner(message)

    def example_input(self, folder: Path) -> str:
        """An input with which a user can try the run in this folder."""
        return self.session.task.example_input(folder) if self.session is not None else ""

    def fraction(self) -> float:
        """How much of the run is done."""
        return min(1.0, self._tick.step / max(self._tick.total, 1)) if self._tick else 0.0

    def fields(self) -> dict[str, str]:
        """Epoch, fraction of the run, loss, rate and time left; the last two need a second step."""
        tick = self._tick
        if tick is None:
            return {}
        loss = f"{self._loss / self._weight:.3f}" if self._weight else "–"
        fields = {"epoch": f"epoch {tick.epoch + 1}", "done": f"{self.fraction():.0%}", "loss": f"loss {loss}"}
        if self._seconds:
            fields["rate"] = f"{self._tokens / self._seconds:,.0f} tokens/s"
        if steps := tick.step - self._first_step:
            seconds = (time.monotonic() - self._start) / steps * max(0, tick.total - tick.step)
            fields["left"] = f"{format_clock(seconds)} left"
        return fields

    def line(self) -> Table | Spinner | Text:
        """The progress line: the fields that fit, and a bar in the rest of the width."""
        fields, width = self.fields(), self.console.width - 1
        if not fields:
            return self._waiting.line()
        for name in ("rate", "loss", "left", "done"):  # left out in this order if the terminal is narrow
            if sum(len(text) + GAP for text in fields.values()) > width:
                fields.pop(name, None)
        bar = min(MAX_BAR, width - sum(len(text) + GAP for text in fields.values()) - GAP)
        cells: list[Text | ProgressBar] = [Text(text, no_wrap=True, overflow="crop") for text in fields.values()]
        if bar >= MIN_BAR:
            cells.insert(1, ProgressBar(total=1.0, completed=self.fraction(), width=bar))
        row = Table.grid(padding=(0, GAP, 0, 0), expand=False)
        row.add_row(*cells)
        return row


def format_scores(scores: dict[str, float]) -> str:
    """The scores for a line, without those that equal another: with one label per text, micro F1 is accuracy.

    >>> format_scores({"accuracy": 0.97421, "micro_f1": 0.97421, "macro_f1": 0.97, "loss": 0.1})
    'accuracy 0.9742, macro F1 0.97, loss 0.1'
    """
    equal = {"micro_f1": scores.get("accuracy"), "macro_f1": scores.get("macro_f1") if "span_f1" in scores else None}
    keys = [key for key in (*SCORE_INFO, *scores) if key in scores and score_info(key).in_lines]
    shown = (key for key in dict.fromkeys(keys) if scores[key] != equal.get(key))
    return ", ".join(f"{readable(key)} {rounded(scores[key])}" for key in shown)


def epoch_and_step(epoch: float, step: int) -> str:
    """
    >>> epoch_and_step(3.0, 600), epoch_and_step(1.5152, 200)
    ('epoch 3', 'epoch 1.52, step 200')
    """
    return f"epoch {epoch:g}" if epoch == int(epoch) else f"epoch {epoch:.2f}, step {step:,}"


def format_clock(seconds: float) -> str:
    """A duration as minutes and seconds, or as hours, minutes and seconds.

    >>> format_clock(21.2), format_clock(3723)
    ('0:21', '1:02:03')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
