"""What pydantic found wrong, as one sentence: which key, what came, what is allowed."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from seqloom.spec.config.defaults import ARCHITECTURE
from seqloom.spec.config.keys import all_keys, nearest
from seqloom.spec.config.model import MODELS
from seqloom.spec.registry import unknown

TOP = ("task", "seed", "data", "model", "train", "decode")
LONGEST = 60  # characters of a wrong value that are shown

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
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "tuple_type": "a list of texts",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "at most {le}",
    "model_type": "a table of keys",
    "model_attributes_type": "a table of keys",
    "dict_type": "a table of keys",
}


def sentence(wrong: ValidationError, raw: Mapping[str, Any]) -> str:
    """The first error, for a person; first of all of those in what was said, since defaults may follow from it."""
    errors = wrong.errors(include_url=False)
    error = next((each for each in errors if was_said(dotted(each["loc"]), raw)), errors[0])
    kind, key = error["type"], dotted(error["loc"])
    context: dict[str, Any] = error.get("ctx", {})
    if kind == "extra_forbidden":
        return unknown_key(key, raw)
    if kind == "value_error":
        said = str(context["error"]).rstrip(".")
        return f"{key}.{said}." if key == "model" else f"{said}."
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return unknown("model.arch", raw["model"]["arch"], tuple(MODELS))
    if kind == "literal_error":
        return not_a_choice(key, error["input"], str(context["expected"]))
    expected = EXPECTED.get(kind, error["msg"][:1].lower() + error["msg"][1:]).format(**context)
    came = "missing" if kind == "missing" else shown(error["input"])
    return f"{key} is {came}; expected {expected}."


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
    """The nearest right key; or, if another architecture has this one, which."""
    task = raw.get("task", "TASK")
    if "." not in key and (close := get_close_matches(key, TOP, n=1)):
        return f"unknown key {key}. Did you mean {close[0]}? (seqloom train {task} --help lists all)"
    known = all_keys().get(key)
    if known is not None and known.archs:
        arch = (raw.get("model") or {}).get("arch", ARCHITECTURE.get(task))
        return f"{key} is not a key of {arch}; it is one of {', '.join(known.archs)}."
    guess = nearest(key)
    meant = f" Did you mean {guess}?" if guess else ""
    return f"unknown key {key}.{meant} (seqloom train {task} --help lists all)"


def not_a_choice(key: str, came: object, expected: str) -> str:
    """The words that are allowed, and the nearest."""
    words = [word.strip(" '") for word in expected.replace(" or ", ", ").split(",")]
    close = get_close_matches(str(came), words, n=1)
    meant = f" Did you mean {close[0]}?" if close else ""
    return f"{key} is {shown(came)}; expected one of {', '.join(words)}.{meant}"
