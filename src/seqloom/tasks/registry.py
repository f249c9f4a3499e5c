"""The tasks by name. A task's modules are imported when they are used; only its `task` imports torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from seqloom.core.problem import ArgumentError, RunError
from seqloom.core.registry import Registry
from seqloom.data.spec import DataSpec

if TYPE_CHECKING:
    from seqloom.nn.model import GenerativeModel
    from seqloom.tasks.data_check import Check
    from seqloom.tasks.experiment import Experiment
    from seqloom.tasks.task import Task
    from seqloom.tasks.task_report import TaskReport


@dataclass(frozen=True)
class TaskEntry:
    """Where a task is defined, and what it learns in one line.

    folder: a package with the modules `config` (Config), `task` (TASK), and optionally `check` and `report`; or one
        module that defines all of them
    definitions: config, task, check and report of a task that is registered by its class
    """

    folder: str
    summary: str
    definitions: Mapping[str, object] = field(default_factory=dict, hash=False)

    def definition(self, name: str, constant: str, default: object = None) -> Any:
        """What a module of the task defines; the default, if there is one, for a task without it."""
        if self.definitions:
            return self.definitions.get(name, default)
        folder = import_module(self.folder)
        is_package = hasattr(folder, "__path__")
        path = f"{self.folder}.{name}" if is_package else self.folder
        if is_package and default is not None and find_spec(path) is None:
            return default
        module = import_module(path)
        if hasattr(module, constant):
            return getattr(module, constant)
        if is_package or default is None:
            raise ArgumentError("task", path, f"no {constant}", f"the task's {name} under that name")
        return default

    @property
    def config(self) -> "type[Experiment]":
        return cast("type[Experiment]", self.definition("config", "Config"))

    @property
    def data_spec(self) -> DataSpec:
        return self.config.data_spec

    @property
    def check(self) -> "Check":
        """What `seqloom check` does with its data; by default the check of any text or of any rows."""
        from seqloom.tasks.data_check import check_rows
        from seqloom.tasks.text_check import check_text

        default = check_text if "text" in self.data_spec.kinds else check_rows
        return cast("Check", self.definition("check", "check", default))

    @property
    def report(self) -> "type[TaskReport]":
        """The report of its runs; by default the scores only."""
        from seqloom.tasks.task_report import TaskReport

        return cast("type[TaskReport]", self.definition("report", "REPORT", TaskReport))

    @property
    def task(self) -> "type[Task[GenerativeModel, object]]":
        return cast("type[Task[GenerativeModel, object]]", self.definition("task", "TASK"))


TASKS: Registry[TaskEntry] = Registry(
    "task",
    {
        "language": TaskEntry("seqloom.tasks.language", "predict the next token of a text, and generate similar text"),
        "classify": TaskEntry("seqloom.tasks.classify", "predict the label of a text"),
        "tag": TaskEntry("seqloom.tasks.tag", "predict the tag of each word of a sentence"),
        "translate": TaskEntry("seqloom.tasks.translate", "generate a text from another, such as its translation"),
        "caption": TaskEntry("seqloom.tasks.caption", "generate a caption for an image"),
    },
)


def task_of(folder: Path, name: str) -> TaskEntry:
    """The task of the run in this folder."""
    if name not in TASKS:
        *others, last = TASKS
        names = f"{', '.join(others)} and {last}"
        message = f"a run of the task {name!r}, which is not registered here (there are {names})"
        advice = "Register the task, or open the run with the version that made it"
        raise RunError(message, advice, location=folder)
    return TASKS[name]


def read_config(path: Path, run_format: int | None = None) -> dict[str, object]:
    """The nested values of a config file, or of a run's config, under the present names of their keys and values.

    run_format: the format of the run, for a run's config
    """
    from seqloom.core.config.migration import migrate, migrate_values
    from seqloom.core.config.section import section_of
    from seqloom.core.config.toml import read_values
    from seqloom.models.layer_builder import CUSTOM, Unnamed
    from seqloom.models.registry import ARCHITECTURES

    values = read_values(path)
    task = values.get("task")
    if not isinstance(task, str) or task not in TASKS:
        return migrate(values)
    config = TASKS[task].config
    arch = section_of(values, "model").get("arch", config.architecture)
    kinds = {**config.sections()}
    if arch == CUSTOM or (isinstance(arch, str) and arch in ARCHITECTURES):
        config = config.with_family(Unnamed if arch == CUSTOM else ARCHITECTURES[arch].family)
        kinds["model"] = config.sections()["model"]
    values = migrate(
        values, config.renamed, {f"{name}.{key}" for name, kind in kinds.items() for key in kind.model_fields}
    )
    return values if run_format is None else migrate_values(values, run_format, config.choices)


def experiment(raw: Mapping[str, object], over: Mapping[str, object] | None = None) -> "Experiment":
    """An experiment from nested values, as TOML, keyword arguments or the command line give them.

    over: values that override those of `raw`, as options override a config file; keys of `raw` that have no use with
        them are dropped

    >>> experiment({"task": "classify", "train": {"learning_rat": 1e-3}})
    Traceback (most recent call last):
    seqloom.core.problem.ConfigError: unknown key train.learning_rat. Did you mean train.lr? ...
    >>> file = {"task": "tag", "train": {"optimizer": "adam", "beta1": 0.8}}
    >>> experiment(file, over={"train": {"optimizer": "sgd"}}).train.beta1 == experiment({"task": "tag"}).train.beta1
    True
    """
    from seqloom.tasks.config_validation import resolve

    return resolve(raw, over or {})
