"""Create a run folder and save the best weights in it. torch is imported only for the weights."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.core import atomic_io
from seqloom.core.config.toml import to_toml
from seqloom.core.problem import KeyName, RunError
from seqloom.core.run_format import (
    EXPERIMENT,
    LOCAL,
    MANIFEST,
    VOCABULARY,
    Manifest,
    RecordedPart,
    package_versions,
    read_manifest,
    sha256,
    write_manifest,
)
from seqloom.tasks.experiment import Experiment

if TYPE_CHECKING:
    from torch import Tensor

PASS_ANOTHER = f"Pass {KeyName('out', 'another/folder')}"
RUNS = Path("runs")  # the folder of runs whose folder the user does not name


def refuse_existing(folder: Path) -> None:
    """Refuse a folder that can't become a run, or that is not empty."""
    if (folder / MANIFEST).exists():
        advice = f"Continue it with `seqloom resume {folder}`, or pass {KeyName('out', 'another/folder')}"
        raise RunError(f"{folder} already holds a run", advice, code="run-there")
    if folder.name in ("", ".."):  # a run is made under a temporary name and renamed, which these can't be
        raise RunError(f"{folder} is not a valid name for a new folder", PASS_ANOTHER)
    if folder.is_file():
        raise RunError(f"{folder} is a file", PASS_ANOTHER)
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder} is a folder with other files", PASS_ANOTHER)
    parent = next(parent for parent in folder.absolute().parents if parent.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        reason = "is a file" if parent.is_file() else "can't be written to"
        raise RunError(f"{folder} can't be created: {parent} {reason}", PASS_ANOTHER)


def free_name(runs: Path, task: str) -> Path:
    """A folder TASK-DATE-TIME that does not exist, with a number if needed. Another process may create it."""
    stem = f"{task}-{datetime.now():%Y-%m-%d-%H%M}"  # local time
    for number in range(1, 1000):
        path = runs / (stem if number == 1 else f"{stem}-{number}")
        if not path.exists():
            return path
    raise RunError("a thousand runs began in this minute", PASS_ANOTHER, location=runs)


def claim_folder(runs: Path, task: str) -> Path:
    """Make an empty folder of a free name, which no other process gets.

    >>> runs = getfixture("tmp_path")
    >>> claim_folder(runs, "tag") == claim_folder(runs, "tag")
    False
    """
    atomic_io.make_folder(runs)
    while True:
        folder = free_name(runs, task)
        with atomic_io.write_errors(folder), suppress(FileExistsError):  # another process was faster
            folder.mkdir()
            return folder


def create_run(
    path: Path,
    experiment: Experiment,
    vocabulary: Mapping[str, str],
    local: Mapping[str, object],
    parts: tuple[RecordedPart, ...] = (),
) -> None:
    """Create a run without weights: its config, its vocabulary and where its data is."""
    refuse_existing(path)
    with atomic_io.create_folder(path) as folder:
        (folder / VOCABULARY).mkdir()
        contents = {EXPERIMENT: to_toml(experiment)}
        contents |= {f"{VOCABULARY}/{name}": content for name, content in vocabulary.items()}
        for name, content in contents.items():
            atomic_io.write(folder / name, content)
        atomic_io.write(folder / LOCAL, json.dumps(local, indent=1, ensure_ascii=False) + "\n")
        files = {name: sha256(folder / name) for name in contents}
        created, versions = datetime.now(UTC).isoformat(timespec="seconds"), package_versions()
        write_manifest(folder, Manifest(experiment.task, created, versions=versions, files=files, parts=parts))


def save_best(folder: Path, weights: "Mapping[str, Tensor]", parameters: int) -> None:
    """Write the best weights beside the old ones, commit them with the manifest, and remove the old ones.

    parameters: how many numbers training changes; not all weights are
    """
    from safetensors.torch import save

    manifest = read_manifest(folder)
    content = save({name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()})
    temporary = folder / f"{atomic_io.TEMPORARY}model.safetensors"
    with atomic_io.write_errors(temporary):
        atomic_io.write(temporary, content)
        digest = sha256(temporary)
        name = f"model-{digest[:12]}.safetensors"
        atomic_io.replace(temporary, folder / name)
    files = {file: file_digest for file, file_digest in manifest.files.items() if not file.startswith("model-")}
    write_manifest(folder, manifest.with_files({**files, name: digest}, parameters))
    for old in folder.glob("model-*.safetensors"):
        if old.name != name:
            atomic_io.remove(old)
