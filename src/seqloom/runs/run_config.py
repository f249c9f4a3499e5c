"""The config of a run: saved without paths, read again, and completed with local.json. Does not import torch."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seqloom.core import names
from seqloom.core.problem import ConfigError, KeyName, RunError, as_key
from seqloom.core.run_format import EXPERIMENT, LOCAL, read_json
from seqloom.data.cache import fingerprints
from seqloom.data.split import SPLITS
from seqloom.models.layer_builder import CUSTOM, Build, name_of
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment, read_config

DATA_OPTION = KeyName("data", "PATH")  # the option of `resume` for data that was moved


def without_local_paths(experiment: Experiment) -> Experiment:
    """The config without paths of this machine: an absolute path is reduced to its name."""
    data = experiment.data
    files = {
        split: tuple(Path(name).name if os.path.isabs(name) else name for name in getattr(data, split))  # noqa: PTH117
        for split in SPLITS
    }
    return experiment.model_copy(update={"data": data.model_copy(update=files)})


def with_data(experiment: Experiment, folder: Path, moved: Sequence[str]) -> Experiment:
    """The config with the files that the run began with, which must be unchanged.

    moved: files, or folders of files, that are no longer where local.json says
    """
    local = read_json(folder / LOCAL)
    try:
        hashes = {
            split: [(Path(file["path"]), str(file["sha256"])) for file in files]
            for split, files in local["files"].items()
            if split in SPLITS
        }
    except (AttributeError, KeyError, TypeError):  # the manifest has no hash of local.json
        raise damaged(folder, "so it does not say where the data lay") from None
    found: dict[str, object] = {
        split: tuple(str(find_file(path, digest, moved)) for path, digest in files) for split, files in hashes.items()
    }
    corpus = local.get("corpus")
    if corpus is not None and corpus not in experiment.data_spec.corpora:
        raise damaged(folder, f"there is no corpus {corpus!r}")
    before, now = local.get("made_with"), experiment.data_spec.corpus_versions(corpus)
    if isinstance(before, dict) and before != now:
        message = f"the corpus {corpus!r} was made with {listed(before)}, and would differ with {listed(now)}"
        raise RunError(message, "Resume it with the version that it began with", location=folder)
    data = experiment.data.model_copy(update=found | {"corpus": corpus})
    return experiment.model_copy(update={"data": data})


def damaged(folder: Path, reason: str) -> RunError:
    return RunError(f"damaged, {reason}", "Restore the file from a copy", location=folder / LOCAL)


def listed(versions: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def with_device(experiment: Experiment, folder: Path, device: str | None) -> Experiment:
    """The config with the requested device or, since devices round differently, the one that the run began on."""
    first = read_json(folder / LOCAL).get("device")
    device = device or (first if first in names.DEVICES else experiment.train.device)
    return experiment.model_copy(update={"train": experiment.train.model_copy(update={"device": device})})


def find_file(path: Path, digest: str, moved: Sequence[str]) -> Path:
    """Where a file with this content is: at its old path, or among those named."""
    candidates = [path, *(place for name in moved for place in (Path(name) / path.name, Path(name)))]
    existing = [candidate for candidate in candidates if candidate.exists()]
    for candidate in existing:
        if fingerprints([candidate]) == [digest]:
            return candidate
    if not existing:
        raise RunError("the run's data is no longer there", f"Say where it is with {DATA_OPTION}", location=path)
    advice = f"Put the old file back, or name it with {DATA_OPTION}"
    raise RunError("changed since the run began", advice, location=existing[0])


def read_experiment(folder: Path, build: Build | None = None) -> Experiment:
    """The resolved config of a run. If it is older than `data.seed`, that is the run's seed.

    build: the function that builds its layers, of a run made with `model=build`
    """
    values = read_config(folder / EXPERIMENT)
    data, model = values.get("data", {}), values.get("model")
    if isinstance(data, dict) and "seed" not in data and "seed" in values:
        values["data"] = {**data, "seed": values["seed"]}
    if build is not None:
        arch = model.get("arch") if isinstance(model, dict) else None
        if arch != CUSTOM:
            function = f"{folder}: model={name_of(build)}"
            message = f"{function} is for a run whose layers a function built, and this one is {arch!r}"
            raise RunError(message, "Leave model out", code="build-useless")
        values["model"] = {**model, "arch": build} if isinstance(model, dict) else model
    try:
        return experiment(values)
    except ConfigError as error:
        wrong = RunError.of(replace(error.template, location=str(folder / EXPERIMENT)))
        wrong.format_key = as_key  # they are keys of this file, not options
        raise wrong from None
