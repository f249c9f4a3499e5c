"""What pydantic found wrong, as one sentence: which key, what came, what is allowed."""

import re
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from seqloom.spec.config.applicability import Useless, has
from seqloom.spec.config.layers import section_of
from seqloom.spec.errors import ConfigError
from seqloom.spec.near import near
from seqloom.spec.registry import not_a_choice, shown
from seqloom.tasks.keys import Key, all_keys, nearest
from seqloom.tasks.registry import TASKS

TOP = ("task", "seed", "data", "model", "train", "decode")
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


def explained(wrong: ValidationError, raw: Mapping[str, object]) -> ConfigError:
    """The first error, for a person; first of all of those in what was said, since defaults may follow from it."""
    errors = wrong.errors(include_url=False)
    error = next((each for each in errors if has(dotted(each["loc"]), raw)), errors[0])
    kind, key = error["type"], dotted(error["loc"])
    context = error.get("ctx", {})
    if kind == "value_error":
        said = str(context["error"]).rstrip(".")
        said = f"{key}.{said}" if key == "model" else said
        said = said if said.endswith("?") else f"{said}."
        named = KEY.search(said)
        return ConfigError(said, key=named[0] if named else None)
    if kind == "extra_forbidden":
        return ConfigError(unknown_key(key, raw), key=key)
    if kind == "literal_error":
        return ConfigError(not_a_choice(key, error["input"], words_in(str(context["expected"]))), key=key)
    expected = EXPECTED.get(kind, error["msg"][:1].lower() + error["msg"][1:]).format(**counted(context))
    came = "missing" if kind == "missing" else shown(error["input"])
    return ConfigError(f"{key} is {came}; expected {expected}", key=key)


def counted(context: Mapping[str, object]) -> dict[str, object]:
    """Lengths with their unit.

    >>> counted({"min_length": 1}), counted({"max_length": 8})
    ({'min_length': '1 character'}, {'max_length': '8 characters'})
    """
    units = {name: "character" if context[name] == 1 else "characters" for name in LENGTHS if name in context}
    return {**context, **{name: f"{context[name]} {unit}" for name, unit in units.items()}}


def dotted(location: Sequence[int | str]) -> str:
    """('model', 'hidden') is model.hidden; where in a list, is not said."""
    return ".".join(str(each) for each in location if not isinstance(each, int))


def unknown_key(key: str, raw: Mapping[str, object]) -> str:
    """The key that was likely meant, or whose it is if another architecture has it; and where all stand."""
    task = str(raw.get("task"))
    if key.partition(".")[0] not in TOP:
        meant = near(key, TOP) or nearest(key)
        guess = f" Did you mean {meant}?" if meant else ""
        return f"unknown key {key}.{guess} A config has {', '.join(TOP[:-1])} and {TOP[-1]}."
    known = all_keys().get(key)
    if known is not None and known.archs:
        arch = section_of(raw, "model").get("arch", TASKS[task].config.architecture)
        return f"{key} is not a key of {arch}; it is one of {', '.join(known.archs)}."
    meant = nearest(key)
    guess = f" Did you mean {meant}?" if meant else ""
    return f"unknown key {key}.{guess} (seqloom train {task if task in TASKS else 'TASK'} --help lists all)"


def has_no_use(key: Key, task: str) -> str:
    """Whose a key is that this task does not have."""
    if "decode" not in TASKS[task].config.sections() and key.part == "decode":
        *others, last = (name for name in TASKS if "decode" in TASKS[name].config.sections())
        tasks = f"{', '.join(others)} and {last}" if others else last
        return f"decode has no use in {task}; it is a part of {tasks}. Leave it out."
    return Useless(key.dotted, f"in {task}; it is a key of {' and '.join(key.tasks)}", "task").sentence


def words_in(expected: str) -> tuple[str, ...]:
    """The words that pydantic expected.

    >>> words_in("'tanh', 'relu' or 'none'")
    ('tanh', 'relu', 'none')
    """
    return tuple(word.strip(" '") for word in expected.replace(" or ", ", ").split(","))
