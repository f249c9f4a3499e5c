"""All keys that a config may have, dotted: the command line's options, `init`'s comments and the nearest right name."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from seqloom.core.config.section import Section, choices_of, info_of
from seqloom.core.did_you_mean import closest_name
from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Names
from seqloom.models.family import Family
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS


@dataclass(frozen=True)
class Key:
    """One key: `train.lr`."""

    part: str
    name: str
    description: str
    choices: tuple[str, ...]  # of a word; empty for other kinds
    kind: type  # bool, int, float, str; tuple for several files
    optional: bool  # whether it may be none
    archs: tuple[str, ...] = ()  # of the model's keys: which architectures have it
    tasks: tuple[str, ...] = ()  # which tasks have it
    of_file: bool = False  # whether it is about files, and other files may say it anew

    @property
    def dotted(self) -> str:
        """As in a sentence: train.lr"""
        return f"{self.part}.{self.name}" if self.part else self.name

    @property
    def option(self) -> str:
        """As on the command line: --data.on-bad-line"""
        return "--" + self.dotted.replace("_", "-")


# What people coming from elsewhere may write, and what it is called here.
ALSO_CALLED = {
    "learning_rate": "train.lr",
    "max_epochs": "train.epochs",
    "num_epochs": "train.epochs",
    "max_steps": "train.steps",
    "num_steps": "train.steps",
    "iterations": "train.steps",
    "eps": "train.epsilon",
    "clip": "train.clip_norm",
    "grad_clip": "train.clip_norm",
    "max_grad_norm": "train.clip_norm",
    "patience": "train.early_stop",
    "early_stopping": "train.early_stop",
    "scheduler": "train.schedule",
    "lr_scheduler": "train.schedule",
    "warmup_steps": "train.warmup",
    "gradient_accumulation_steps": "train.accumulate",
    "eval_every": "train.validate_every",
    "save_every": "train.checkpoint_every",
    "log_interval": "train.log_every",
    "block_size": "train.bptt",
    "num_layers": "model.depth",
    "layers": "model.depth",
    "hidden_size": "model.hidden",
    "hidden_dim": "model.hidden",
    "embedding_size": "model.dim",
    "embedding_dim": "model.dim",
    "embed_dim": "model.dim",
    "d_model": "model.dim",
    "num_heads": "model.heads",
    "dropout_rate": "model.dropout",
    "kernel_size": "model.kernel",
    "pooling": "model.pool",
    "embedding_dropout": "model.input_dropout",
    "architecture": "model.arch",
    "vocab_size": "data.vocabulary_size",
    "min_freq": "data.min_count",
    "max_len": "data.max_length",
    "max_seq_length": "data.max_length",
    "delimiter": "data.label_separator",
    "dev": "data.valid",
    "validation": "data.valid",
    "validation_split": "data.valid_share",
    "test_size": "data.test_share",
    "max_new_tokens": "decode.max_length",
    "max_tokens": "decode.max_length",
    "num_beams": "decode.beam_size",
    "no_repeat_ngram_size": "decode.no_repeat_ngram",
}


def all_keys() -> dict[str, Key]:
    """Every key of every task and architecture that there are, by its dotted name."""
    return keys_after(Names.changes)


@lru_cache(maxsize=1)
def keys_after(_changes: int) -> dict[str, Key]:
    """The same, as long as no name is registered or forgotten."""
    found: dict[str, Key] = {}
    for key in each_key():
        before = found.get(key.dotted)
        found[key.dotted] = key if before is None else merged(before, key)
    order = {part: number for number, part in enumerate(("data", "model", "train", "decode"))}
    return dict(sorted(found.items(), key=lambda item: order[item[1].part]))


def each_key() -> Iterator[Key]:
    """The keys of each task, and of each of its models; no class is composed for them."""
    architectures_of: dict[type[Family], tuple[str, ...]] = {}
    for name, architecture in ARCHITECTURES.items():
        family = architecture.family
        architectures_of[family] = (*architectures_of.get(family, ()), name)
    for task, entry in TASKS.items():
        config = entry.config
        for part, kind in config.sections().items():
            if part != "model":
                yield from (replace(key, tasks=(task,)) for key in keys_of(part, kind, config))
        for family, archs in architectures_of.items():
            for kind in (family, *config.model_keys(family)):
                yield from (replace(key, tasks=(task,), archs=archs) for key in keys_of("model", kind, config))


def keys_of(part: str, kind: type[Section], config: type[Experiment]) -> Iterator[Key]:
    """The keys of one section, as a task has them."""
    for key in section_keys(part, kind, Names.changes):
        choices = key.choices or config.choices(key.dotted)
        yield replace(key, choices=choices) if choices != key.choices else key


@lru_cache(maxsize=512)
def section_keys(part: str, kind: type[Section], _changes: int) -> tuple[Key, ...]:
    """The same, as the section says itself, as long as no name is registered or forgotten."""
    keys = []
    for name, field in kind.model_fields.items():
        form, optional = form_of(field)
        own = choices_of(field.annotation, field.metadata)
        keys.append(Key(part, name, field.description or "", own, form, optional, of_file=info_of(field).of_file))
    return tuple(keys)


def merged(one: Key, other: Key) -> Key:
    """A key that several tasks or architectures have; their words together."""
    if one.kind is not other.kind:
        kinds = f"{one.kind.__name__} in {one.tasks[0]}, {other.kind.__name__} in {other.tasks[0]}"
        raise ArgumentError("all_keys", one.dotted, kinds, "one kind of value in all tasks", "is")
    return replace(
        one,
        choices=tuple(dict.fromkeys((*one.choices, *other.choices))),
        optional=one.optional or other.optional,
        archs=tuple(dict.fromkeys((*one.archs, *other.archs))),
        tasks=tuple(dict.fromkeys((*one.tasks, *other.tasks))),
    )


def form_of(field: FieldInfo) -> tuple[type, bool]:
    """What kind of value a field takes, and whether it may be none."""
    annotation: object = field.annotation
    optional = False
    if get_origin(annotation) in (Union, UnionType):
        inside = [each for each in get_args(annotation) if each is not type(None)]
        optional, annotation = len(inside) < len(get_args(annotation)), inside[0]
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    kind = get_origin(annotation) or annotation  # of tuple[str, ...], tuple
    return kind if isinstance(kind, type) else str, optional  # of Literal, words


def sized_keys() -> set[str]:
    """The names of the keys of `model` whose default follows from its size, of all tasks and architectures."""
    families = {architecture.family for architecture in ARCHITECTURES.values()}
    widths = {name for family in families for values in family.sizes.values() for name in values}
    return widths | {name for task in TASKS.values() for name in task.config.sized}


def nearest(dotted: str) -> str | None:
    """The key that was likely meant: of its own part, of another one, or by the name that it has elsewhere.

    >>> nearest("train.learning_rat"), nearest("model.bidirectionl"), nearest("lr"), nearest("train.shuffle")
    ('train.lr', 'model.bidirectional', 'train.lr', None)
    """
    part, _, name = dotted.replace("-", "_").rpartition(".")
    own = {key.name: key.dotted for key in all_keys().values() if key.part == part}
    elsewhere = {key.name: key.dotted for key in all_keys().values()} | own
    for known in (own, ALSO_CALLED, elsewhere):
        if name in known:
            return known[name]
    for known in (own, ALSO_CALLED, elsewhere):
        if meant := closest_name(name, known):
            return known[meant]
    return None
