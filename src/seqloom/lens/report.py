"""A run's report, from its folder alone: it exists after a crash too, with what there is."""

import json
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.core import atomic_io
from seqloom.core.problem import RunError
from seqloom.core.run_format import MANIFEST, REPORT, read_parts
from seqloom.core.safe_open import open_regular
from seqloom.lens.run_files import Ending, History, Outcome, Sample, Score, Skip, outcome, read_history
from seqloom.runs.recorded_parts import changed_parts, missing_parts, warn
from seqloom.tasks.registry import TASKS
from seqloom.tasks.report import TaskReport
from seqloom.views import svg
from seqloom.views.figure import Points
from seqloom.views.format import escaped
from seqloom.views.lenient import integer, mapping, string

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

CONFIG = 50_000  # characters of experiment.toml
LARGEST_FILE = 64 * 2**20  # bytes; a file that is read whole
PARTS = ("manifest.json", "experiment.toml", "metrics.jsonl", "scores.json")


@dataclass(frozen=True)
class Report:
    """What a run left behind, as data; `html()` is the page, `lines()` the short form for a terminal.

    A part that the folder does not tell is empty or None.
    """

    folder: Path
    manifest: Mapping[str, object]
    config: str
    settings: Mapping[str, object]
    history: History
    outcome: Outcome
    problems: tuple[str, ...]

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.folder.name or self.folder.resolve().name or str(self.folder)

    @cached_property
    def task(self) -> str:
        """Language, classify, tag, …"""
        return string(self.manifest.get("task"), 60) or string(self.settings.get("task"), 60)

    @cached_property
    def arch(self) -> str:
        """The name of the model."""
        return string(mapping(self.settings.get("model")).get("arch"), 60)

    @property
    def parameters(self) -> int | None:
        """How many numbers were learned."""
        told = (self.manifest.get("parameters"), self.history.start.get("parameters"), self.cost.get("parameters"))
        return next((count for one in told if (count := integer(one)) is not None), None)

    @property
    def created(self) -> str:
        """When, in ISO 8601."""
        return string(self.manifest.get("created"), 60) or string(self.history.start.get("time"), 60)

    @property
    def ending(self) -> Ending | None:
        """How it ended; None if nothing is known of what happened."""
        return self.history.ending

    @property
    def resume(self) -> str:
        """The command that continues the run."""
        parts = read_parts(self.manifest.get("parts", [])) or ()
        files = dict.fromkeys(part.file for part in parts if part.file)
        return shlex.join(
            ["seqloom", "resume", str(self.folder), *(word for file in files for word in ("--code", file))]
        )

    @property
    def curves(self) -> Mapping[str, Points]:
        """(step, value) by name: loss, lr, gradient, clipped, tokens_per_second, valid.loss, …"""
        return self.history.curves

    @property
    def samples(self) -> tuple[Sample, ...]:
        """What a language model wrote as it learned, spread over the run."""
        return self.history.samples

    @property
    def skipped(self) -> tuple[Skip, ...]:
        """Steps that were not taken, because something was not finite; of very many, a selection."""
        return self.history.skipped

    @property
    def best_step(self) -> int | None:
        """The step whose weights were kept."""
        return self.history.best_step if self.outcome.best_step is None else self.outcome.best_step

    @property
    def scores(self) -> tuple[Score, ...]:
        """The final scores; of a run that did not get that far, those of its best validation."""
        return self.outcome.scores or tuple(Score(name, value, None) for name, value in self.history.best.items())

    @cached_property
    def details(self) -> TaskReport:
        """What the run's task shows beside the scores, with its data: of a classifier a `ClassifyReport`, ..."""
        kind = TASKS[self.task].report if self.task in TASKS else TaskReport
        return kind(self.outcome.valid, self.outcome.details)

    @property
    def cost(self) -> Mapping[str, float]:
        """Seconds, tokens, tokens_per_second, parameters, peak_memory_bytes: those that are known."""
        known = {"seconds": self.history.seconds, "tokens": self.history.tokens}
        return {name: value for name, value in known.items() if value is not None} | dict(self.outcome.cost)

    def html(self) -> str:
        """The page: one file, offline."""
        from seqloom.lens.report_page import report_page

        return report_page(self)

    def lines(self, width: int = 80) -> list[str]:
        """The short form for a terminal: how it ended, the scores, the loss."""
        from seqloom.lens.report_page import report_lines

        return report_lines(self, width)

    def plot(self) -> "Plot":
        """The loss, for a paper: matplotlib's figure."""
        from seqloom.lens.report_figures import loss
        from seqloom.views import matplotlib_renderer

        figure = loss(self)
        if figure is None:
            raise RunError("no loss to plot", "Its metrics.jsonl is missing or holds no step yet", location=self.folder)
        return matplotlib_renderer.draw(figure)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escaped(self.html())}" style="width:100%;height:40rem;border:0"></iframe>'


def report(folder: str | Path) -> Report:
    """Read a run folder. What is missing, cut short or unreadable is left out and noted; weights are never opened."""
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError("no such folder", "`seqloom runs` lists the runs here", location=folder)
    if not any((folder / part).exists() for part in PARTS):
        raise RunError(
            f"not a run ({', '.join(PARTS)}: none is here)", "`seqloom runs` lists the runs here", location=folder
        )
    problems: list[str] = []
    config, settings = _config(folder / "experiment.toml", problems)
    manifest = _read_json(folder / "manifest.json", problems)
    scores = outcome(_read_json(folder / "scores.json", problems))
    history = read_history(folder / "metrics.jsonl")
    problems += part_notes(manifest.get("parts", []), folder)
    found = Report(folder, manifest, config, settings, history, scores, problems=())
    if scores.details and found.task not in TASKS:
        known = f"the task {found.task!r} is not known here" if found.task else "no file says which task the run has"
        problems.append(f"scores.json has details that are left out, since {known}.")
    return replace(found, problems=tuple(problems))


def part_notes(parts: object, folder: Path) -> list[str]:
    """What to know of the run's user-defined parts, each a warning too: they are not registered, or they changed."""
    known = read_parts(parts)
    if known is None:
        return [f"{MANIFEST} has a list of parts that can't be read, and is left out."]
    found = (missing_parts(known, folder), changed_parts(known, folder))
    return [warn(problem) for problem in found if problem is not None]


def write_report(folder: str | Path) -> Report:
    """report.html, from what the folder holds; beside it the drawings of the run's task, such as attention.svg."""
    folder, found = Path(folder), report(folder)
    atomic_io.write(folder / REPORT, found.html())
    for name, drawing in found.details.drawings().items():
        atomic_io.write(folder / name, svg.standalone(drawing))
    return found


def _read_json(path: Path, problems: list[str]) -> Mapping[str, object]:
    """A file with one object; empty, with a note where there is something to say, if it can't be had."""
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            problems.append(f"{path.name} is too large to be read, and is left out.")
            return {}
        return mapping(json.loads(content))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        problems.append(f"{path.name} can't be read, and is left out.")
        return {}


def _config(path: Path, problems: list[str]) -> tuple[str, Mapping[str, object]]:
    """The config as it was written, and what it says if that can be read."""
    try:
        with open_regular(path) as file:
            config = file.read(4 * CONFIG).decode("utf-8-sig", errors="replace")[:CONFIG]
    except FileNotFoundError:
        return "", {}
    except OSError:
        problems.append(f"{path.name} can't be read, and is left out.")
        return "", {}
    try:
        return config, tomllib.loads(config)
    except (tomllib.TOMLDecodeError, RecursionError):
        problems.append(f"{path.name} is not valid TOML, and is shown as it is.")
        return config, {}
