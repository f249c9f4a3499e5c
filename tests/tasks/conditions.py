"""The keys of every config: which need another key, and which only some tasks have."""

from dataclasses import dataclass

from seqloom.core.config.applicability import allowed
from seqloom.core.config.section import AllBut, info_of
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import Key, all_keys, keys_of
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS

READERS_FIRST = ("tag", "classify", "translate", "caption", "language")  # the first refuse the fewest models


@dataclass(frozen=True)
class Need:
    """A key that has an effect in this task and architecture only with some values of another key."""

    task: str
    arch: str
    key: str
    other: str
    values: tuple[object, ...]  # the key has an effect with these

    def __str__(self) -> str:
        return f"{self.key}-{self.other}-{self.task}"


def config_of(task: str, arch: str) -> type[Experiment]:
    return TASKS[task].config.with_family(ARCHITECTURES[arch].family)


def needs() -> list[Need]:
    """Every need, with the first task and architecture that have both keys."""
    by_key: dict[tuple[str, str, tuple[object, ...]], Need] = {}
    for task in READERS_FIRST:
        for arch in ("lstm", "conv", "transformer", "gru"):
            config = config_of(task, arch)
            for section, kind in config.sections().items():
                for name, field in kind.model_fields.items():
                    for other, condition in info_of(field).only_with.items():
                        other_section, _, other_name = other.partition(".")
                        if (task, other) == ("translate", "model.encoder"):
                            continue  # a translation always has an encoder
                        if other_name in config.sections()[other_section].model_fields:
                            values = allowed(condition, config.choices(other))
                            if isinstance(condition, AllBut) and not config.choices(other):
                                raise AssertionError(f"{section}.{name}: needs values of {other} that can't be listed")
                            need = Need(task, arch, f"{section}.{name}", other, values)
                            by_key.setdefault((need.key, other, values), need)
    return list(by_key.values())


def own_keys(task: str, arch: str) -> dict[str, Key]:
    """The keys of one task with one architecture."""
    config = config_of(task, arch)
    both = (key for section, kind in config.sections().items() for key in keys_of(section, kind, config))
    return {key.dotted: key for key in both}


def keys_of_some() -> list[Key]:
    """The keys that only some tasks have, with any of their models."""
    return [key for key in all_keys().values() if set(key.tasks) < set(TASKS)]
