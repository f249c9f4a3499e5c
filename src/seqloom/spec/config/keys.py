"""All keys that a config may have, dotted: the command line's options, `init`'s comments and the nearest right name."""

import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from seqloom.spec.config.data import Data
from seqloom.spec.config.decode import Decode
from seqloom.spec.config.model import MODELS
from seqloom.spec.config.part import Part
from seqloom.spec.config.train import Train
from seqloom.spec.near import near


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
    "batch_size": "train.batch",
    "max_epochs": "train.epochs",
    "num_epochs": "train.epochs",
    "max_steps": "train.steps",
    "num_steps": "train.steps",
    "iterations": "train.steps",
    "optimizer": "train.optimiser",
    "weight_decay": "train.decay",
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
    "embedding_size": "model.width",
    "embedding_dim": "model.width",
    "embed_dim": "model.width",
    "d_model": "model.width",
    "num_heads": "model.heads",
    "dropout_rate": "model.dropout",
    "kernel_size": "model.kernel",
    "pooling": "model.pool",
    "embedding_dropout": "model.input_dropout",
    "architecture": "model.arch",
    "tokenizer": "data.tokeniser",
    "vocab_size": "data.vocabulary",
    "min_freq": "data.min_count",
    "max_len": "data.max_length",
    "max_seq_length": "data.max_length",
    "delimiter": "data.label_separator",
    "dev": "data.valid",
    "validation": "data.valid",
    "validation_split": "data.valid_share",
    "test_size": "data.test_share",
    "max_new_tokens": "decode.length",
    "max_tokens": "decode.length",
}


@cache
def all_keys() -> dict[str, Key]:
    """Every key of every task and architecture, by its dotted name."""
    found: dict[str, Key] = {}
    sections: list[tuple[str, type[Part], tuple[str, ...]]] = [("data", Data, ())]
    for model in dict.fromkeys(MODELS.values()):
        archs = tuple(arch for arch, of in MODELS.items() if of is model)
        sections += [("model", model, archs)]
    sections += [("train", Train, ()), ("decode", Decode, ())]
    for part, kind, archs in sections:
        for key in keys_of(part, kind, archs):
            before = found.get(key.dotted)
            if before is not None:
                key = merged(before, key)
            found[key.dotted] = key
    return found


def keys_of(part: str, kind: type[Part], archs: tuple[str, ...] = ()) -> Iterator[Key]:
    """The keys of one part."""
    for name, field in kind.model_fields.items():
        form, optional, choices = form_of(field)
        yield Key(part, name, field.description or "", choices, form, optional, archs)


def merged(one: Key, other: Key) -> Key:
    """A key that several architectures have; their words together."""
    choices = tuple(dict.fromkeys((*one.choices, *other.choices)))
    return Key(one.part, one.name, one.description, choices, one.kind, one.optional, (*one.archs, *other.archs))


def form_of(field: FieldInfo) -> tuple[type, bool, tuple[str, ...]]:
    """What kind of value a field takes, whether it may be none, and the words if it takes words."""
    annotation: Any = field.annotation
    optional = False
    if get_origin(annotation) in (Union, types.UnionType):
        inside = [each for each in get_args(annotation) if each is not type(None)]
        optional, annotation = True, inside[0]
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Literal:
        return str, optional, get_args(annotation)
    if get_origin(annotation) is tuple:
        return tuple, optional, ()
    return annotation, optional, ()


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
        if meant := near(name, known):
            return known[meant]
    return None
