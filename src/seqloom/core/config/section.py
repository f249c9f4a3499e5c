"""The base of every section of the config: frozen, without extra keys, each key with a description."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypedDict, TypeVar, Union, Unpack, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from seqloom.core.registry import Names

NONE = "none"  # the value None of a number, in a file or an option
CAN_BE_OFF = frozenset({"epochs", "clip_norm"})  # keys with a default, which None turns off

Values = dict[str, object]


@dataclass(frozen=True)
class AllBut:
    """All values of another key except these."""

    values: tuple[object, ...]


Condition = tuple[object, ...] | AllBut | Callable[[], tuple[object, ...]]
"""The values of another key with which a key has a use; a function, if they come from an open registry."""


@dataclass(frozen=True)
class KeyInfo:
    """What a key declares besides its type, default and description.

    only_with: other keys, dotted, and the values with which this key has a use; a key that the config lacks is ignored
    instead: the advice if it is set without effect
    of_file: whether it describes files: it has no effect with an embedded corpus, and may differ for other files
    in_older_runs: its value in runs that are older than the key, if that is not its default
    """

    only_with: Mapping[str, Condition] = field(default_factory=dict)
    instead: str = "Leave it out"
    of_file: bool = False
    in_older_runs: object = None


DEFAULT_INFO = KeyInfo()


class Limits(TypedDict, total=False):
    """Limits of a key's value, by their names in pydantic."""

    ge: float
    gt: float
    le: float
    lt: float
    min_length: int
    max_length: int
    coerce_numbers_to_str: bool


def key(
    default: object = ...,
    description: str = "",
    *,
    only_with: Mapping[str, Condition] | None = None,
    instead: str = DEFAULT_INFO.instead,
    of_file: bool = False,
    in_older_runs: object = None,
    **limits: Unpack[Limits],
) -> Any:
    """A key of a section, required without a default. Its description is its help and its comment in TOML."""
    extra: Any = {"key": KeyInfo(only_with or {}, instead, of_file, in_older_runs)}
    return Field(default, description=description, json_schema_extra=extra, **limits)


def info_of(field_info: FieldInfo) -> KeyInfo:
    extra = field_info.json_schema_extra
    info = extra.get("key") if isinstance(extra, dict) else None
    return info if isinstance(info, KeyInfo) else DEFAULT_INFO


@dataclass(frozen=True)
class OneOf:
    """The type of a key whose values are names of an open registry, as they are when it is validated.

    names: the names, or a function that returns them
    also: other words that the key takes, which come first

    Annotated[str, OneOf(names.SCORES, also=("none",))]
    """

    names: Names | Callable[[], Iterable[str]]
    also: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.also, *(self.names if isinstance(self.names, Names) else self.names()))

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def check(self, value: object) -> str:
        words = self.words
        if isinstance(value, str) and value in words:
            return value
        raise PydanticKnownError("literal_error", {"expected": ", ".join(map(repr, words))})


class Section(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_default=True,
        protected_namespaces=(),
        defer_build=True,  # the command line reads the keys of all sections, and validates those of one task
    )

    @classmethod
    def choices(cls, dotted: str) -> tuple[str, ...]:
        """The words that a key takes, of this section or (dotted) of one in it; empty if it takes other values."""
        section, _, name = dotted.rpartition(".")
        kind = cls.model_fields[section].annotation if section in cls.model_fields else cls
        fields = kind.model_fields if isinstance(kind, type) and issubclass(kind, Section) else {}
        return choices_of(fields[name].annotation, fields[name].metadata) if name in fields else ()

    @classmethod
    def fill(cls, raw: Mapping[str, object]) -> Values:
        """The values with the defaults that depend on other values."""
        return dict(raw)

    @model_validator(mode="before")
    @classmethod
    def refuse_bool_as_number(cls, raw: object) -> object:
        """In Python, True is the number 1; in a config it is an error, so it is validated as the text `true`."""
        if not isinstance(raw, Mapping):
            return raw
        return {k: str(v).lower() if isinstance(v, bool) and k in numbers(cls) else v for k, v in raw.items()}


Kind = TypeVar("Kind", bound=Section)


def keys(section: object, kind: type[Kind]) -> Kind:
    """The section as one of the classes that it is composed of."""
    if not isinstance(section, kind):
        raise TypeError(f"{type(section).__name__} has no keys of {kind.__name__}")
    return section


def choices_of(annotation: object, metadata: Sequence[object] = ()) -> tuple[str, ...]:
    """The words that a value of this type may be; empty if it may be anything else.

    >>> choices_of(Literal["a", "b"] | None), choices_of(Annotated[str, OneOf(lambda: ("c",))]), choices_of(str)
    (('a', 'b'), ('c',), ())
    """
    for item in metadata:
        if isinstance(item, OneOf):
            return item.words
    if get_origin(annotation) is Literal:
        return tuple(word for word in get_args(annotation) if isinstance(word, str))
    if get_origin(annotation) is Annotated:
        return choices_of(get_args(annotation)[0], get_args(annotation)[1:])
    if get_origin(annotation) in (Union, UnionType, tuple):
        return next(filter(None, map(choices_of, get_args(annotation))), ())
    return ()


@cache
def numbers(kind: type[Section]) -> dict[str, type]:
    """The keys of a section whose values are numbers, with their type."""
    types: dict[str, type] = {}
    for name, info in kind.model_fields.items():
        for annotation in (info.annotation, *get_args(info.annotation)):
            bare = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
            if bare is int or bare is float:
                types[name] = bare
    return types


def parse_none(kind: type[Section], values: Mapping[str, object]) -> Values:
    """The values with None in place of "none", for keys whose values are numbers.

    >>> from seqloom.core.config.decode import DecodeSection
    >>> parse_none(DecodeSection, {"top_k": "none", "prompt": "none"})
    {'top_k': None, 'prompt': 'none'}
    """
    return {name: None if value == NONE and name in numbers(kind) else value for name, value in values.items()}


def with_defaults(kind: type[Section], values: Mapping[str, object], defaults: Values) -> Values:
    """The values, completed by defaults. None stands for the default, except for keys that may be None."""
    return defaults | {
        name: value
        for name, value in parse_none(kind, values).items()
        if value is not None or (name not in defaults.keys() - CAN_BE_OFF and may_be_none(kind, name))
    }


def may_be_none(kind: type[Section], name: str) -> bool:
    """Whether a key may be None. Pydantic refuses keys that do not exist."""
    info = kind.model_fields.get(name)
    return info is None or info.is_required() or type(None) in get_args(info.annotation)


def section_of(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    """A section of nested values; empty if it is missing.

    >>> section_of({"seed": 1, "train": {"lr": 1}}, "train"), section_of({"seed": 1}, "train")
    ({'lr': 1}, {})
    """
    section = values.get(name)
    return section if isinstance(section, Mapping) else {}


def merge_values(*layers: Mapping[str, object]) -> dict[str, object]:
    """Merge nested values, key by key; later ones win.

    >>> merge_values({"train": {"lr": 1, "steps": 2}}, {"train": {"lr": 3}})
    {'train': {'lr': 3, 'steps': 2}}
    """
    result: dict[str, object] = {}
    for layer in layers:
        for key, item in layer.items():
            old = result.get(key)
            result[key] = merge_values(old, item) if isinstance(old, dict) and isinstance(item, Mapping) else item
    return result
