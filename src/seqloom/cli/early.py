"""Mistakes that can be found at once, before torch is started, which takes seconds."""

from seqloom.data.files import expand, formats_of, refuse_twice
from seqloom.data.readers.columns import columns
from seqloom.data.readers.sides import ROLES, find_sides
from seqloom.spec.errors import UserError
from seqloom.spec.names import DEVICES
from seqloom.spec.registry import unknown
from seqloom.tasks.experiment import Experiment

WITH_COLUMNS = ("csv", "tsv", "jsonl")


def refuse_unreadable(chosen: Experiment) -> None:
    """A file that is missing, that the task can't read, or that lacks a column."""
    for part in (chosen.data.train, chosen.data.valid, chosen.data.test):
        refuse_twice(part, chosen.task, chosen.data.format)
        paths = expand(part)
        for path, form in zip(paths, formats_of(paths, chosen.task, chosen.data.format), strict=True):
            if form in WITH_COLUMNS and chosen.task in ROLES:
                find_sides(path, form, chosen.data, ROLES[chosen.task])
            elif form in WITH_COLUMNS:
                columns(path, chosen.data)


def refuse_device(name: str) -> None:
    """A device that does not exist anywhere; whether this machine has it, torch knows."""
    if name not in DEVICES:
        raise UserError(unknown("--device", name, DEVICES))
