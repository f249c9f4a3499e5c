"""Create a run folder and keep its best weights. torch is imported only for the weights."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.core import atomic_io
from seqloom.core.config.toml import written
from seqloom.core.problem import KeyName, RunError
from seqloom.core.run_format import (
    EXPERIMENT,
    LOCAL,
    MANIFEST,
    VOCABULARY,
    Manifest,
    Part,
    package_versions,
    read_manifest,
    sha256,
)
from seqloom.core.run_format import write_manifest as commit
from seqloom.tasks.experiment import Experiment

if TYPE_CHECKING:
    from torch import nn

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
    atomic_io.make_folder(runs)
    while True:
        folder = free_name(runs, task)
        with atomic_io.write_errors(folder), suppress(FileExistsError):  # another was faster
            folder.mkdir()
            return folder


def create(
    folder: Path,
    experiment: Experiment,
    vocabulary: Mapping[str, str],
    local: Mapping[str, object],
    parts: tuple[Part, ...] = (),
) -> None:
    """A run without weights yet: config, vocabulary, and where the data lay."""
    refuse_taken(folder)

    with atomic_io.create_folder(folder) as making:
        (making / VOCABULARY).mkdir()
        atomic_io.write(making / EXPERIMENT, written(experiment))
        atomic_io.write(making / LOCAL, json.dumps(local, indent=1, ensure_ascii=False) + "\n")
        names = [EXPERIMENT]
        for name, content in vocabulary.items():
            atomic_io.write(making / VOCABULARY / name, content)
            names.append(f"{VOCABULARY}/{name}")
        files = {name: sha256(making / name) for name in names}
        created = datetime.now(UTC).isoformat(timespec="seconds")
        commit(making, Manifest(experiment.task, created, versions=package_versions(), files=files, parts=parts))


def keep_best(folder: Path, model: "nn.Module") -> None:
    """The best weights so far: written beside the old ones, committed by the manifest, then the old ones go."""
    from safetensors.torch import save

    manifest = read_manifest(folder)
    content = save({name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()})
    making = folder / f"{atomic_io.TEMPORARY}model.safetensors"
    with atomic_io.write_errors(making):
        atomic_io.write(making, content)
        code = sha256(making)
        name = f"model-{code[:12]}.safetensors"
        atomic_io.replace(making, folder / name)
    files = {each: known for each, known in manifest.files.items() if not each.startswith("model-")}
    size = sum(weight.numel() for weight in model.parameters())
    commit(folder, manifest.with_files({**files, name: code}, size))
    for old in folder.glob("model-*.safetensors"):
        if old.name != name:
            atomic_io.remove(old)
