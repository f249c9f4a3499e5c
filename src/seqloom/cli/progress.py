"""A run while it learns: a line that moves on a terminal, a line now and then elsewhere."""

import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from seqloom.cli.console import Waiting, is_live, say
from seqloom.tasks.metrics.registry import readable
from seqloom.training.events import Average, Event, Reading, Ready, Resume, Sample, Skip, Tick, Valid
from seqloom.views.format import short

if TYPE_CHECKING:
    from seqloom.data.source import DataSource
    from seqloom.training.session import Session

SMOOTH = 0.97  # of the loss shown, how much is the loss shown before
EVERY = 10.0  # seconds between lines, where lines can't be drawn over
SHOWN = (
    "exact_match",
    "bleu",
    "bleu_1",
    "bleu_4",
    "chrf",
    "accuracy",
    "span_f1",
    "micro_f1",
    "macro_f1",
    "perplexity",
    "bits_per_character",
    "loss",
)
NOT_SHOWN = (
    *("token_accuracy", "sentence_accuracy", "span_precision", "span_recall", "span_macro_f1", "bleu_2", "bleu_3"),
)
SKIPS = 5  # shown one by one in each session; after that, each tenth
GAP = 2  # columns between the parts of the line
BAR = 8, 26  # columns of the bar, at least and at most


class Progress:
    """Listens to a run, and shows it. Its own work in a step is a few sums: drawing is another thread's.

    with Progress(console) as progress:
        run = verbs.start(experiment, folder, [progress])
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.samples: list[Sample] = []  # of the best weights so far
        self.best: Valid | None = None
        self.skipped = 0
        self.session: Session | None = None  # once its data are read and its model is built
        self._waiting = Waiting("starting torch …")
        self._tick: Tick | None = None
        self._first: int | None = None  # the first step of this session, which warms up and says nothing of the rate
        self._tokens, self._learning = 0, 0.0  # read since, and the seconds that took: validation is not in them
        self._before: float | None = None  # when the last step ended, if nothing but the next step came after it
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
            case Reading():
                self.waits_for(reading_words(event.source))
            case Ready():
                from seqloom.cli.run_summary import introduce

                self.session = event.session
                introduce(self.console, event.session, event.steps, event.parameters)
                self.waits_for("first step …")
            case Tick():
                self._ticked(event)
            case Valid():
                self._before = None
                self._validated(event)
            case Average():
                told = f"the weights of {len(event.steps)} validations: {scores_in_words(event.scores)}"
                say(self.console, "average", f"{told}{'  best' * event.best}")
            case Sample():
                self._before = None
                if self._is_best:
                    self.samples.append(event)
            case Skip():
                self._skip(event)
            case Resume():
                say(self.console, "resumed", f"at step {event.step:,}")

    def _ticked(self, tick: Tick) -> None:
        now, self._tick = time.monotonic(), tick
        if self._first is None:
            self._first, self._begun = tick.step, now
        if self._before is not None:
            self._tokens, self._learning = self._tokens + tick.tokens, self._learning + now - self._before
        self._before = now
        if tick.loss == tick.loss and abs(tick.loss) != float("inf"):
            self._loss = SMOOTH * self._loss + (1 - SMOOTH) * tick.loss
            self._weight = SMOOTH * self._weight + (1 - SMOOTH)
        if not self._live.is_started and now - self._printed > EVERY:
            self._printed = now
            say(self.console, "train", ", ".join(self.words()))

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

    def waits_for(self, what: str) -> None:
        """What is shown until the first step."""
        self._waiting = Waiting(what)

    def example_input(self, folder: Path) -> str:
        """An input to try the run in this folder with."""
        return self.session.task.example_input(folder) if self.session is not None else ""

    def share(self) -> float:
        """How much of the run is done."""
        return min(1.0, self._tick.step / max(self._tick.total, 1)) if self._tick else 0.0

    def words(self) -> list[str]:
        """Epoch, how much of the run is done, time left, loss and rate, as they are now; what matters most first."""
        tick = self._tick
        if tick is None:
            return ["first step …"]
        words = [f"epoch {tick.epoch + 1}", f"{self.share():.0%} of the run"]
        passed, done = time.monotonic() - self._begun, tick.step - (self._first or 0)
        if done:
            words.append(f"{clock(passed / done * max(0, tick.total - tick.step))} left")
        words.append(f"loss {self._loss / self._weight:.3f}" if self._weight else "loss –")
        if self._learning:
            words.append(f"{self._tokens / self._learning:,.0f} tokens/s")
        return words

    def line(self) -> Table | Spinner | Text:
        """The line that moves: as many of the words as there is room for, and a bar in what is left."""
        words, room = self.words(), self.console.width - 1
        if self._tick is None:
            return self._waiting.line()
        while len(words) > 1 and sum(len(word) + GAP for word in words) > room:
            words.pop()
        bar = min(BAR[1], room - sum(len(word) + GAP for word in words) - GAP)
        cells: list[Text | ProgressBar] = [Text(word, no_wrap=True, overflow="crop") for word in words]
        if bar >= BAR[0]:
            cells.insert(1, ProgressBar(total=1.0, completed=self.share(), width=bar))
        row = Table.grid(padding=(0, GAP, 0, 0), expand=False)
        row.add_row(*cells)
        return row


def reading_words(source: "DataSource") -> str:
    """While the data are read."""
    if source.corpus:
        return f"making the corpus {source.corpus} …"
    files = source.data.train
    return f"reading {files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''} …"


def scores_in_words(scores: dict[str, float]) -> str:
    """The scores that a line has room for, less those that another has said: where a text has one label, micro F1 is
    the accuracy. The report has all.

    >>> scores_in_words({"accuracy": 0.97421, "micro_f1": 0.97421, "macro_f1": 0.97, "loss": 0.1})
    'accuracy 0.9742, macro F1 0.97, loss 0.1'
    """
    said = {"micro_f1": scores.get("accuracy"), "macro_f1": scores.get("macro_f1") if "span_f1" in scores else None}
    names = [*SHOWN, *(name for name in scores if name not in SHOWN and name not in NOT_SHOWN)]
    told = [name for name in names if name in scores and scores[name] != said.get(name)]
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
