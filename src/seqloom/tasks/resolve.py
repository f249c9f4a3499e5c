"""From nested values to an experiment: which task and family, which keys have no use there, and what is wrong."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from seqloom.models.custom import CUSTOM, Build, Unnamed, as_build, family_of
from seqloom.models.registry import ARCHITECTURES
from seqloom.spec.config.applicability import has, useless, without
from seqloom.spec.config.layers import merged, section_of
from seqloom.spec.config.section import NONE, spelt_out
from seqloom.spec.errors import ConfigError
from seqloom.spec.near import near
from seqloom.spec.problem import KeyName
from seqloom.spec.registry import PERHAPS_OWN, not_a_choice, unknown
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.keys import Key, all_keys, without_aliases
from seqloom.tasks.registry import TASKS
from seqloom.tasks.validation_errors import explained, has_no_use

Nested = Mapping[str, object]


def resolve(raw: Nested, above: Nested) -> Experiment:
    """An experiment, or one sentence on what is wrong; `above` lies over `raw`."""
    raw, above = without_aliases(raw), without_aliases(above)
    build = builder_in(merged(raw, above))
    if build is not None:
        raw, above = (with_arch_custom(each) for each in (raw, above))
    both = merged(raw, above)
    config = config_of(both, build)
    gone: set[str] = set()
    for key in foreign(both, config):
        if not is_none(key, both) and ("task" not in above or has_value(key, above)):
            raise ConfigError.of(has_no_use(key, str(both["task"])))
        gone.add(key.dotted)
    whole = validated(config, without(both, gone), both)
    idle: set[str] = set()
    for each in useless(whole):
        if is_said(each.key, above, whole) or (is_said(each.key, raw, whole) and not has(each.decided_by, above)):
            raise ConfigError.of(each.problem)
        if is_said(each.key, raw, whole):
            idle.add(each.key)
    return validated(config, merged(without(raw, gone | idle), without(above, gone)), both) if idle else whole


def builder_in(raw: Nested) -> Build | None:
    """The function that builds the layers, if one stands in the place of an architecture's name."""
    model = raw.get("model")
    arch = model.get("arch") if isinstance(model, Mapping) else None
    return as_build(arch) if callable(arch) else None


def with_arch_custom(raw: Nested) -> Nested:
    """Nested values with the word for such a function in its place."""
    return merged(raw, {"model": {"arch": CUSTOM}}) if has("model.arch", raw) else raw


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
        return config.with_family(family_of(build, Unnamed))
    if not isinstance(arch, str) or arch not in ARCHITECTURES:
        message, advice = unknown(KeyName("model.arch"), arch, ARCHITECTURES)
        if near(str(arch), ARCHITECTURES) is None:
            advice += f". {PERHAPS_OWN}"
        values = {"value": arch, "choices": list(ARCHITECTURES)}
        raise ConfigError(message, advice, key="model.arch", code="unknown-name", values=values)
    return config.with_family(ARCHITECTURES[arch].family)


def foreign(raw: Nested, config: type[Experiment]) -> Iterator[Key]:
    """The keys that were said, and that only other tasks have."""
    sections = config.sections()
    for key in all_keys().values():
        kind = sections.get(key.part)
        missing = kind is None or key.name not in kind.model_fields
        if missing and has(key.dotted, raw) and str(raw["task"]) not in key.tasks:
            yield key


def is_none(key: Key, raw: Nested) -> bool:
    """Whether a key is said to be none."""
    value = section_of(raw, key.part)[key.name]
    return value is None or (value == NONE and key.kind in (int, float))


def has_value(key: Key, raw: Nested) -> bool:
    """Whether a key stands there with a value that is not none."""
    return has(key.dotted, raw) and not is_none(key, raw)


def validated(config: type[Experiment], values: Nested, said: Nested) -> Experiment:
    """As the schema says, or one sentence."""
    try:
        return config.model_validate(dict(values))
    except ValidationError as wrong:
        raise explained(wrong, said, config) from None


def is_said(key: str, raw: Nested, whole: Experiment) -> bool:
    """Whether a key of this experiment stands there with a value that is not none."""
    section, _, name = key.partition(".")
    return has(key, raw) and spelt_out(type(getattr(whole, section)), section_of(raw, section))[name] is not None
