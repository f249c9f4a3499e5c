"""List the runs in a folder. Weights are not opened, and torch is not imported."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from seqloom.core.config.section import section_of
from seqloom.core.config.toml import read_values
from seqloom.core.problem import Problem, RunError, UserError
from seqloom.core.run_format import (
    CHECKPOINTS,
    EXPERIMENT,
    MANIFEST,
    RESTORE,
    SCORES,
    Manifest,
    RecordedPart,
    read_json,
    read_manifest,
)
from seqloom.views.lenient import finite


@dataclass(frozen=True)
class RunSummary:
    """A line of `seqloom runs`: a run, or what is wrong with its folder.

    score: name and value of the score by which the best weights were chosen, on the test split if there is one
    loss_margin: only validations whose loss was at most this above the lowest could be chosen
    size: bytes of the folder
    created: in ISO 8601
    parts: the user-defined parts of the run
    finished: whether all steps and the evaluation are done
    step: of the last checkpoint
    problem: of a damaged run; the other fields may then be empty
    """

    folder: Path
    task: str = ""
    model: str = ""
    score: tuple[str, float] | None = None
    loss_margin: float | None = None
    parameters: int = 0
    size: int = 0
    created: str = ""
    parts: tuple[RecordedPart, ...] = ()
    finished: bool = False
    step: int | None = None
    problem: Problem | None = None

    @property
    def name(self) -> str:
        return self.folder.name or str(self.folder)


def list_runs(folder: str | Path) -> list[RunSummary]:
    """The runs in a folder, unfinished ones included, the oldest first; the folder itself if it is a run.

    >>> list_runs(getfixture("tmp_path"))
    []
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such folder", "Name one that holds runs")
    if (folder / MANIFEST).exists():
        folders = [folder]
    else:
        folders = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    run_files = (MANIFEST, EXPERIMENT, CHECKPOINTS)
    runs = [summarize(path) for path in folders if any((path / name).exists() for name in run_files)]
    return sorted(runs, key=lambda run: (run.created, run.name))


def summarize(folder: Path) -> RunSummary:
    """The summary of a folder, whatever is in it."""
    try:
        return read_summary(folder)
    except UserError as error:
        return RunSummary(folder, problem=error.problem)
    except (OSError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        return RunSummary(folder, problem=Problem("unreadable-run", str(error), RESTORE, str(folder)))


def read_summary(folder: Path) -> RunSummary:
    manifest = read_manifest(folder)
    finished = (folder / SCORES).exists()
    steps = [int(path.name[5:]) for path in (folder / CHECKPOINTS).glob("step-*") if path.name[5:].isdigit()]
    scores = read_json(folder / SCORES) if finished else {}
    summary = RunSummary(
        folder,
        manifest.task,
        model="?",
        score=selection_score(scores, folder / SCORES),
        loss_margin=finite(scores.get("loss_margin")),
        parameters=manifest.parameters,
        size=sum(map(size_of, folder.rglob("*"))),
        created=manifest.created,
        parts=manifest.parts,
        finished=finished,
        step=max(steps, default=None),
    )
    missing = missing_file(folder, manifest, finished=finished)
    if missing is not None:
        message = "missing, though the run needs it"
        return replace(summary, problem=Problem("run-file-missing", message, RESTORE, str(folder / missing)))
    return replace(summary, model=str(section_of(read_values(folder / EXPERIMENT), "model").get("arch", "?")))


def selection_score(scores: Mapping[str, object], path: Path) -> tuple[str, float] | None:
    """The score by which the best weights were chosen, on the test split if there is one."""
    name = scores.get("chosen_by", "")
    if not isinstance(name, str):
        raise RunError("damaged: chosen_by is not the name of a score", RESTORE, location=path)
    for split in ("test", "valid"):
        value = section_of(scores, split).get(name)
        if isinstance(value, int | float):
            return name, float(value)  # OverflowError for an integer of hundreds of digits
    return None


def size_of(path: Path) -> int:
    """The bytes of a regular file; 0 for other paths, and for files that a running training has just removed."""
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def missing_file(folder: Path, manifest: Manifest, *, finished: bool) -> str | None:
    """A file that the run needs and that is missing or not a plain file."""
    if manifest.model is None and finished:
        return "model-….safetensors"
    needed = (EXPERIMENT, *manifest.files)
    return next((name for name in needed if not (folder / name).is_file() or (folder / name).is_symlink()), None)
