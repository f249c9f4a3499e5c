"""The config of a run: saved without local paths, and read again with those of local.json. Does not import torch."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seqloom.core import names
from seqloom.core.config.section import Values, info_of, merge_values
from seqloom.core.problem import ConfigError, KeyName, RunError, as_key
from seqloom.core.run_format import EXPERIMENT, LOCAL, read_json, read_manifest
from seqloom.data.cache import fingerprints
from seqloom.data.split import SPLITS
from seqloom.models.layer_builder import CUSTOM, Build, builder_name
from seqloom.tasks.config_validation import config_for
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment, read_config

DATA_OPTION = KeyName("data", "PATH")  # the option of `resume` that names moved data


def without_local_paths(experiment: Experiment) -> Experiment:
    """The config without paths of this machine: an absolute path becomes its file name."""
    data = experiment.data
    files = {
        split: tuple(Path(name).name if os.path.isabs(name) else name for name in getattr(data, split))  # noqa: PTH117
        for split in SPLITS
    }
    return experiment.model_copy(update={"data": data.model_copy(update=files)})


def with_data(experiment: Experiment, folder: Path, moved: Sequence[str]) -> Experiment:
    """The config with the original data files of a run, which must be unchanged.

    moved: files, or folders of files, that were moved since
    """
    local = read_json(folder / LOCAL)
    try:
        hashes = {
            split: [(Path(file["path"]), str(file["sha256"])) for file in files]
            for split, files in local["files"].items()
            if split in SPLITS
        }
    except (AttributeError, KeyError, TypeError):  # the manifest has no hash of local.json
        raise damaged(folder, "so it does not name the data files") from None
    files: dict[str, object] = {
        split: tuple(str(find_file(path, digest, moved)) for path, digest in files) for split, files in hashes.items()
    }
    corpus = local.get("corpus")
    if corpus is not None and corpus not in experiment.data_spec.corpora:
        raise damaged(folder, f"there is no corpus {corpus!r}")
    old, new = local.get("made_with"), experiment.data_spec.corpus_versions(corpus)
    if isinstance(old, dict) and old != new:
        made_with, now = format_versions(old), format_versions(new)
        message = f"the corpus {corpus!r} was made with {made_with}, and would be different with {now}"
        raise RunError(message, "Resume it with the version that it was started with", location=folder)
    data = experiment.data.model_copy(update=files | {"corpus": corpus})
    return experiment.model_copy(update={"data": data})


def damaged(folder: Path, reason: str) -> RunError:
    return RunError(f"damaged, {reason}", "Restore the file from a copy", location=folder / LOCAL)


def format_versions(versions: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def with_device(experiment: Experiment, folder: Path, device: str | None) -> Experiment:
    """The config with the requested device; by default the run's first device, since devices round differently."""
    first = read_json(folder / LOCAL).get("device")
    device = device or (first if first in names.DEVICES else experiment.train.device)
    return experiment.model_copy(update={"train": experiment.train.model_copy(update={"device": device})})


def find_file(path: Path, digest: str, moved: Sequence[str]) -> Path:
    """The path of the file with this SHA-256: its old path, or one of the moved files."""
    candidates = [path, *(candidate for name in moved for candidate in (Path(name) / path.name, Path(name)))]
    existing = [candidate for candidate in candidates if candidate.exists()]
    for candidate in existing:
        if fingerprints([candidate]) == [digest]:
            return candidate
    if not existing:
        raise RunError("the run's data is no longer there", f"Pass its new location with {DATA_OPTION}", location=path)
    advice = f"Restore the old file, or pass its new location with {DATA_OPTION}"
    raise RunError("changed since the run began", advice, location=existing[0])


def read_experiment(folder: Path, build: Build | None = None) -> Experiment:
    """The resolved config of a run. In configs older than `data.seed`, `seed` is used for it; other keys that the
    config is older than have their value `in_older_runs`.

    build: the function that builds the layers of a run with `model=build`
    """
    values = read_config(folder / EXPERIMENT, read_manifest(folder).format)
    data, model = values.get("data", {}), values.get("model")
    if isinstance(data, dict) and "seed" not in data and "seed" in values:
        values["data"] = {**data, "seed": values["seed"]}
    if build is not None:
        arch = model.get("arch") if isinstance(model, dict) else None
        if arch != CUSTOM:
            function = f"{folder}: model={builder_name(build)}"
            message = f"{function} is only for runs whose layers were built by a function; this one is {arch!r}"
            raise RunError(message, "Leave model out", code="build-useless")
    try:
        values = merge_values(values_in_older_runs(config_for(values, build)), values)
        return experiment(values if build is None else merge_values(values, {"model": {"arch": build}}))
    except ConfigError as error:
        run_error = RunError.of(replace(error.template, location=str(folder / EXPERIMENT)))
        run_error.format_key = as_key  # the keys are those of a file, not options
        raise run_error from None


def values_in_older_runs(config: type[Experiment]) -> Values:
    """Nested values of the keys whose default came later than runs without them."""
    older = {
        section: {name: info_of(field).in_older_runs for name, field in kind.model_fields.items()}
        for section, kind in config.sections().items()
    }
    return {
        section: {name: value for name, value in values.items() if value is not None}
        for section, values in older.items()
    }
