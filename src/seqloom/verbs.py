"""The verbs that stand at the top: `seqloom.train`, `seqloom.resume`, `seqloom.load`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from seqloom.lens.report import write_report
from seqloom.models.custom import Build
from seqloom.runs.places import RUNS, claim, free_name, refuse_taken
from seqloom.runs.run import Run
from seqloom.spec.config.layers import merged
from seqloom.spec.errors import SeqloomError, UserError
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment
from seqloom.training import session
from seqloom.training.events import Listener
from seqloom.training.session import Sitting


def train(
    task: str,
    *files: str | Path,
    model: str | Mapping[str, Any] | Build | None = None,
    size: str | None = None,
    valid: str | Path | Sequence[str] = (),
    test: str | Path | Sequence[str] = (),
    seed: int = 1,
    data: Mapping[str, Any] | None = None,
    train: Mapping[str, Any] | None = None,
    decode: Mapping[str, Any] | None = None,
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
    given = {"train": [str(file) for file in files], "valid": paths(valid), "test": paths(test)}
    raw = {
        "task": task,
        "seed": seed,
        "data": merged({name: found for name, found in given.items() if found}, data or {}),
        "model": said if size is None else {"size": size, **said},
        "train": dict(train or {}),
    }
    return start(experiment(raw if decode is None else {**raw, "decode": decode}), out, listeners)


def paths(given: str | Path | Sequence[str]) -> list[str]:
    """One file or several, as a list."""
    return [str(given)] if isinstance(given, str | Path) else [str(each) for each in given]


def start(chosen: Experiment, out: str | Path | None = None, listeners: Sequence[Listener] = ()) -> Run:
    """Make a run of an experiment, and its report."""
    named = Path(out) if out is not None else None
    refuse_taken(named or free_name(RUNS, chosen.task))  # before the data are read, which may take long
    sitting = Sitting.of(chosen)
    folder = named or claim(RUNS, chosen.task)
    return reported(folder, lambda: session.begin(sitting, folder, listeners))


def resume(
    folder: str | Path,
    data: Sequence[str] = (),
    listeners: Sequence[Listener] = (),
    device: str | None = None,
    model: Build | None = None,
) -> Run:
    """Continue a run from its last checkpoint, wherever it was stopped; `data` says where moved files are now.

    device: where to compute, if not on the device that the run began with, on which it goes on bit for bit
    model: the function that the run was made with, if it was made with `model=build`
    """
    return reported(Path(folder), lambda: session.resume(Path(folder), listeners, data, device, model))


def reported(folder: Path, work: Any) -> Run:
    """Do the work and write the report, even if the work ends before its time."""
    try:
        run: Run = work()
    except UserError:  # nothing happened in the run: the folder may be another's
        raise
    except SeqloomError:
        with suppress(SeqloomError):  # what ended the run is the news, not that its report has no room
            write_report(folder)
        raise
    write_report(folder)
    return run


def load(folder: str | Path, device: str = "cpu", model: Build | None = None) -> Run:
    """A run, checked, ready to predict.

    model: the function that it was made with, if it was made with `model=build`
    """
    return Run(folder, device, model=model)
