"""What pydantic found wrong, as one sentence: which key, what came, what is allowed."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from seqloom.spec.config.defaults import ARCHITECTURE
from seqloom.spec.config.keys import all_keys, nearest
from seqloom.spec.config.model import MODELS
from seqloom.spec.errors import ConfigError
from seqloom.spec.near import near
from seqloom.spec.registry import unknown

TOP = ("task", "seed", "data", "model", "train", "decode")
LONGEST = 60  # characters of a wrong value that are shown
LENGTHS = ("min_length", "max_length")
KEY = re.compile(r"\b(?:data|model|train|decode)\.\w+")

# pydantic's kinds of error, and what would have been right; {…} is what its context holds.
EXPECTED = {
    "missing": "a value",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "a text",
    "string_too_short": "a longer text (at least {min_length})",
    "string_too_long": "a shorter text (at most {max_length})",
    "tuple_type": "a list of texts",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "at most {le}",
    "model_type": "a table of keys",
    "model_attributes_type": "a table of keys",
    "dict_type": "a table of keys",
}


def explained(wrong: ValidationError, raw: Mapping[str, Any]) -> ConfigError:
    """The first error, for a person; first of all of those in what was said, since defaults may follow from it."""
    errors = wrong.errors(include_url=False)
    error = next((each for each in errors if was_said(dotted(each["loc"]), raw)), errors[0])
    kind, key = error["type"], dotted(error["loc"])
    context: dict[str, Any] = error.get("ctx", {})
    if kind == "value_error":
        said = str(context["error"]).rstrip(".")
        said = f"{key}.{said}." if key == "model" else f"{said}."
        named = KEY.search(said)
        return ConfigError(said, named[0] if named else None)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return ConfigError(unknown("model.arch", raw["model"]["arch"], tuple(MODELS)), "model.arch")
    if kind == "extra_forbidden":
        return ConfigError(unknown_key(key, raw), key)
    if kind == "literal_error":
        return ConfigError(not_a_choice(key, error["input"], str(context["expected"])), key)
    expected = EXPECTED.get(kind, error["msg"][:1].lower() + error["msg"][1:]).format(**counted(context))
    came = "missing" if kind == "missing" else shown(error["input"])
    return ConfigError(f"{key} is {came}; expected {expected}.", key)


def counted(context: Mapping[str, Any]) -> dict[str, Any]:
    """Lengths with their unit.

    >>> counted({"min_length": 1}), counted({"max_length": 8})
    ({'min_length': '1 character'}, {'max_length': '8 characters'})
    """
    units = {name: "character" if context[name] == 1 else "characters" for name in LENGTHS if name in context}
    return {**context, **{name: f"{context[name]} {unit}" for name, unit in units.items()}}


def shown(came: object) -> str:
    """A value, but not all of a long one."""
    told = repr(came)
    return told if len(told) <= LONGEST else f"{told[:LONGEST]}…"


def was_said(key: str, raw: Mapping[str, Any]) -> bool:
    """Whether a key is among the values that were given."""
    part, _, name = key.partition(".")
    inside = raw.get(part)
    return part in raw and (not name or (isinstance(inside, Mapping) and name in inside))


def dotted(location: Sequence[int | str]) -> str:
    """('model', 'lstm', 'hidden') is model.hidden: pydantic names the member of the union too."""
    names = [str(each) for each in location if not isinstance(each, int)]
    if len(names) > 1 and names[0] == "model" and names[1] in MODELS:
        del names[1]
    return ".".join(names)


def unknown_key(key: str, raw: Mapping[str, Any]) -> str:
    """The key that was likely meant, or whose it is if another architecture has it; and where all stand."""
    task = str(raw.get("task"))
    if key.partition(".")[0] not in TOP:
        meant = near(key, TOP) or nearest(key)
        guess = f" Did you mean {meant}?" if meant else ""
        return f"unknown key {key}.{guess} A config has {', '.join(TOP[:-1])} and {TOP[-1]}."
    known = all_keys().get(key)
    if known is not None and known.archs:
        arch = (raw.get("model") or {}).get("arch", ARCHITECTURE.get(task))
        return f"{key} is not a key of {arch}; it is one of {', '.join(known.archs)}."
    meant = nearest(key)
    guess = f" Did you mean {meant}?" if meant else ""
    return f"unknown key {key}.{guess} (seqloom train {task if task in ARCHITECTURE else 'TASK'} --help lists all)"


def not_a_choice(key: str, came: object, expected: str) -> str:
    """The words that are allowed, and which of them was likely meant."""
    words = [word.strip(" '") for word in expected.replace(" or ", ", ").split(",")]
    meant = near(str(came), words)
    guess = f" Did you mean {meant}?" if meant else ""
    return f"{key} is {shown(came)}; expected one of {', '.join(words)}.{guess}"
