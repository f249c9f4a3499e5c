"""What pydantic found wrong, as one sentence: which key, what came, what is allowed."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from seqloom.spec.config.applicability import Useless, has
from seqloom.spec.config.layers import section_of
from seqloom.spec.errors import ConfigError, UserError
from seqloom.spec.near import near
from seqloom.spec.problem import KeyName, Problem
from seqloom.spec.registry import not_a_choice, shown
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.keys import Key, all_keys, nearest
from seqloom.tasks.registry import TASKS

TOP = ("task", "seed", "data", "model", "train", "decode")
LENGTHS = ("min_length", "max_length")

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


def explained(wrong: ValidationError, raw: Mapping[str, object], config: type[Experiment]) -> UserError:
    """The first error, for a person; first of all of those in what was given, since defaults may follow from it."""
    errors = wrong.errors(include_url=False)
    error = next((each for each in errors if has(dotted(each["loc"]), raw)), errors[0])
    kind, key = error["type"], dotted(error["loc"])
    context = error.get("ctx", {})
    if kind == "value_error":
        raised = context["error"]
        return raised if isinstance(raised, UserError) else ConfigError(f"{KeyName(key)}: {raised}", key=key)
    if kind == "extra_forbidden":
        return ConfigError.of(unknown_key(key, raw))
    if kind == "literal_error":
        return ConfigError.of(not_a_choice(key, error["input"], config.choices(key)))
    expected = EXPECTED.get(kind, error["msg"][:1].lower() + error["msg"][1:]).format(**counted(context))
    value = "missing" if kind == "missing" else shown(error["input"])
    return ConfigError(
        f"{KeyName(key)} is {value}; expected {expected}", key=key, code="invalid-value", values={"expected": expected}
    )


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


def unknown_key(key: str, raw: Mapping[str, object]) -> Problem:
    """The key that was likely meant, or whose it is if another architecture has it; and where all are listed."""
    task = str(raw.get("task"))
    known = all_keys().get(key)
    if known is not None and known.archs:
        arch = section_of(raw, "model").get("arch", TASKS[task].config.architecture)
        message = f"{KeyName(key)} is not a key of {arch}; it is one of {', '.join(known.archs)}"
        return Problem("foreign-key", message, key=key)
    in_section = key.partition(".")[0] in TOP
    meant = nearest(key) if in_section else near(key, TOP) or nearest(key)
    guess = f"Did you mean {KeyName(meant)}? " if meant else ""
    lists_all = f"(seqloom train {task if task in TASKS else 'TASK'} --help lists all)"
    advice = lists_all if in_section else f"A config has {', '.join(TOP[:-1])} and {TOP[-1]}"
    values = {"nearest": meant}
    return Problem("unknown-key", f"unknown key {KeyName(key)}", f"{guess}{advice}", key=key, values=values)


def has_no_use(key: Key, task: str) -> Problem:
    """Whose a key is that this task does not have."""
    if "decode" not in TASKS[task].config.sections() and key.part == "decode":
        *others, last = (name for name in TASKS if "decode" in TASKS[name].config.sections())
        tasks = f"{', '.join(others)} and {last}" if others else last
        message = f"decode has no use in {task}; it is a section of {tasks}"
        return Problem("key-without-use", message, "Leave it out", key=key.dotted)
    return Useless(key.dotted, f"in {task}; it is a key of {' and '.join(key.tasks)}", "task").problem
