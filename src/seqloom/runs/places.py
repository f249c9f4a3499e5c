"""Where a new run goes. Nothing here needs torch, so that a place that is taken is told at once."""

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from seqloom.spec import durable
from seqloom.spec.errors import RunError
from seqloom.spec.folder import MANIFEST
from seqloom.spec.problem import KeyName

OTHER = KeyName("out", "another/folder")
RUNS = Path("runs")  # where they go unless a person names a folder


def refuse_taken(folder: Path) -> None:
    """Nothing is written over."""
    if (folder / MANIFEST).exists():
        advice = f"Continue it with `seqloom resume {folder}`, or pass {OTHER}"
        raise RunError(f"{folder} already holds a run", advice, code="run-there")
    if folder.name in ("", ".."):  # a run is made beside its place and renamed, which these can't be
        raise RunError(f"{folder} is no name for a new folder", f"Pass {OTHER}")
    if folder.exists():
        what = "is a file" if folder.is_file() else "is a folder that holds something else"
        if folder.is_file() or any(folder.iterdir()):
            raise RunError(f"{folder} {what}", f"Pass {OTHER}")
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        what = "is a file" if above.is_file() else "can't be written to"
        raise RunError(f"{folder} can't be made, since {above} {what}", f"Pass {OTHER}")


def free_name(runs: Path, task: str) -> Path:
    """runs/TASK-DATE-TIME, with a number if that is taken. It may be taken a moment later, unless it is claimed."""
    stem = f"{task}-{datetime.now():%Y-%m-%d-%H%M}"  # the person's own time
    for number in range(1, 1000):
        path = runs / (stem if number == 1 else f"{stem}-{number}")
        if not path.exists():
            return path
    raise RunError("a thousand runs began in this minute", f"Pass {OTHER}", location=runs)


def claim(runs: Path, task: str) -> Path:
    """An empty folder of a free name: of several processes that begin in the same minute, each gets its own.

    >>> runs = getfixture("tmp_path")
    >>> claim(runs, "tag") == claim(runs, "tag")
    False
    """
    durable.make(runs)
    while True:
        folder = free_name(runs, task)
        with durable.sentence(folder), suppress(FileExistsError):  # another was faster
            folder.mkdir()
            return folder
