"""`seqloom runs`: the runs of a folder, without opening a model."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import rich_click as click
from rich.text import Text

from seqloom.cli.console import command, output, say, say_exactly
from seqloom.cli.help_text import Command

FINISHED = "finished"
WIDE = 110  # columns: with fewer, the table has less to say
SHORT_HEADER = ("run", "task", "model", "score", "size", "date", "state")


@dataclass(frozen=True)
class Row:
    """A run in a line, or why it is none."""

    folder: Path
    task: str = ""
    model: str = ""
    score: str = ""
    parameters: str = ""
    size: str = ""
    created: str = ""
    state: str = ""
    broken: str = ""

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.folder.name or str(self.folder)

    def cells(self) -> tuple[str, ...]:
        """All of it."""
        row = (self.task, self.model, self.score, self.parameters, self.size, self.created, self.state)
        return (self.name, *row)

    def short(self) -> tuple[str, ...]:
        """What a narrow terminal has room for."""
        state = self.state.removeprefix("stopped at ").removesuffix(": resume")
        return (self.name, self.task, self.model, self.score, self.size, self.created[5:10], state)


@click.command(cls=Command, short_help="The runs here: task, model, score, size, date.")
@click.argument("folder", metavar="[FOLDER]", default="runs")
def runs(folder: str) -> None:
    """The runs in a folder (runs, unless another is named): what each is, how good, and whether it is finished.

    A folder that is damaged is listed too, with what is wrong. Weights are not opened.

    \b
    Examples:
      $ seqloom runs
      $ seqloom runs experiments/2026
    """
    from seqloom.spec.errors import RunError
    from seqloom.views.figure import Table
    from seqloom.views.terminal import characters, draw

    place, console = Path(folder), output()
    if not place.is_dir():
        if place.exists() or folder != "runs":
            raise RunError(f"{place}: no such folder. Name one that holds runs.")
        say(console, "none", "there are no runs here yet")
        say_exactly(console, "next", command("seqloom", "train", "language"))
        return
    rows = list(rows_of(place))
    whole = [row for row in rows if not row.broken]
    if whole:
        wide = not console.is_terminal or console.width >= WIDE
        header = ("run", "task", "model", "score", "parameters", "size", "date", "state")
        table = Table(
            "", header if wide else SHORT_HEADER, tuple(row.cells() if wide else row.short() for row in whole)
        )
        width = console.width if console.is_terminal else 200
        for line in draw(table, width, using=characters(console.encoding))[1:]:
            console.print(Text(line), soft_wrap=True)
    for row in rows:
        if row.broken:
            say(console, "broken", row.broken, "bold red")
    for row in [row for row in whole if row.state != FINISHED][-1:]:
        say_exactly(console, "next", command("seqloom", "resume", row.folder))
    if not rows:
        say(console, "none", f"no folder in {place} is a run")


def rows_of(place: Path) -> Iterator[Row]:
    """Each folder that is a run or was meant to be one, the oldest first; the folder itself if it is a run."""
    from seqloom.spec.errors import RunError
    from seqloom.spec.folder import CHECKPOINTS, EXPERIMENT, MANIFEST

    if (place / MANIFEST).exists():
        folders = [place]
    else:
        folders = [each for each in sorted(place.iterdir()) if each.is_dir() and not each.name.startswith(".")]
    found: list[Row] = []
    for folder in folders:
        if not any((folder / name).exists() for name in (MANIFEST, EXPERIMENT, CHECKPOINTS)):
            continue
        try:
            found.append(row_of(folder))
        except (RunError, OSError, ValueError, TypeError) as wrong:
            found.append(Row(folder, broken=str(wrong)))
    yield from sorted(found, key=lambda row: (row.created, row.name))


def row_of(folder: Path) -> Row:
    """What a run's small files say of it."""
    from seqloom.spec.folder import EXPERIMENT, SCORES, read_json, read_manifest
    from seqloom.views.numbers import memory
    from seqloom.views.text import clip, one_line

    manifest = read_manifest(folder)
    path = folder / EXPERIMENT
    config = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    scores = read_json(folder / SCORES) if (folder / SCORES).exists() else None
    model = config.get("model") if isinstance(config.get("model"), dict) else {}
    return Row(
        folder,
        one_line(clip(str(manifest.task), 20)),
        one_line(clip(str((model or {}).get("arch", "?")), 20)),
        score_words(scores or {}),
        f"{manifest.parameters:,}" if manifest.parameters else "–",
        memory(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())),
        day(manifest.created),
        FINISHED if scores is not None else stopped_words(folder),
    )


def score_words(scores: dict[str, object]) -> str:
    """The score that the run was chosen by, on the test part if there is one."""
    from seqloom.views.numbers import short

    name = scores.get("chosen_by")
    for part in ("test", "valid"):
        told = scores.get(part)
        value = told.get(name) if isinstance(told, dict) else None
        if isinstance(value, int | float):
            return f"{name} {short(value)}".replace("_", " ").replace(" f1", " F1")
    return "–"


def stopped_words(folder: Path) -> str:
    """How far a run came that is not finished."""
    from seqloom.spec.folder import CHECKPOINTS

    steps = [int(path.name[5:]) for path in (folder / CHECKPOINTS).glob("step-*") if path.name[5:].isdigit()]
    return f"stopped at step {max(steps):,}: resume" if steps else "not begun: resume"


def day(created: str) -> str:
    """In the person's own time.

    >>> day("not a date")
    '–'
    """
    try:
        return f"{datetime.fromisoformat(created).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, TypeError):
        return "–"
