"""From nested values to an experiment; an invalid value is one sentence: the key, the value, what is expected."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from seqloom.core.config.applicability import has_key, unused_keys, without_effect, without_keys
from seqloom.core.config.migration import americanize, renamed_key
from seqloom.core.config.section import NONE, merge_values, parse_none, section_of
from seqloom.core.did_you_mean import closest_name
from seqloom.core.problem import ConfigError, KeyName, Problem, UserError
from seqloom.core.registry import REGISTER_ADVICE, not_a_choice, unknown_name
from seqloom.core.wording import counted, short_repr
from seqloom.models.layer_builder import CUSTOM, Build, Unnamed, as_build, family_for
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import Key, all_keys, nearest_key
from seqloom.tasks.experiment import SECTIONS, Experiment
from seqloom.tasks.registry import TASKS

TOP = ("task", "seed", "data", "model", "train", "decode")
Nested = Mapping[str, object]

# What pydantic expects, by the type of its error; {…} is in the error's context.
EXPECTED = {
    "missing": "a value", "finite_number": "a finite number", "string_type": "a text", "tuple_type": "a list of texts",
    "int_parsing": "a whole number", "int_type": "a whole number", "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of fewer digits", "float_parsing": "a number", "float_type": "a number",
    "bool_parsing": "true or false", "bool_type": "true or false", "model_type": "a table of keys",
    "model_attributes_type": "a table of keys", "dict_type": "a table of keys",
    "string_too_short": "a longer text (at least {min_length})", "greater_than": "a number above {gt}",
    "string_too_long": "a shorter text (at most {max_length})", "greater_than_equal": "at least {ge}",
    "less_than": "a number below {lt}", "less_than_equal": "at most {le}",
}  # fmt: skip


def resolve(raw: Nested, over: Nested) -> Experiment:
    """An experiment from `raw` with the values of `over` in place of its own."""
    raw, over = americanize(raw), americanize(over)
    for name in SECTIONS:
        if not isinstance(raw.get(name), Mapping | None):
            raise invalid_value(name, short_repr(raw[name]), "a table of keys")
    model = merge_values(raw, over).get("model")
    arch = model.get("arch") if isinstance(model, Mapping) else None
    build = as_build(arch) if callable(arch) else None
    if build is not None:  # `custom` takes the place of the function
        custom = {"model": {"arch": CUSTOM}}
        raw, over = (
            merge_values(values, custom) if has_key("model.arch", values) else values for values in (raw, over)
        )
    both = merge_values(raw, over)
    config = config_for(both, build)
    dropped: set[str] = set()
    for key in foreign_keys(both, config):
        overridden = has_key(key.dotted, over) and not is_none(key, over)
        if not is_none(key, both) and ("task" not in over or overridden):
            raise ConfigError.of(key_of_another_task(key, str(both["task"])))
        dropped.add(key.dotted)
    experiment = validate(config, without_keys(both, dropped), both)
    unused: set[str] = set()
    for key_use in unused_keys(experiment):
        in_raw, key_name = has_value(key_use.key, raw, experiment), key_use.key
        if has_value(key_name, over, experiment) or (in_raw and not has_key(key_use.decided_by, over)):
            raise ConfigError.of(key_use.problem)
        if in_raw:
            unused.add(key_name)
    if not unused:
        return experiment
    return validate(config, merge_values(without_keys(raw, dropped | unused), without_keys(over, dropped)), both)


def config_for(raw: Nested, build: Build | None) -> type[Experiment]:
    """The config of the task with the model of the architecture.

    build: the function that `model.arch` custom stands for
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
            message = f"{KeyName('model.arch', CUSTOM)} is for a model whose layers are built by a function"
            advice = "Pass the function in Python: seqloom.train(..., model=build)"
            raise ConfigError(message, f"{advice}; or register it with seqloom.register.layer", key="model.arch")
        return config.with_family(family_for(build, Unnamed))
    if not isinstance(arch, str) or arch not in ARCHITECTURES:
        message, advice = unknown_name(KeyName("model.arch"), arch, ARCHITECTURES)
        if closest_name(str(arch), ARCHITECTURES) is None:
            advice += f". {REGISTER_ADVICE}"
        values = {"value": arch, "choices": list(ARCHITECTURES)}
        raise ConfigError(message, advice, key="model.arch", code="unknown-name", values=values)
    return config.with_family(ARCHITECTURES[arch].family)


# Keys ----------------------------------------------------------------------------------------------------------------


