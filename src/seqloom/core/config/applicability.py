"""Keys that have no use, given the other keys: setting one is an error, and saved configs leave them out."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from seqloom.core.config.section import DEFAULT_INFO, AllBut, Condition, Section, info_of
from seqloom.core.problem import KeyName, Problem

FILES = ("train", "valid", "test")


class UnusedKey(NamedTuple):
    """A key that has no effect, the other key whose value causes that, and the error for it."""

    key: str
    decided_by: str
    problem: Problem


def without_effect(key: str, reason: str, advice: str = DEFAULT_INFO.instead) -> Problem:
    return Problem("key-without-use", f"{KeyName(key)} has no effect {reason}", advice, key=key)


def unused_keys(experiment: Section) -> Iterator[UnusedKey]:
    """The keys that have no effect in this experiment. A key may be yielded twice."""
    sections = {name: section for name, section in experiment if isinstance(section, Section)}
    has_files = any(getattr(sections.get("data"), name, ()) for name in FILES)
    for key, info in (
        (f"{name}.{key}", info_of(field))
        for name, section in sections.items()
        for key, field in type(section).model_fields.items()
    ):
        if info.of_file and not has_files:
            problem = without_effect(key, "without a file to read, and none is named", info.instead)
            yield UnusedKey(key, "data.corpus", problem)
        for other, condition in info.only_with.items():
            section_name, _, name = other.partition(".")
            section = sections.get(section_name)
            if section is not None and name in type(section).model_fields:
                current = getattr(section, name)
                if not holds(condition, current):
                    reason = conflict_reason(other, current, allowed(condition, experiment.choices(other)))
                    yield UnusedKey(key, other, without_effect(key, reason, info.instead))


def holds(condition: Condition, current: object) -> bool:
    """Whether the current value of the other key meets a condition."""
    if isinstance(condition, AllBut):
        return current not in condition.values
    return current in (condition() if callable(condition) else condition)


def allowed(condition: Condition, choices: tuple[str, ...]) -> tuple[object, ...]:
    """The values that meet a condition; for `AllBut`, among the choices."""
    if isinstance(condition, AllBut):
        return tuple(choice for choice in choices if choice not in condition.values)
    return condition() if callable(condition) else condition


def conflict_reason(other: str, current: object, values: tuple[object, ...]) -> str:
    """The value of the other key with which a key has no effect, and the values with which it has one.

    >>> from seqloom.core.problem import render
    >>> (
    ...     render(conflict_reason("train.schedule", "halve", ("cosine",))),
    ...     render(conflict_reason("model.init", None, ("normal",))),
    ... )
    ('with train.schedule halve; it goes with cosine', 'without model.init')
    >>> render(conflict_reason("decode.beam_size", 4, (1,))), conflict_reason("data.train", ("pairs.tsv",), ((),))
    ('with decode.beam_size 4; it goes with 1', 'together with pairs.tsv')
    """
    if other == "data.train" and isinstance(current, tuple) and current:  # a file may be named without this key
        return f"together with {current[0]}"
    words = [str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
    if not current:
        return f"without {KeyName(other)}"
    if not words:
        return f"together with {KeyName(other)}"
    return f"with {KeyName(other, current)}; it goes with {', '.join(words)}"


def has_key(dotted: str, raw: Mapping[str, object]) -> bool:
    """Whether nested values set a key."""
    section, _, name = dotted.partition(".")
    values = raw.get(section)
    return section in raw and (not name or (isinstance(values, Mapping) and name in values))


def without_keys(raw: Mapping[str, object], dropped: set[str]) -> dict[str, object]:
    """Nested values without some dotted keys."""
    return {
        section: {name: value for name, value in values.items() if f"{section}.{name}" not in dropped}
        if isinstance(values, Mapping)
        else values
        for section, values in raw.items()
    }
