"""A run's report, read from its folder alone, so that a run that crashed has one too."""

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
from seqloom.lens.run_files import FinalScore, FinalScores, History, read_history
from seqloom.runs.recorded_parts import changed_parts, missing_parts, warn
from seqloom.tasks.metrics.registry import readable
from seqloom.tasks.registry import TASKS
from seqloom.tasks.task_report import TaskReport
from seqloom.views import svg
from seqloom.views.format import escaped, rounded
from seqloom.views.lenient import finite, integer, mapping, string

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

MAX_CONFIG = 50_000  # characters of experiment.toml
MAX_JSON = 64 * 2**20  # bytes of a file that is read whole
FILES = ("manifest.json", "experiment.toml", "metrics.jsonl", "scores.json")


@dataclass(frozen=True)
class Report:
    """The records of a run, as data; `html()` is the page, `lines()` the summary for a terminal.

    What the folder lacks is empty or None.

    config, settings: experiment.toml, as text and as nested tables
    final: the contents of scores.json
    problems: what could not be read
    """

    folder: Path
    manifest: Mapping[str, object]
    config: str
    settings: Mapping[str, object]
    history: History
    final: FinalScores
    problems: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.folder.name or self.folder.resolve().name or str(self.folder)

    @cached_property
    def task(self) -> str:
        return string(self.manifest.get("task"), 60) or string(self.settings.get("task"), 60)

    @cached_property
    def arch(self) -> str:
        """The model family."""
        return string(mapping(self.settings.get("model")).get("arch"), 60)

    @property
    def parameters(self) -> int | None:
        sources = (self.manifest, self.history.start, self.cost)
        counts = [integer(source.get("parameters")) for source in sources]
        return next((count for count in counts if count is not None), None)

    @property
    def created(self) -> str:
        """Date and time in ISO 8601."""
        return string(self.manifest.get("created"), 60) or string(self.history.start.get("time"), 60)

    @property
    def resume_command(self) -> str:
        """The command that continues the run."""
        parts = read_parts(self.manifest.get("parts", [])) or ()
        code = [word for file in dict.fromkeys(part.file for part in parts if part.file) for word in ("--code", file)]
        return shlex.join(["seqloom", "resume", str(self.folder), *code])

    @property
    def best_step(self) -> int | None:
        """The step whose weights were kept; None if they are an average, or if no file says it."""
        if self.final.averaged:
            return None
        return self.history.best_step if self.final.best_step is None else self.final.best_step

    @property
    def chosen_by(self) -> str:
        """The name of the score that selects the best weights; empty if no file has it."""
        return self.final.chosen_by or string(self.history.start.get("chosen_by"), 60)

    @property
    def selection(self) -> str:
        """How the best weights were selected, such as `by accuracy`; empty if no file says so."""
        margins = (self.final.loss_margin, finite(self.history.start.get("loss_margin")))
        margin = next((margin for margin in margins if margin is not None), None)
        if not self.chosen_by:
            return ""
        among = "" if margin is None else f", among validations {describe_margin(margin)}"
        return f"by {readable(self.chosen_by)}{among}"

    @property
    def greedy_note(self) -> str:
        """What to do where greedy search has a better score than the run's beam; otherwise empty."""
        name, greedy = readable(self.final.chosen_by), self.final.greedy
        beam = finite(self.final.valid.get(self.final.chosen_by))
        if greedy is None or beam is None or rounded(greedy) == rounded(beam):
            return ""
        scores = f"{name} is {rounded(beam)} with the run's beam, and {rounded(greedy)} with greedy search"
        return f"{scores}: predict and evaluate with --beam 1, or train with --decode.beam-size 1"

    @property
    def scores(self) -> tuple[FinalScore, ...]:
        """The final scores; of a run that did not finish, those of its best validation."""
        return self.final.scores or tuple(FinalScore(name, value, None) for name, value in self.history.best.items())

    @cached_property
    def details(self) -> TaskReport:
        """What the task of the run shows besides the scores, with its data: a `ClassifyReport`, ..."""
        kind = TASKS[self.task].report if self.task in TASKS else TaskReport
        return kind(self.final.valid, self.final.details)

    @property
    def cost(self) -> Mapping[str, float]:
        """Those of seconds, tokens, tokens_per_second, parameters and peak_memory_bytes that are known."""
        totals = {"seconds": self.history.seconds, "tokens": self.history.tokens}
        return {name: value for name, value in totals.items() if value is not None} | dict(self.final.cost)

    def html(self) -> str:
        """The page: one file that needs no network."""
        from seqloom.lens.report_page import report_page

        return report_page(self)

    def lines(self, width: int = 80) -> list[str]:
        """The summary for a terminal: how the run ended, its scores, its loss."""
        from seqloom.lens.report_page import report_lines

        return report_lines(self, width)

    def plot(self) -> "Plot":
        """The loss curves in matplotlib."""
        from seqloom.lens.report_figures import loss_figure
        from seqloom.views import matplotlib_renderer

        figure = loss_figure(self)
        if figure is None:
            raise RunError("no loss to plot", "Its metrics.jsonl is missing or holds no step yet", location=self.folder)
        return matplotlib_renderer.draw(figure)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escaped(self.html())}" style="width:100%;height:40rem;border:0"></iframe>'


