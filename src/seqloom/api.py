"""The verbs that stand at the top: `seqloom.train`, `check`, `resume`, `load`; the command line calls them too.

What can be refused without torch, whose import takes seconds, is refused before it is imported.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.core import atomic_io
from seqloom.core.config.section import merged
from seqloom.core.config.toml import written
from seqloom.core.problem import KeyName, PartError, SeqloomError, UserError
from seqloom.core.run_format import SCORES
from seqloom.data.source import DataSource
from seqloom.lens.report import write_report
from seqloom.models.layer_builder import Build, as_build
from seqloom.runs.devices import check_device
from seqloom.runs.folder import RUNS, claim_folder, free_name, refuse_existing
from seqloom.runs.recorded_parts import open_manifest
from seqloom.runs.run import Run
from seqloom.runs.run_config import on_device, read_experiment, with_data
from seqloom.tasks.data_check import check_data
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment
from seqloom.training.events import Listener, Reading

if TYPE_CHECKING:
    from seqloom.data.inspection.report import Inspection
    from seqloom.training.session import Session

CONFIG_HEADER = """\
# An experiment. Edit it, then: seqloom train --config {path}
# Keys that are commented out are not set; a key that you delete takes its default. Paths of files are relative to the
# folder in which you run the command.

"""


def train(
    task: str,
    *files: str | Path,
    model: str | Mapping[str, object] | Build | None = None,
    size: str | None = None,
    valid: str | Path | Sequence[str] = (),
    test: str | Path | Sequence[str] = (),
    seed: int = 1,
    data: Mapping[str, object] | None = None,
    train: Mapping[str, object] | None = None,
    decode: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    listeners: Sequence[Listener] = (),
) -> Run:
    """Learn a task from files (or from the task's embedded corpus), and give the run.

    seqloom.train("classify", "reviews.csv", model="lstm", train={"epochs": 5}).predict(["A fine film."])

    model: an architecture by name; keys of the config's `model`, as `data`, `train` and `decode` are of theirs; or a
        function build(input_size, *, causal) that returns a layer, which keys may have as their `arch` too
    out: the run's folder; runs/TASK-DATE-TIME unless said
    listeners: called with each event (`seqloom.training.events`)
    """
    said = dict(model or {}) if model is None or isinstance(model, Mapping) else {"arch": model}
    raw = {
        "task": task,
        "seed": seed,
        "data": with_files(files, valid, test, data),
        "model": said if size is None else {"size": size, **said},
        "train": dict(train or {}),
    }
    return start(experiment(raw if decode is None else {**raw, "decode": decode}), out, listeners)


def check(
    task: str,
    *files: str | Path,
    valid: str | Path | Sequence[str] = (),
    test: str | Path | Sequence[str] = (),
    data: Mapping[str, object] | None = None,
) -> "Inspection":
    """What training on these files would refuse, and what else there is to know about them.

    seqloom.check("classify", "reviews.csv").ok
    """
    return check_data(experiment({"task": task, "data": with_files(files, valid, test, data)}))


def with_files(
    files: Sequence[str | Path],
    valid: str | Path | Sequence[str],
    test: str | Path | Sequence[str],
    data: Mapping[str, object] | None,
) -> dict[str, object]:
    """The `data` section with the files of each split."""
    splits = {"train": [str(file) for file in files], "valid": paths(valid), "test": paths(test)}
    return merged({split: names for split, names in splits.items() if names}, data or {})


def paths(given: str | Path | Sequence[str]) -> list[str]:
    """One file or several, as a list."""
    return [str(given)] if isinstance(given, str | Path) else [str(each) for each in given]


def start(chosen: Experiment, out: str | Path | None = None, listeners: Sequence[Listener] = ()) -> Run:
    """Make a run of an experiment, and its report."""
    named = Path(out) if out is not None else None
    session = prepare(chosen, out, listeners)
    folder = named or claim_folder(RUNS, chosen.task)
    return reported(folder, lambda: session.start(folder, listeners))


def prepare(chosen: Experiment, out: str | Path | None = None, listeners: Sequence[Listener] = ()) -> "Session":
    """Read the data of an experiment, for a run in the folder `out`; nothing is written.

    What the run would cost, `seqloom.training.estimate.estimate` measures on what this returns.
    """
    refuse_existing(Path(out) if out is not None else free_name(RUNS, chosen.task))
    return read(chosen, listeners)


def read(chosen: Experiment, listeners: Sequence[Listener]) -> "Session":
    """Resolve the data of an experiment, then read them."""
    source = DataSource.resolve(chosen.data, chosen.data_spec)
    from seqloom.training.session import Session

    for listen in listeners:
        listen(Reading(0, source))
    return Session.prepare(chosen, source)


def resume(
    folder: str | Path,
    data: Sequence[str] = (),
    listeners: Sequence[Listener] = (),
    device: str | None = None,
    model: Build | None = None,
) -> Run:
    """Continue a run from its last checkpoint, wherever it was stopped; one that is finished stays as it is.

    data: where moved files are now
    device: where to compute, if not on the device that the run began with, on which it goes on bit for bit
    model: the function that the run was made with, if it was made with `model=build`
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
        return reported(folder, lambda: Run(folder, "cpu", manifest, config))
    session = read(on_device(with_data(config, folder, data), folder, device), listeners)
    return reported(folder, lambda: session.run(folder, config, listeners))


def reported(folder: Path, work: Callable[[], Run]) -> Run:
    """Do the work and write the report, even if the work ends before its time."""
    try:
        run = work()
    except SeqloomError as error:
        if isinstance(error, UserError) and not isinstance(error, PartError):
            raise  # nothing happened in the run: the folder may be another's
        with suppress(SeqloomError):  # what ended the run is the news, not that its report has no room
            write_report(folder)
        raise
    write_report(folder)
    return run


def write_config(chosen: Experiment, path: str | Path) -> None:
    """An experiment as a TOML file to edit: each key with what it means, and the data that would be read."""
    path = Path(path)
    if path.exists():
        advice = f"Pass {KeyName('out', 'another.toml')}"
        raise UserError(f"{path} already exists, and is not overwritten", advice, code="file-there")
    if not path.parent.is_dir():
        advice = f"Make it, or pass another {KeyName('out')}"
        raise UserError(f"there is no folder {path.parent}", advice, location=path, code="no-folder")
    source = DataSource.resolve(chosen.data, chosen.data_spec)  # with the columns that are guessed
    data = source.data if source.corpus is None else source.data.model_copy(update={"corpus": source.corpus})
    config = written(chosen.model_copy(update={"data": data}), comments=True)
    atomic_io.write(path, CONFIG_HEADER.format(path=shlex.quote(str(path))) + config)


def load(folder: str | Path, device: str = "cpu", model: Build | None = None) -> Run:
    """A run, checked, ready to predict.

    model: the function that it was made with, if it was made with `model=build`
    """
    return Run(folder, device, build=None if model is None else as_build(model))
