"""What every part of the config is: frozen, without extra keys, each key with a sentence that teaches it."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator

NONE = "none"  # how a file or an option says None, where a number stands


class Part(BaseModel):
    """A part of an experiment. A key's `description` is its help on the command line and its comment in TOML."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_default=True,
        protected_namespaces=(),
    )

    @model_validator(mode="before")
    @classmethod
    def no_truth_for_a_number(cls, raw: Any) -> Any:
        """To Python, true is 1; in a config it is a mistake, so it is handed on as the word."""
        if not isinstance(raw, Mapping):
            return raw
        return {k: str(v).lower() if isinstance(v, bool) and k in numbers(cls) else v for k, v in raw.items()}


@cache
def numbers(kind: type[Part]) -> dict[str, type]:
    """The keys of a part whose values are numbers, and whether whole ones."""
    found: dict[str, type] = {}
    for name, field in kind.model_fields.items():
        for each in (field.annotation, *get_args(field.annotation)):
            bare = get_args(each)[0] if get_origin(each) is Annotated else each
            if bare is int or bare is float:
                found[name] = bare
    return found


def spelt_out(kind: type[Part], values: dict[str, Any]) -> dict[str, Any]:
    """The values with None where a number is said to be "none".

    >>> from seqloom.spec.config.decode import Decode
    >>> spelt_out(Decode, {"top_k": "none", "prompt": "none"})
    {'top_k': None, 'prompt': 'none'}
    """
    return {name: None if value == NONE and name in numbers(kind) else value for name, value in values.items()}
