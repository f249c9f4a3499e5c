"""The tasks by name: a line each. A task is imported when it is asked for, and torch only by its `task`."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seqloom.data.reads import Reads
from seqloom.spec.config import experiment as old
from seqloom.spec.registry import Registry
from seqloom.tasks.experiment import Experiment

if TYPE_CHECKING:
    from seqloom.tasks.task import Task


@dataclass(frozen=True)
class TaskEntry:
    """Where a task is defined, and what it learns in one line."""

    folder: str
    summary: str

    @property
    def reads(self) -> Reads:
        """The files, columns and corpora that it reads."""
        reads: Reads = import_module(f"{self.folder}.config").READS
        return reads

    @property
    def task(self) -> "type[Task]":
        """The class that trains and predicts; it imports torch."""
        kind: type[Task] = import_module(f"{self.folder}.task").TASK
        return kind


TASKS: Registry[TaskEntry] = Registry(
    "task",
    {
        "language": TaskEntry("seqloom.tasks.language", "predict the next token of a text, and so write texts like it"),
        "classify": TaskEntry("seqloom.tasks.classify", "choose a label for a text"),
        "tag": TaskEntry("seqloom.tasks.tag", "give each word of a sentence a tag"),
        "translate": TaskEntry("seqloom.tasks.translate", "turn a text into another, such as its translation"),
        "caption": TaskEntry("seqloom.tasks.caption", "describe an image in words"),
    },
)


def experiment(raw: Mapping[str, Any], over: Mapping[str, Any] | None = None) -> Experiment:
    """An experiment from nested values, as TOML, keyword arguments or the command line give them.

    over: values that lie over those of `raw`, as options over a config file; what they leave without a use there goes

    >>> experiment({"task": "classify", "train": {"learning_rat": 1e-3}})
    Traceback (most recent call last):
    seqloom.spec.errors.ConfigError: unknown key train.learning_rat. Did you mean train.lr? ...
    """
    return old.experiment(raw, over)
