"""The tasks by name: a line each. A task is imported when it is asked for, and torch only by its `task`."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from seqloom.data.reads import Reads
from seqloom.spec.registry import Registry

if TYPE_CHECKING:
    from seqloom.tasks.experiment import Experiment
    from seqloom.tasks.report import TaskReport
    from seqloom.tasks.row_check import Check
    from seqloom.tasks.task import Task


@dataclass(frozen=True)
class TaskEntry:
    """Where a task is defined, and what it learns in one line.

    folder: a package with a module for each of its parts (`config` with Config, `task` with TASK), or one module that
        has all of them
    """

    folder: str
    summary: str

    def module(self, name: str) -> ModuleType:
        """A part of the task; of a package without such a module, the package."""
        folder = import_module(self.folder)
        if not hasattr(folder, "__path__"):
            return folder
        path = f"{self.folder}.{name}"
        return import_module(path) if find_spec(path) else folder

    @property
    def config(self) -> "type[Experiment]":
        """The class of its config."""
        config: type[Experiment] = self.module("config").Config
        return config

    @property
    def reads(self) -> Reads:
        """The files, columns and corpora that it reads."""
        return self.config.reads

    @property
    def check(self) -> "Check":
        """What `seqloom check` looks for in its data; without one of its own, what it looks for in any rows."""
        from seqloom.tasks.row_check import check

        own: Check = getattr(self.module("check"), "check", check)
        return own

    @property
    def report(self) -> "type[TaskReport]":
        """What people see of its runs; without one of its own, the scores alone."""
        from seqloom.tasks.report import TaskReport

        kind: type[TaskReport] = getattr(self.module("report"), "REPORT", TaskReport)
        return kind

    @property
    def task(self) -> "type[Task]":
        """The class that trains and predicts; it imports torch."""
        kind: type[Task] = self.module("task").TASK
        return kind


TASKS: Registry[TaskEntry] = Registry(
    "task",
    {
        "language": TaskEntry("seqloom.tasks.language", "predict the next token of a text, and so write texts like it"),
        "classify": TaskEntry("seqloom.tasks.classify", "choose a label for a text"),
        "tag": TaskEntry("seqloom.tasks.tag", "give each word of a sentence a tag"),
        "translate": TaskEntry("seqloom.tasks.translate", "turn a text into another, such as its translation"),
        "caption": TaskEntry("seqloom.tasks.caption", "describe a picture"),
    },
)


def experiment(raw: Mapping[str, Any], over: Mapping[str, Any] | None = None) -> "Experiment":
    """An experiment from nested values, as TOML, keyword arguments or the command line give them.

    over: values that lie over those of `raw`, as options over a config file; what they leave without a use there goes

    >>> experiment({"task": "classify", "train": {"learning_rat": 1e-3}})
    Traceback (most recent call last):
    seqloom.spec.errors.ConfigError: unknown key train.learning_rat. Did you mean train.lr? ...
    >>> file = {"task": "tag", "train": {"optimiser": "adam", "beta1": 0.8}}
    >>> experiment(file, over={"train": {"optimiser": "sgd"}}).train.beta1 == experiment({"task": "tag"}).train.beta1
    True
    """
    from seqloom.tasks.resolve import resolve

    return resolve(raw, over or {})