def foreign_keys(raw: Nested, config: type[Experiment]) -> Iterator[Key]:
    """The keys among the values that only other tasks have."""
    sections = config.sections()
    own = ((name, sections[name].model_fields if name in sections else {}) for name in SECTIONS)
    if all(section_of(raw, name).keys() <= fields.keys() for name, fields in own):
        return  # `all_keys` reads the config of every task
    for key in all_keys().values():
        kind = sections.get(key.section)
        missing = kind is None or key.name not in kind.model_fields
        if missing and has_key(key.dotted, raw) and str(raw["task"]) not in key.tasks:
            yield key


def is_none(key: Key, raw: Nested) -> bool:
    value = section_of(raw, key.section)[key.name]
    return value is None or (value == NONE and key.kind in (int, float))


def has_value(key: str, raw: Nested, experiment: Experiment) -> bool:
    """Whether the values give a key of this experiment a value that is not none."""
    section, _, name = key.partition(".")
    return (
        has_key(key, raw) and parse_none(type(getattr(experiment, section)), section_of(raw, section))[name] is not None
    )


def key_of_another_task(key: Key, task: str) -> Problem:
    """The tasks that have a key which this task does not have."""
    if "decode" not in TASKS[task].config.sections() and key.section == "decode":
        *others, last = (name for name in TASKS if "decode" in TASKS[name].config.sections())
        tasks = f"{', '.join(others)} and {last}" if others else last
        message = f"decode has no effect in {task}; it is a section of {tasks}"
        return Problem("key-without-use", message, "Leave it out", key=key.dotted)
    return without_effect(key.dotted, f"in {task}; it is a key of {' and '.join(key.tasks)}")


def unknown_key(key: str, raw: Nested) -> Problem:
    """The nearest key, or the architectures that have this one; and where all keys are listed."""
    if renamed := renamed_key(key):
        return renamed
    task = str(raw.get("task"))
    elsewhere = all_keys().get(key)
    if elsewhere is not None and elsewhere.archs:
        arch = section_of(raw, "model").get("arch", TASKS[task].config.architecture)
        message = f"{KeyName(key)} is not a key of {arch}; it is one of {', '.join(elsewhere.archs)}"
        return Problem("foreign-key", message, key=key)
    in_section = key.partition(".")[0] in TOP
    meant = nearest_key(key) if in_section else closest_name(key, TOP) or nearest_key(key)
    guess = f"Did you mean {KeyName(meant)}? " if meant else ""
    list_all = f"(seqloom train {task if task in TASKS else 'TASK'} --help lists all)"
    advice = list_all if in_section else f"A config has {', '.join(TOP[:-1])} and {TOP[-1]}"
    values = {"nearest": meant}
    return Problem("unknown-key", f"unknown key {KeyName(key)}", f"{guess}{advice}", key=key, values=values)


# Validation ----------------------------------------------------------------------------------------------------------


def validate(config: type[Experiment], values: Nested, explicit: Nested) -> Experiment:
    """explicit: the values without defaults; errors in these are raised first, as defaults may depend on them"""
    try:
        return config.model_validate(dict(values))
    except ValidationError as error:
        raise explain(error, explicit, config) from None


def explain(invalid: ValidationError, explicit: Nested, config: type[Experiment]) -> UserError:
    """The first error as one sentence."""
    keys = [(error, dotted(error["loc"])) for error in invalid.errors(include_url=False)]
    error, key = next((pair for pair in keys if has_key(pair[1], explicit)), keys[0])
    kind, context = error["type"], dict(error.get("ctx", {}))
    if kind == "value_error":
        cause = context["error"]
        return cause if isinstance(cause, UserError) else ConfigError(f"{KeyName(key)}: {cause}", key=key)
    if kind == "extra_forbidden":
        return ConfigError.of(unknown_key(key, explicit))
    if kind == "literal_error":
        return ConfigError.of(not_a_choice(key, error["input"], config.choices(key)))
    context |= {name: f"{limit:g}" for name, limit in context.items() if isinstance(limit, float)}
    for name in {"min_length", "max_length"} & context.keys():
        context[name] = counted(context[name], "character")
    expected = EXPECTED.get(kind, error["msg"][:1].lower() + error["msg"][1:]).format(**context)
    return invalid_value(key, "missing" if kind == "missing" else short_repr(error["input"]), expected)


def invalid_value(key: str, value: str, expected: str) -> ConfigError:
    message = f"{KeyName(key)} is {value}; expected {expected}"
    return ConfigError(message, key=key, code="invalid-value", values={"expected": expected})


def dotted(location: Sequence[int | str]) -> str:
    """The dotted name of a key: ('model', 'hidden') is model.hidden; positions in a list are left out."""
    return ".".join(str(part) for part in location if not isinstance(part, int))
