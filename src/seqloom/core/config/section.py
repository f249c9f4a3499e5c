"""What every section of the config is: frozen, without extra keys, each key with a sentence that teaches it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from seqloom.core.registry import Names

NONE = "none"  # how a file or an option says None, where a number stands
OFF = frozenset({"epochs", "clip_norm"})  # keys with a default that may be switched off

Values = dict[str, object]


@dataclass(frozen=True)
class AllBut:
    """Every value of another key, but these."""

    values: tuple[object, ...]


Condition = tuple[object, ...] | AllBut | Callable[[], tuple[object, ...]]
"""The values of another key beside which a key does something; a function where they come from an open registry."""


@dataclass(frozen=True)
class KeyInfo:
    """What a key says of itself beside its type, its default and its description.

    only_with: other keys, dotted, each with the values beside which this one does something; a config without the
        other key sets no limit
    instead: what to do where it does nothing, if not just to leave it out
    of_file: whether it is about files: an embedded corpus has no use for it, and other files may say it anew
    """

    only_with: Mapping[str, Condition] = field(default_factory=dict)
    instead: str = "Leave it out"
    of_file: bool = False


PLAIN = KeyInfo()


def key(
    default: object = ...,
    *,
    description: str,
    only_with: Mapping[str, Condition] | None = None,
    instead: str = PLAIN.instead,
    of_file: bool = False,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    numbers_are_text: bool | None = None,
) -> Any:
    """A key of a section; without a default it must be given. Its description is its help and its comment in TOML."""
    extra: Any = {"key": KeyInfo(only_with or {}, instead, of_file)}
    return Field(
        default,
        description=description,
        json_schema_extra=extra,
        ge=ge,
        gt=gt,
        le=le,
        lt=lt,
        min_length=min_length,
        max_length=max_length,
        coerce_numbers_to_str=numbers_are_text,
    )


def info_of(of: FieldInfo) -> KeyInfo:
    """What a key says of itself."""
    extra = of.json_schema_extra
    info = extra.get("key") if isinstance(extra, dict) else None
    return info if isinstance(info, KeyInfo) else PLAIN


@dataclass(frozen=True)
class OneOf:
    """A name of an open registry: one of those that there are when it is asked.

    names: what knows them: the names of a registry, or a function where a key takes others
    also: words that the key takes beside them; they come first

    Annotated[str, OneOf(names.SCORES, also=("none",))]
    """

    names: Names | Callable[[], Iterable[str]]
    also: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """All words that the key takes."""
        return (*self.also, *(self.names if isinstance(self.names, Names) else self.names()))

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def check(self, value: object) -> str:
        """The word, if it is one of them."""
        words = self.words
        if isinstance(value, str) and value in words:
            return value
        raise PydanticKnownError("literal_error", {"expected": ", ".join(map(repr, words))})


class Section(BaseModel):
    """A section of an experiment."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_default=True,
        protected_namespaces=(),
        defer_build=True,  # the command line asks for the keys of all sections, and validates those of one task
    )

    @classmethod
    def choices(cls, dotted: str) -> tuple[str, ...]:
        """The words that a key takes, of this section or, dotted, of one inside it; none where it takes others."""
        section, _, name = dotted.rpartition(".")
        inside = cls.model_fields[section].annotation if section in cls.model_fields else cls
        fields = inside.model_fields if isinstance(inside, type) and issubclass(inside, Section) else {}
        return choices_of(fields[name].annotation, fields[name].metadata) if name in fields else ()

    @classmethod
    def filled(cls, raw: Mapping[str, object]) -> Values:
        """`raw` with the defaults put in that follow from other values."""
        return dict(raw)

    @model_validator(mode="before")
    @classmethod
    def no_truth_for_a_number(cls, raw: object) -> object:
        """To Python, true is 1; in a config it is a mistake, so it is handed on as the word."""
        if not isinstance(raw, Mapping):
            return raw
        return {k: str(v).lower() if isinstance(v, bool) and k in numbers(cls) else v for k, v in raw.items()}


Kind = TypeVar("Kind", bound=Section)


def keys(section: object, kind: type[Kind]) -> Kind:
    """A section as one of the kinds that it was composed of, whose keys it has."""
    if not isinstance(section, kind):
        raise TypeError(f"{type(section).__name__} has no keys of {kind.__name__}")
    return section


def choices_of(annotation: object, metadata: Sequence[object] = ()) -> tuple[str, ...]:
    """The words that a value of this type may be; none where it may be others too.

    >>> choices_of(Literal["a", "b"] | None), choices_of(Annotated[str, OneOf(lambda: ("c",))]), choices_of(str)
    (('a', 'b'), ('c',), ())
    """
    for each in metadata:
        if isinstance(each, OneOf):
            return each.words
    if get_origin(annotation) is Literal:
        return tuple(word for word in get_args(annotation) if isinstance(word, str))
    if get_origin(annotation) is Annotated:
        return choices_of(get_args(annotation)[0], get_args(annotation)[1:])
    if get_origin(annotation) in (Union, UnionType, tuple):
        return next((found for each in get_args(annotation) if (found := choices_of(each))), ())
    return ()


@cache
def numbers(kind: type[Section]) -> dict[str, type]:
    """The keys of a section whose values are numbers, and whether whole ones."""
    found: dict[str, type] = {}
    for name, each_field in kind.model_fields.items():
        for each in (each_field.annotation, *get_args(each_field.annotation)):
            bare = get_args(each)[0] if get_origin(each) is Annotated else each
            if bare is int or bare is float:
                found[name] = bare
    return found


def spelt_out(kind: type[Section], values: Mapping[str, object]) -> Values:
    """The values with None where a number is said to be "none".

    >>> from seqloom.core.config.decode import DecodeSection
    >>> spelt_out(DecodeSection, {"top_k": "none", "prompt": "none"})
    {'top_k': None, 'prompt': 'none'}
    """
    return {name: None if value == NONE and name in numbers(kind) else value for name, value in values.items()}


def with_defaults(kind: type[Section], values: Mapping[str, object], defaults: Values) -> Values:
    """What was said over the defaults; None stands only where it means something, elsewhere for the default."""
    return defaults | {
        name: value
        for name, value in spelt_out(kind, values).items()
        if value is not None or (name not in defaults.keys() - OFF and may_be_none(kind, name))
    }


def may_be_none(kind: type[Section], name: str) -> bool:
    """Whether None is a value of a key; of one that does not exist, pydantic says so."""
    of = kind.model_fields.get(name)
    return of is None or of.is_required() or type(None) in get_args(of.annotation)


def section_of(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    """A section among nested values; empty where there is none.

    >>> section_of({"seed": 1, "train": {"lr": 1}}, "train"), section_of({"seed": 1}, "train")
    ({'lr': 1}, {})
    """
    section = values.get(name)
    return section if isinstance(section, Mapping) else {}


def merged(*layers: Mapping[str, object]) -> dict[str, object]:
    """Nested values, later ones over earlier ones, key by key.

    >>> merged({"train": {"lr": 1, "steps": 2}}, {"train": {"lr": 3}})
    {'train': {'lr': 3, 'steps': 2}}
    """
    whole: dict[str, object] = {}
    for layer in layers:
        for key, item in layer.items():
            inside = whole.get(key)
            whole[key] = merged(inside, item) if isinstance(inside, dict) and isinstance(item, Mapping) else item
    return whole
