"""`seqloom.train`, `check`, `resume` and `load`, which the command line calls too.

Most invalid input is an error before torch is imported, which takes seconds.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.core import atomic_io
from seqloom.core.config.section import merge_values
from seqloom.core.config.toml import to_toml
from seqloom.core.problem import KeyName, PartError, SeqloomError, UserError
from seqloom.core.run_format import SCORES
from seqloom.data.source import DataSource
from seqloom.models.layer_builder import Build, as_build
from seqloom.runs.devices import check_device
from seqloom.runs.folder import RUNS, claim_folder, free_name, refuse_existing
from seqloom.runs.recorded_parts import open_manifest
from seqloom.runs.run import Run
from seqloom.runs.run_config import read_experiment, with_data, with_device
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment
from seqloom.training.events import Listener, Reading

if TYPE_CHECKING:
    from seqloom.data.inspection.findings import Inspection
    from seqloom.training.session import Session

CONFIG_HEADER = """\
# An experiment. Edit it, then: seqloom train --config {path}
# Keys that are commented out are not set; a key that you delete takes its default. Paths of files are relative to the
# folder in which you run the command.

"""

Files = str | Path | Sequence[str]


def train(
    task: str,
    *files: str | Path,
    model: str | Mapping[str, object] | Build | None = None,
    size: str | None = None,
    valid: Files = (),
    test: Files = (),
    seed: int = 1,
    data: Mapping[str, object] | None = None,
    train: Mapping[str, object] | None = None,
    decode: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    listeners: Sequence[Listener] = (),
) -> Run:
    """Train a model on files, or on the task's embedded corpus, and return the run.

    seqloom.train("classify", "reviews.csv", model="lstm", train={"epochs": 5}).predict(["A fine film."])

    model: the name of an architecture; or a function build(input_size, *, causal) that returns a layer; or keys of the
        config's `model` section, of which `arch` can also be such a function
    data, train, decode: keys of these sections of the config
    out: the folder of the run; the default is runs/TASK-DATE-TIME
    listeners: called with each event (`seqloom.training.events`)
    """
    keys = dict(model or {}) if model is None or isinstance(model, Mapping) else {"arch": model}
    raw: dict[str, object] = {
        "task": task,
        "seed": seed,
        "data": data_section(files, valid, test, data),
        "model": keys if size is None else {"size": size, **keys},
        "train": train or {},
    }
    return start(experiment(raw if decode is None else raw | {"decode": decode}), out, listeners)


def check(
    task: str, *files: str | Path, valid: Files = (), test: Files = (), data: Mapping[str, object] | None = None
) -> "Inspection":
    """Check the data without training: errors that would stop training, and warnings.

    seqloom.check("classify", "reviews.csv").ok
    """
    from seqloom.tasks.data_check import check_data  # it imports numpy

    return check_data(experiment({"task": task, "data": data_section(files, valid, test, data)}))


def load(folder: str | Path, device: str = "cpu", model: Build | None = None) -> Run:
    """Open a run to predict.

    model: the function with which the run was made, if it was made with `model=build`
    """
    return Run(folder, device, build=None if model is None else as_build(model))


def resume(
    folder: str | Path,
    data: Sequence[str] = (),
    listeners: Sequence[Listener] = (),
    device: str | None = None,
    model: Build | None = None,
) -> Run:
    """Continue a run from its last checkpoint; a finished run stays as it is.

    data: the new paths of files that were moved
    device: default: the device on which the run began, where the result equals that of an uninterrupted run bit for bit
    model: the function with which the run was made, if it was made with `model=build`
    """
    folder, model = Path(folder), None if model is None else as_build(model)
    manifest = open_manifest(folder, model, resume=True)
    if device is not None:
        check_device(device)
    config = read_experiment(folder, model)
    if (folder / SCORES).exists():
        from seqloom.training.checkpoints import clean_up

        with atomic_io.lock_folder(folder):
            clean_up(folder, config.train.keep_checkpoints)
        return with_report(folder, lambda: Run(folder, "cpu", manifest, config))
    session = open_session(with_device(with_data(config, folder, data), folder, device), listeners)
    return with_report(folder, lambda: session.run(folder, config, listeners))


def start(config: Experiment, out: str | Path | None = None, listeners: Sequence[Listener] = ()) -> Run:
    """Train with a complete config, and write the report."""
    session = prepare(config, out, listeners)
    session.check_model()
    folder = Path(out) if out is not None else claim_folder(RUNS, config.task)
    return with_report(folder, lambda: session.start(folder, listeners))


def prepare(config: Experiment, out: str | Path | None = None, listeners: Sequence[Listener] = ()) -> "Session":
    """Read the data of an experiment, for a run in the folder `out`. Nothing is written.

    `seqloom.training.estimate.estimate` measures the cost of the session.
    """
    refuse_existing(Path(out) if out is not None else free_name(RUNS, config.task))
    return open_session(config, listeners)


def open_session(config: Experiment, listeners: Sequence[Listener]) -> "Session":
    source = DataSource.resolve(config.data, config.data_spec)  # errors come before torch is imported
    from seqloom.training.session import Session

    for listen in listeners:
        listen(Reading(0, source))
    return Session.prepare(config, source)


def with_report(folder: Path, function: Callable[[], Run]) -> Run:
    """Call the function, then write the report, even if the function fails."""
    from seqloom.lens.report import write_report

    try:
        run = function()
    except SeqloomError as error:
        if isinstance(error, UserError) and not isinstance(error, PartError):
            raise  # nothing was written, and the folder may not be a run's
        with suppress(SeqloomError):  # the first error matters more than a second one from the report
            write_report(folder)
        raise
    write_report(folder)
    return run


def write_config(config: Experiment, path: str | Path) -> None:
    """Write an experiment as a TOML file to edit, with resolved data and a comment on each key."""
    path = Path(path)
    if path.exists():
        advice = f"Pass {KeyName('out', 'another.toml')}"
        raise UserError(f"{path} already exists, and is not overwritten", advice, code="file-there")
    if not path.parent.is_dir():
        advice = f"Create it, or pass another {KeyName('out')}"
        raise UserError(f"there is no folder {path.parent}", advice, location=path, code="no-folder")
    source = DataSource.resolve(config.data, config.data_spec)
    data = source.data if source.corpus is None else source.data.model_copy(update={"corpus": source.corpus})
    toml = to_toml(config.model_copy(update={"data": data}), comments=True)
    atomic_io.write(path, CONFIG_HEADER.format(path=shlex.quote(str(path))) + toml)


def data_section(files: Sequence[str | Path], valid: Files, test: Files, data: object) -> object:
    """The `data` section with the files of each split."""
    if not isinstance(data, Mapping | None):
        return data  # refused when it is validated
    splits = {"train": files, "valid": valid, "test": test}
    paths = {
        split: [str(names)] if isinstance(names, str | Path) else [str(name) for name in names]
        for split, names in splits.items()
    }
    return merge_values({split: names for split, names in paths.items() if names}, data or {})
