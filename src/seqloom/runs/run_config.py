"""The config of a run: saved without paths, read again, and completed with what local.json says of this machine.

Nothing here needs torch, so that what `resume` refuses is refused at once.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seqloom.core import names
from seqloom.core.config.migration import migrate
from seqloom.core.config.toml import read_values
from seqloom.core.problem import ConfigError, KeyName, RunError, as_key
from seqloom.core.run_format import EXPERIMENT, LOCAL, read_json
from seqloom.data.cache import fingerprints
from seqloom.data.split import SPLITS
from seqloom.models.layer_builder import CUSTOM, Build, name_of
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment

MOVED = KeyName("data", "PATH")  # how `resume` is told where files lie now


def portable(experiment: Experiment) -> Experiment:
    """The config without a path of this machine: of an absolute one, the name stays."""
    data = experiment.data
    told = {
        part: tuple(Path(name).name if os.path.isabs(name) else name for name in getattr(data, part))  # noqa: PTH117
        for part in ("train", "valid", "test")
    }
    return experiment.model_copy(update={"data": data.model_copy(update=told)})


def with_data(experiment: Experiment, folder: Path, moved: Sequence[str]) -> Experiment:
    """The config with the files that the run began with, wherever they lie now; they must be what they were."""
    noted = read_json(folder / LOCAL)
    found: dict[str, tuple[str, ...]] = {}
    try:
        lay = {
            part: [(Path(file["path"]), str(file["sha256"])) for file in files]
            for part, files in noted["files"].items()
            if part in SPLITS
        }
    except (AttributeError, KeyError, TypeError):  # no manifest vouches for it
        message = "damaged, so it does not say where the data lay"
        raise RunError(message, "Restore the file from a copy", location=folder / LOCAL) from None
    for part, files in lay.items():
        found[part] = tuple(str(place_of(path, code, moved)) for path, code in files)
    corpus = noted.get("corpus")
    if corpus is not None and corpus not in experiment.data_spec.corpora:
        raise RunError(
            f"damaged, there is no corpus {corpus!r}", "Restore the file from a copy", location=folder / LOCAL
        )
    then, now_made = noted.get("made_with"), experiment.data_spec.corpus_versions(corpus)
    if isinstance(then, dict) and then != now_made:
        before, after = (", ".join(f"{name} {number}" for name, number in each.items()) for each in (then, now_made))
        message = f"the corpus {corpus!r} was made with {before}, and would differ with {after}"
        raise RunError(message, "Resume it with the version that it began with", location=folder)
    data = experiment.data.model_copy(update=found | {"corpus": corpus})
    return experiment.model_copy(update={"data": data})


def on_device(experiment: Experiment, folder: Path, device: str | None) -> Experiment:
    """The config with the device that is asked for, or that the run began on; other devices give other roundings."""
    began = read_json(folder / LOCAL).get("device")
    chosen = device or (began if began in names.DEVICES else experiment.train.device)
    return experiment.model_copy(update={"train": experiment.train.model_copy(update={"device": chosen})})


def place_of(path: Path, expected: str, moved: Sequence[str]) -> Path:
    """Where a file lies now: where it lay, or among those named."""
    candidates = [path, *(place for each in moved for place in (Path(each) / path.name, Path(each)))]
    there = [candidate for candidate in candidates if candidate.exists()]
    for candidate in there:
        if fingerprints([candidate]) == [expected]:
            return candidate
    if not there:
        raise RunError("the run's data is no longer there", f"Say where it is with {MOVED}", location=path)
    raise RunError("changed since the run began", f"Put the old file back, or name it with {MOVED}", location=there[0])


def read_experiment(folder: Path, build: Build | None = None) -> Experiment:
    """The resolved config of a run. In one made before data had a seed of their own, the run's is theirs.

    build: what builds its layers, of a run that was made with `model=build`
    """
    values = migrate(read_values(folder / EXPERIMENT))
    data = values.get("data", {})
    if isinstance(data, dict) and "seed" not in data and "seed" in values:
        values["data"] = {**data, "seed": values["seed"]}
    values["model"] = with_build(folder, values.get("model"), build)
    try:
        return experiment(values)
    except ConfigError as wrong:
        damaged = RunError.of(replace(wrong.template, location=str(folder / EXPERIMENT)))
        damaged.naming = as_key  # they are keys of this file, whoever opens it
        raise damaged from None


def with_build(folder: Path, model: object, build: Build | None) -> object:
    """The keys of the model with the function that builds its layers, which the run itself can't hold."""
    arch = model.get("arch") if isinstance(model, dict) else None
    if arch != CUSTOM and build is not None:
        what = f"{folder}: model={name_of(build)} is for a run whose layers a function built, and this one is {arch!r}"
        raise RunError(what, "Leave model out", code="build-useless")
    return {**model, "arch": build} if isinstance(model, dict) and build is not None else model
