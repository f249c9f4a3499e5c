"""A run while it learns: a line that moves on a terminal, a line now and then elsewhere."""

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from seqloom.cli.console import is_live, say
from seqloom.lens.report_figures import readable
from seqloom.training.events import Event, Resume, Sample, Skip, Tick, Valid
from seqloom.views.numbers import short

SMOOTH = 0.97  # of the loss shown, how much is the loss shown before
EVERY = 10.0  # seconds between lines, where lines can't be drawn over
SHOWN = ("accuracy", "span_f1", "micro_f1", "macro_f1", "perplexity", "bits_per_character", "loss")
SKIPS = 5  # shown one by one in each sitting; after that, each tenth


class Progress:
    """Listens to a run, and shows it. Its own work in a step is a few sums: drawing is another thread's.

    with Progress(console) as progress:
        session.begin(sitting, folder, [progress])
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.samples: list[Sample] = []  # of the best weights so far
        self.best: Valid | None = None
        self.skipped = 0
        self._tick: Tick | None = None
        self._first: int | None = None  # the first step of this sitting, which warms up and says nothing of the rate
        self._tokens = 0  # after it
        self._loss, self._weight = 0.0, 0.0
        self._begun = self._printed = time.monotonic()
        self._is_best = False
        self._live = Live(get_renderable=self.line, console=console, transient=True, refresh_per_second=5)

    def __enter__(self) -> "Progress":
        if is_live(self.console):
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        match event:
            case Tick():
                self._ticked(event)
            case Valid():
                self._validated(event)
            case Sample():
                if self._is_best:
                    self.samples.append(event)
            case Skip():
                self._skip(event)
            case Resume():
                say(self.console, "resumed", f"at step {event.step:,}")

    def _ticked(self, tick: Tick) -> None:
        self._tick = tick
        if self._first is None:
            self._first, self._begun = tick.step, time.monotonic()
        else:
            self._tokens += tick.tokens
        if tick.loss == tick.loss and abs(tick.loss) != float("inf"):
            self._loss = SMOOTH * self._loss + (1 - SMOOTH) * tick.loss
            self._weight = SMOOTH * self._weight + (1 - SMOOTH)
        if not self._live.is_started and time.monotonic() - self._printed > EVERY:
            self._printed = time.monotonic()
            self.console.print(Text("  ".join(self.words())))

    def _validated(self, event: Valid) -> None:
        self._is_best = event.best
        told = Text(f"{place_in_words(event.epoch, event.step)}: {scores_in_words(event.scores)}")
        if event.best:
            self.best, self.samples = event, []
            told.append("  best", "bold green")
        say(self.console, "valid", told)

    def _skip(self, event: Skip) -> None:
        self.skipped += 1
        if self.skipped <= SKIPS or self.skipped % 10 == 0:
            which = f" (skipped so far: {self.skipped:,})" if self.skipped > SKIPS else ""
            told = f"step {event.step:,}: its {event.what} was {event.value}, so it changed nothing{which}"
            say(self.console, "skipped", told, "bold yellow")

    def share(self) -> float:
        """How much of the run is done."""
        return min(1.0, self._tick.step / max(self._tick.total, 1)) if self._tick else 0.0

    def words(self) -> list[str]:
        """Epoch, share, loss, rate and time left, as they are now."""
        tick = self._tick
        if tick is None:
            return ["first step …"]
        words = [
            f"epoch {tick.epoch + 1}",
            f"{self.share():4.0%}",
            f"loss {self._loss / self._weight:.3f}" if self._weight else "loss –",
        ]
        passed, done = time.monotonic() - self._begun, tick.step - (self._first or 0)
        if done:
            left = passed / done * max(0, tick.total - tick.step)
            words += [f"{self._tokens / max(passed, 1e-9):,.0f} tokens/s", f"{clock(left)} left"]
        return words

    def line(self) -> Table | Text:
        """The line that moves; a narrow terminal has the first of it."""
        words = self.words()
        if self._tick is None:
            return Text(words[0], "dim")
        row = Table.grid(padding=(0, 2, 0, 0), expand=False)
        bar = ProgressBar(total=1.0, completed=self.share(), width=min(26, max(6, self.console.width - 54)))
        row.add_row(Text(words[0], "bold"), bar, *(Text(word, no_wrap=True) for word in words[1:]))
        return row


def scores_in_words(scores: dict[str, float]) -> str:
    """The scores that a line has room for, less those that another has said: where a text has one label, micro F1 is
    the accuracy. The report has all.

    >>> scores_in_words({"accuracy": 0.97421, "micro_f1": 0.97421, "macro_f1": 0.97, "loss": 0.1})
    'accuracy 0.9742, macro F1 0.97, loss 0.1'
    """
    said = {"micro_f1": scores.get("accuracy"), "macro_f1": scores.get("macro_f1") if "span_f1" in scores else None}
    told = [name for name in SHOWN if name in scores and scores[name] != said.get(name)]
    return ", ".join(f"{readable(name)} {short(scores[name])}" for name in told)


def place_in_words(epoch: float, step: int) -> str:
    """Where in the run: the end of an epoch needs no step.

    >>> place_in_words(3.0, 600), place_in_words(1.5152, 200)
    ('epoch 3', 'epoch 1.52, step 200')
    """
    return f"epoch {epoch:g}" if epoch == int(epoch) else f"epoch {epoch:.2f}, step {step:,}"


def clock(seconds: float) -> str:
    """
    >>> clock(21.2), clock(3723)
    ('0:21', '1:02:03')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
