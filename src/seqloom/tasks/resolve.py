"""What pydantic found wrong, as one sentence: which key, what came, what is allowed."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from seqloom.core.config.applicability import UnusedKey, has_key, unused_keys, without_keys
from seqloom.core.config.migration import americanize, renamed_key
from seqloom.core.config.section import NONE, merge, parse_none, section_of
from seqloom.core.did_you_mean import closest_name
from seqloom.core.problem import ConfigError, KeyName, Problem, UserError
from seqloom.core.registry import REGISTER_ADVICE, not_a_choice, short_repr, unknown_name
from seqloom.models.layer_builder import CUSTOM, Build, Unnamed, as_build, family_for
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import Key, all_keys, nearest
from seqloom.tasks.experiment import Experiment
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
    error = next((each for each in errors if has_key(dotted(each["loc"]), raw)), errors[0])
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
    value = "missing" if kind == "missing" else short_repr(error["input"])
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
    if renamed := renamed_key(key):
        return renamed
    task = str(raw.get("task"))
    known = all_keys().get(key)
    if known is not None and known.archs:
        arch = section_of(raw, "model").get("arch", TASKS[task].config.architecture)
        message = f"{KeyName(key)} is not a key of {arch}; it is one of {', '.join(known.archs)}"
        return Problem("foreign-key", message, key=key)
    in_section = key.partition(".")[0] in TOP
    meant = nearest(key) if in_section else closest_name(key, TOP) or nearest(key)
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
    return UnusedKey(key.dotted, f"in {task}; it is a key of {' and '.join(key.tasks)}", "task").problem


Nested = Mapping[str, object]


def resolve(raw: Nested, above: Nested) -> Experiment:
    """An experiment, or one sentence on what is wrong; `above` lies over `raw`."""
    raw, above = americanize(raw), americanize(above)
    build = builder_in(merge(raw, above))
    if build is not None:
        raw, above = (with_arch_custom(each) for each in (raw, above))
    both = merge(raw, above)
    config = config_of(both, build)
    gone: set[str] = set()
    for key in foreign(both, config):
        if not is_none(key, both) and ("task" not in above or has_value(key, above)):
            raise ConfigError.of(has_no_use(key, str(both["task"])))
        gone.add(key.dotted)
    whole = validated(config, without_keys(both, gone), both)
    idle: set[str] = set()
    for each in unused_keys(whole):
        if is_said(each.key, above, whole) or (is_said(each.key, raw, whole) and not has_key(each.decided_by, above)):
            raise ConfigError.of(each.problem)
        if is_said(each.key, raw, whole):
            idle.add(each.key)
    return validated(config, merge(without_keys(raw, gone | idle), without_keys(above, gone)), both) if idle else whole


def builder_in(raw: Nested) -> Build | None:
    """The function that builds the layers, if one stands in the place of an architecture's name."""
    model = raw.get("model")
    arch = model.get("arch") if isinstance(model, Mapping) else None
    return as_build(arch) if callable(arch) else None


def with_arch_custom(raw: Nested) -> Nested:
    """Nested values with the word for such a function in its place."""
    return merge(raw, {"model": {"arch": CUSTOM}}) if has_key("model.arch", raw) else raw


def config_of(raw: Nested, build: Build | None) -> type[Experiment]:
    """The config that was composed for the task and the architecture that are named.

    build: what `model.arch` custom stands for
    """
    if "task" not in raw:
        raise ConfigError("task is missing; expected a value", key="task", code="invalid-value")
    task = raw["task"]
    if not isinstance(task, str) or task not in TASKS:
        raise ConfigError.of(not_a_choice("task", task, tuple(TASKS)))
    config = TASKS[task].config
    arch = section_of(raw, "model").get("arch", config.architecture)
    if arch == CUSTOM:
        if build is None:
            message = f"{KeyName('model.arch', CUSTOM)} is for a model whose layers a function builds"
            advice = "Give the function, in Python: seqloom.train(..., model=build)"
            raise ConfigError(message, f"{advice}; or register it with seqloom.register.layer", key="model.arch")
        return config.with_family(family_for(build, Unnamed))
    if not isinstance(arch, str) or arch not in ARCHITECTURES:
        message, advice = unknown_name(KeyName("model.arch"), arch, ARCHITECTURES)
        if closest_name(str(arch), ARCHITECTURES) is None:
            advice += f". {REGISTER_ADVICE}"
        values = {"value": arch, "choices": list(ARCHITECTURES)}
        raise ConfigError(message, advice, key="model.arch", code="unknown-name", values=values)
    return config.with_family(ARCHITECTURES[arch].family)


def foreign(raw: Nested, config: type[Experiment]) -> Iterator[Key]:
    """The keys that were said, and that only other tasks have."""
    sections = config.sections()
    for key in all_keys().values():
        kind = sections.get(key.part)
        missing = kind is None or key.name not in kind.model_fields
        if missing and has_key(key.dotted, raw) and str(raw["task"]) not in key.tasks:
            yield key


def is_none(key: Key, raw: Nested) -> bool:
    """Whether a key is said to be none."""
    value = section_of(raw, key.part)[key.name]
    return value is None or (value == NONE and key.kind in (int, float))


def has_value(key: Key, raw: Nested) -> bool:
    """Whether a key stands there with a value that is not none."""
    return has_key(key.dotted, raw) and not is_none(key, raw)


def validated(config: type[Experiment], values: Nested, said: Nested) -> Experiment:
    """As the schema says, or one sentence."""
    try:
        return config.model_validate(dict(values))
    except ValidationError as wrong:
        raise explained(wrong, said, config) from None


def is_said(key: str, raw: Nested, whole: Experiment) -> bool:
    """Whether a key of this experiment stands there with a value that is not none."""
    section, _, name = key.partition(".")
    return has_key(key, raw) and parse_none(type(getattr(whole, section)), section_of(raw, section))[name] is not None
