"""`seqloom runs`: the runs of a folder, without opening a model."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from rich.text import Text

from seqloom.cli.console import command, output, say, say_exactly
from seqloom.cli.help_text import Command

if TYPE_CHECKING:
    from seqloom.spec.folder import Manifest

FINISHED, DAMAGED = "finished", "damaged"
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
    broken: str = ""  # what is wrong; a run of which little can be read has nothing else

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
        state = self.state.removeprefix("unfinished at ")
        return (self.name, self.task, self.model, self.score, self.size, self.created[5:10], state)


@click.command(cls=Command, short_help="List the runs here: task, model, score, size, date.")
@click.argument("folder", metavar="[FOLDER]", default="runs")
def runs(folder: str) -> None:
    """List the runs in a folder (runs, unless another is named): what each is, its score, and whether it is finished.

    A folder that is damaged is listed too, with what is wrong. Weights are not opened: `seqloom predict` checks them.

    \b
    Examples:
      $ seqloom runs
      $ seqloom runs experiments/2026
    """
    from seqloom.spec.errors import RunError
    from seqloom.tasks.registry import TASKS
    from seqloom.views.figure import Table
    from seqloom.views.terminal import characters, draw

    place, console = Path(folder), output()
    if not place.is_dir():
        if place.exists() or folder != "runs":
            raise RunError(f"{place}: no such folder. Name one that holds runs.")
        say(console, "none", "there are no runs here yet")
        say_exactly(console, "next", command("train", next(iter(TASKS))))
        return
    rows = list(rows_of(place))
    known = [row for row in rows if row.task]
    if known:
        wide = not console.is_terminal or console.width >= WIDE
        header = ("run", "task", "model", "score", "parameters", "size", "date", "state")
        table = Table(
            "", header if wide else SHORT_HEADER, tuple(row.cells() if wide else row.short() for row in known)
        )
        width = console.width if console.is_terminal else 200
        for line in draw(table, width, using=characters(console.encoding))[1:]:
            console.print(Text(line), soft_wrap=True)
    for row in rows:
        if row.broken:
            say(console, DAMAGED, row.broken, "bold red")
    for row in [row for row in known if row.state not in (FINISHED, DAMAGED)][-1:]:
        say_exactly(console, "next", command("resume", row.folder))
    if not rows:
        say(console, "none", f"no folder in {place} is a run")


def rows_of(place: Path) -> Iterator[Row]:
    """Each folder that is a run or was meant to be one, the oldest first; the folder itself if it is a run."""
    from seqloom.spec.errors import UserError
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
        except UserError as wrong:
            found.append(Row(folder, broken=str(wrong)))
        except (OSError, ValueError, TypeError, ArithmeticError, RecursionError) as wrong:  # a folder may be anyone's
            found.append(Row(folder, broken=f"{folder}: {wrong}. Restore the folder from a copy."))
    yield from sorted(found, key=lambda row: (row.created, row.name))


def row_of(folder: Path) -> Row:
    """What a run's small files say of it."""
    from seqloom.spec.config.layers import section_of
    from seqloom.spec.config.toml import read_values
    from seqloom.spec.folder import EXPERIMENT, SCORES, read_json, read_manifest
    from seqloom.views.numbers import memory
    from seqloom.views.text import clip, one_line

    manifest = read_manifest(folder)
    missing = missing_file(folder, manifest)
    config = {} if missing else read_values(folder / EXPERIMENT)
    scores = read_json(folder / SCORES) if (folder / SCORES).exists() else None
    model = section_of(config, "model")
    return Row(
        folder,
        one_line(clip(str(manifest.task), 20)),
        one_line(clip(str(model.get("arch", "?")), 20)),
        score_words(scores or {}),
        f"{manifest.parameters:,}" if manifest.parameters else "–",
        memory(sum(map(size_of, folder.rglob("*")))),
        day(manifest.created),
        DAMAGED if missing else FINISHED if scores is not None else unfinished_words(folder),
        f"{folder / missing}: missing, though the run needs it. Restore the folder from a copy." if missing else "",
    )


def size_of(path: Path) -> int:
    """The bytes of a plain file; none of anything else, or of what a run that is going on has just removed."""
    try:
        found = path.lstat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def missing_file(folder: Path, manifest: "Manifest") -> str | None:
    """A file that the run can't do without and that is not there, or not a plain file; None if there is none."""
    from seqloom.spec.folder import EXPERIMENT, SCORES

    if manifest.model is None and (folder / SCORES).exists():
        return "model-….safetensors"  # it was finished, so there were weights
    needed = (EXPERIMENT, *manifest.files)
    return next((name for name in needed if not (folder / name).is_file() or (folder / name).is_symlink()), None)


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


def unfinished_words(folder: Path) -> str:
    """How far a run has come that was stopped, or is still being trained."""
    from seqloom.spec.folder import CHECKPOINTS

    steps = [int(path.name[5:]) for path in (folder / CHECKPOINTS).glob("step-*") if path.name[5:].isdigit()]
    return f"unfinished at step {max(steps):,}" if steps else "not begun"


def day(created: str) -> str:
    """In the person's own time.

    >>> day("not a date")
    '–'
    """
    try:
        return f"{datetime.fromisoformat(created).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, TypeError, OverflowError):
        return "–"