def describe_margin(margin: float) -> str:
    """The loss of validations that can be the best.

    >>> describe_margin(0.5)
    'whose loss is within 0.5 nats of the lowest'
    """
    return f"whose loss is within {margin:g} nats of the lowest"


def read_report(folder: str | Path) -> Report:
    """Read a run folder. What is missing, cut short or unreadable is left out and noted; weights are never opened."""
    folder, advice = Path(folder), "`seqloom runs` lists the runs here"
    if not folder.is_dir():
        raise RunError("no such folder", advice, location=folder)
    if not any((folder / name).exists() for name in FILES):
        raise RunError(f"not a run ({', '.join(FILES)}: none is here)", advice, location=folder)
    problems: list[str] = []
    config, settings = _config(folder / "experiment.toml", problems)
    manifest = _json(folder / "manifest.json", problems)
    final = FinalScores.model_validate(_json(folder / "scores.json", problems))
    history = read_history(folder / "metrics.jsonl")
    parts = read_parts(manifest.get("parts", []))
    if parts is None:
        problems.append(f"{MANIFEST} has a list of parts that can't be read, and is left out.")
    else:
        checks = (missing_parts(parts, folder), changed_parts(parts, folder))
        problems += [warn(problem) for problem in checks if problem is not None]
    result = Report(folder, manifest, config, settings, history, final, tuple(problems))
    if not final.details or result.task in TASKS:
        return result
    reason = f"the task {result.task!r} is not known here" if result.task else "no file says which task the run has"
    problems.append(f"scores.json has details that are left out, since {reason}.")
    return replace(result, problems=tuple(problems))


def write_report(folder: str | Path) -> Report:
    """Write report.html, and the drawings of the run's task, such as attention.svg, next to it."""
    folder, result = Path(folder), read_report(folder)
    atomic_io.write(folder / REPORT, result.html())
    for name, drawing in result.details.drawings().items():
        atomic_io.write(folder / name, svg.standalone(drawing))
    return result


def _bytes(path: Path, limit: int, problems: list[str]) -> bytes | None:
    """The first bytes of a file; None, with a note if the file exists, if it can't be read."""
    try:
        with open_regular(path) as file:
            return file.read(limit)
    except FileNotFoundError:
        return None
    except OSError:
        problems.append(f"{path.name} can't be read, and is left out.")
        return None


def _json(path: Path, problems: list[str]) -> Mapping[str, object]:
    """A file that holds one object; empty, with a note, if it holds something else."""
    content = _bytes(path, MAX_JSON + 1, problems)
    if content is None:
        return {}
    if len(content) > MAX_JSON:
        problems.append(f"{path.name} is too large to be read, and is left out.")
        return {}
    try:
        return mapping(json.loads(content))
    except (ValueError, RecursionError):
        problems.append(f"{path.name} can't be read, and is left out.")
        return {}


def _config(path: Path, problems: list[str]) -> tuple[str, Mapping[str, object]]:
    """The text of the config, and its tables if it is valid TOML."""
    config = (_bytes(path, 4 * MAX_CONFIG, problems) or b"").decode("utf-8-sig", errors="replace")[:MAX_CONFIG]
    try:
        return config, tomllib.loads(config)
    except (tomllib.TOMLDecodeError, RecursionError):
        problems.append(f"{path.name} is not valid TOML, and is shown as it is.")
        return config, {}
