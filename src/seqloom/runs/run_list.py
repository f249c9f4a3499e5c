"""The runs in a folder, from their small files: no weights are opened, no torch is needed."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from seqloom.core.config.section import section_of
from seqloom.core.config.toml import read_values
from seqloom.core.problem import Problem, RunError, UserError
from seqloom.core.run_format import CHECKPOINTS, EXPERIMENT, MANIFEST, SCORES, Manifest, Part, read_json, read_manifest

RESTORE = "Restore the folder from a copy"


@dataclass(frozen=True)
class RunSummary:
    """A run in a line, or what is wrong with its folder.

    score: name and value of the score by which the best weights were chosen, on the test split if there is one
    size: bytes of the folder
    created: when, in ISO 8601
    parts: the user-defined parts that it was made with
    finished: whether its last step is over
    step: of its last checkpoint
    problem: what is wrong; of a folder of which little can be read, there is nothing else
    """

    folder: Path
    task: str = ""
    model: str = ""
    score: tuple[str, float] | None = None
    parameters: int = 0
    size: int = 0
    created: str = ""
    parts: tuple[Part, ...] = ()
    finished: bool = False
    step: int | None = None
    problem: Problem | None = None

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.folder.name or str(self.folder)


def list_runs(folder: str | Path) -> list[RunSummary]:
    """Each folder in this one that is a run or was meant to be one, the oldest first; the folder itself if it is a run.

    >>> list_runs(getfixture("tmp_path"))
    []
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such folder", "Name one that holds runs")
    if (folder / MANIFEST).exists():
        folders = [folder]
    else:
        folders = [each for each in folder.iterdir() if each.is_dir() and not each.name.startswith(".")]
    meant = [each for each in folders if any((each / name).exists() for name in (MANIFEST, EXPERIMENT, CHECKPOINTS))]
    return sorted(map(summarize, meant), key=lambda run: (run.created, run.name))


def summarize(folder: Path) -> RunSummary:
    """A run, or what is wrong with a folder that may be anyone's."""
    try:
        return read_summary(folder)
    except UserError as error:
        return RunSummary(folder, problem=error.problem)
    except (OSError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        return RunSummary(folder, problem=Problem("unreadable-run", str(error), RESTORE, str(folder)))


def read_summary(folder: Path) -> RunSummary:
    """What a run's small files say."""
    manifest = read_manifest(folder)
    scores = read_json(folder / SCORES) if (folder / SCORES).exists() else {}
    summary = RunSummary(
        folder,
        manifest.task,
        "?",
        chosen_score(scores, folder / SCORES),
        manifest.parameters,
        sum(map(size_of, folder.rglob("*"))),
        manifest.created,
        manifest.parts,
        (folder / SCORES).exists(),
        last_step(folder),
    )
    missing = missing_file(folder, manifest)
    if missing is not None:
        message = "missing, though the run needs it"
        return replace(summary, problem=Problem("run-file-missing", message, RESTORE, str(folder / missing)))
    return replace(summary, model=str(section_of(read_values(folder / EXPERIMENT), "model").get("arch", "?")))


def chosen_score(scores: Mapping[str, object], path: Path) -> tuple[str, float] | None:
    """The score by which the best weights were chosen, on the test split if there is one."""
    name = scores.get("chosen_by", "")
    if not isinstance(name, str):
        raise RunError("damaged, chosen_by is no name of a score", RESTORE, location=path)
    for split in ("test", "valid"):
        value = section_of(scores, split).get(name)
        if isinstance(value, int | float):
            return name, float(value)  # OverflowError for an integer of hundreds of digits
    return None


def size_of(path: Path) -> int:
    """The bytes of a plain file; none of anything else, or of what a run that is going on has just removed."""
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def last_step(folder: Path) -> int | None:
    """The step of the last checkpoint."""
    steps = [int(path.name[5:]) for path in (folder / CHECKPOINTS).glob("step-*") if path.name[5:].isdigit()]
    return max(steps, default=None)


def missing_file(folder: Path, manifest: Manifest) -> str | None:
    """A file that the run can't do without and that is not there, or not a plain file; None if there is none."""
    if manifest.model is None and (folder / SCORES).exists():
        return "model-….safetensors"  # it was finished, so there were weights
    needed = (EXPERIMENT, *manifest.files)
    return next((name for name in needed if not (folder / name).is_file() or (folder / name).is_symlink()), None)
