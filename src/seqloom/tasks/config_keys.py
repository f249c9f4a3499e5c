"""All keys that a config may have, for the options and for the comments of `init`; the nearest key to a wrong one."""

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
from seqloom.tasks.experiment import SECTIONS, Experiment
from seqloom.tasks.registry import TASKS


@dataclass(frozen=True)
class Key:
    """A key, such as `train.lr`.

    section: train
    name: lr
    choices: the words that it takes; empty for any value
    kind: the type of its value: bool, int, float or str; tuple for several files
    optional: whether it may be none
    archs: the architectures that have it, if it is a key of `model`
    tasks: the tasks that have it
    of_file: whether it describes files, so that `evaluate` may set another value for other files
    """

    section: str
    name: str
    description: str
    choices: tuple[str, ...]
    kind: type
    optional: bool
    archs: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    of_file: bool = False

    @property
    def dotted(self) -> str:
        return f"{self.section}.{self.name}" if self.section else self.name

    @property
    def option(self) -> str:
        """As on the command line: --data.on-bad-line"""
        return "--" + self.dotted.replace("_", "-")


# Names of keys in other libraries, and their names here, by section.
ELSEWHERE = {
    "train": "learning_rate=lr max_epochs=epochs num_epochs=epochs max_steps=steps num_steps=steps iterations=steps "
    "eps=epsilon clip=clip_norm grad_clip=clip_norm max_grad_norm=clip_norm patience=early_stop "
    "early_stopping=early_stop scheduler=schedule lr_scheduler=schedule warmup_steps=warmup "
    "gradient_accumulation_steps=accumulate eval_every=validate_every save_every=checkpoint_every "
    "log_interval=log_every block_size=bptt",
    "model": "num_layers=depth layers=depth hidden_size=hidden hidden_dim=hidden embedding_size=dim embedding_dim=dim "
    "embed_dim=dim d_model=dim num_heads=heads dropout_rate=dropout kernel_size=kernel pooling=pool "
    "embedding_dropout=input_dropout architecture=arch",
    "data": "vocab_size=vocabulary_size min_freq=min_count max_len=max_length max_seq_length=max_length "
    "delimiter=label_separator dev=valid validation=valid validation_split=valid_share test_size=test_share",
    "decode": "max_new_tokens=max_length max_tokens=max_length num_beams=beam_size "
    "no_repeat_ngram_size=no_repeat_ngram",
}
ALSO_CALLED = {
    other: f"{section}.{name}"
    for section, pairs in ELSEWHERE.items()
    for other, name in (pair.split("=") for pair in pairs.split())
}


def all_keys() -> dict[str, Key]:
    """Every key of every task and architecture, by its dotted name."""
    return _all_keys(Names.changes)


@lru_cache(maxsize=1)
def _all_keys(_changes: int) -> dict[str, Key]:
    """Cached until a name is registered or unregistered; no config class is composed."""
    families: dict[type[Family], tuple[str, ...]] = {}
    for name, architecture in ARCHITECTURES.items():
        families[architecture.family] = (*families.get(architecture.family, ()), name)
    keys: dict[str, Key] = {}
    for task, entry in TASKS.items():
        sections: list[tuple[str, type[Section], tuple[str, ...]]]
        sections = [(name, section, ()) for name, section in entry.config.sections().items() if name != "model"]
        sections += [
            ("model", section, archs)
            for family, archs in families.items()
            for section in (family, *entry.config.model_keys(family))
        ]
        for name, section, archs in sections:
            for key in keys_of(name, section, entry.config):
                key = replace(key, tasks=(task,), archs=archs)
                keys[key.dotted] = merge_keys(keys[key.dotted], key) if key.dotted in keys else key
    return dict(sorted(keys.items(), key=lambda item: SECTIONS.index(item[1].section)))


def keys_of(name: str, section: type[Section], config: type[Experiment]) -> Iterator[Key]:
    """The keys of one section, with the choices that a task has."""
    for key in _section_keys(name, section, Names.changes):
        choices = key.choices or config.choices(key.dotted)
        yield replace(key, choices=choices) if choices != key.choices else key


@lru_cache(maxsize=512)
def _section_keys(section_name: str, section: type[Section], _changes: int) -> tuple[Key, ...]:
    keys = []
    for name, field in section.model_fields.items():
        value_type, optional = type_of(field)
        choices = choices_of(field.annotation, field.metadata)
        description, of_file = field.description or "", info_of(field).of_file
        keys.append(Key(section_name, name, description, choices, value_type, optional, of_file=of_file))
    return tuple(keys)


def merge_keys(a: Key, b: Key) -> Key:
    """A key that several tasks or architectures have, with the choices of all."""
    if a.kind is not b.kind:
        kinds = f"{a.kind.__name__} in {a.tasks[0]}, {b.kind.__name__} in {b.tasks[0]}"
        raise ArgumentError("all_keys", a.dotted, kinds, "one kind of value in all tasks", "is")
    choices, archs, tasks = (
        tuple(dict.fromkeys((*getattr(a, name), *getattr(b, name)))) for name in ("choices", "archs", "tasks")
    )
    return replace(a, choices=choices, optional=a.optional or b.optional, archs=archs, tasks=tasks)


def type_of(field: FieldInfo) -> tuple[type, bool]:
    """The type of a field's values, and whether it may be none."""
    annotation: object = field.annotation
    optional = False
    if get_origin(annotation) in (Union, UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        optional, annotation = len(members) < len(get_args(annotation)), members[0]
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    kind = get_origin(annotation) or annotation  # of tuple[str, ...], tuple
    return kind if isinstance(kind, type) else str, optional  # of Literal, str


def sized_keys() -> set[str]:
    """The keys of `model` whose default depends on its size, of all tasks and architectures."""
    families = {architecture.family for architecture in ARCHITECTURES.values()}
    names = {name for family in families for values in family.sizes.values() for name in values}
    return names | {name for task in TASKS.values() for name in task.config.sized}


def nearest_key(dotted: str) -> str | None:
    """The key that was likely meant: one of its section or of another, or one with this name in another library.

    >>> [nearest_key(key) for key in ("train.learning_rat", "model.bidirectionl", "lr", "train.shuffle")]
    ['train.lr', 'model.bidirectional', 'train.lr', None]
    """
    section, _, name = dotted.replace("-", "_").rpartition(".")
    own = {key.name: key.dotted for key in all_keys().values() if key.section == section}
    anywhere = {key.name: key.dotted for key in all_keys().values()} | own
    for names in (own, ALSO_CALLED, anywhere):
        if name in names:
            return names[name]
    for names in (own, ALSO_CALLED, anywhere):
        if close := closest_name(name, names):
            return names[close]
    return None
