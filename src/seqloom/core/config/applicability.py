"""Which keys do something where: one that would change nothing is refused where it is said, and is not written down."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from seqloom.core.config.section import PLAIN, AllBut, Condition, KeyInfo, Section, info_of
from seqloom.core.problem import KeyName, Problem

FILES = ("train", "valid", "test")
BY_FILES = "data.corpus"  # without files a corpus is taken


@dataclass(frozen=True)
class Useless:
    """A key that changes nothing, why, and which other key decided that."""

    key: str
    why: str
    decided_by: str
    instead: str = PLAIN.instead

    @property
    def problem(self) -> Problem:
        """For who gave it."""
        return Problem("key-without-use", f"{KeyName(self.key)} has no use {self.why}", self.instead, key=self.key)


def useless(experiment: Section) -> Iterator[Useless]:
    """The keys that change nothing in this experiment; one may come twice."""
    data = getattr(experiment, "data", None)
    has_files = any(getattr(data, name, ()) for name in FILES)
    for dotted, info in infos(experiment).items():
        if info.of_file and not has_files:
            yield Useless(dotted, "without a file to read, and none is named", BY_FILES, info.instead)
        for other, condition in info.only_with.items():
            section, _, name = other.partition(".")
            inside = getattr(experiment, section, None)
            if inside is not None and name in type(inside).model_fields:
                current = getattr(inside, name)
                if not holds(condition, current):
                    yield Useless(
                        dotted,
                        beside(other, current, allowed(condition, experiment.choices(other))),
                        other,
                        info.instead,
                    )


def infos(experiment: Section) -> dict[str, KeyInfo]:
    """What the keys of all sections say of themselves."""
    sections = {name: section for name, section in experiment if isinstance(section, Section)}
    return {
        f"{name}.{key}": info_of(field)
        for name, section in sections.items()
        for key, field in type(section).model_fields.items()
    }


def holds(condition: Condition, current: object) -> bool:
    """Whether this value of the other key gives a key its use."""
    if isinstance(condition, AllBut):
        return current not in condition.values
    return current in (condition() if callable(condition) else condition)


def allowed(condition: Condition, choices: tuple[str, ...]) -> tuple[object, ...]:
    """The values of the other key that go with a key, as far as they can be listed."""
    if isinstance(condition, AllBut):
        return tuple(choice for choice in choices if choice not in condition.values)
    return condition() if callable(condition) else condition


def beside(other: str, current: object, values: tuple[object, ...]) -> str:
    """Which value of the other key is in the way, and which are not.

    >>> from seqloom.core.problem import render
    >>> render(beside("train.schedule", "halve", ("cosine",))), render(beside("model.init", None, ("normal",)))
    ('with train.schedule halve; it goes with cosine', 'without model.init')
    >>> render(beside("decode.beam_size", 4, (1,)))
    'with decode.beam_size 4; it goes with 1'
    """
    words = [str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
    if not current:
        return f"without {KeyName(other)}"
    if not words:
        return f"together with {KeyName(other)}"
    return f"with {KeyName(other, current)}; it goes with {', '.join(words)}"


def has(dotted: str, raw: Mapping[str, object]) -> bool:
    """Whether a key stands among nested values."""
    section, _, name = dotted.partition(".")
    inside = raw.get(section)
    return section in raw and (not name or (isinstance(inside, Mapping) and name in inside))


def without(raw: Mapping[str, object], gone: set[str]) -> dict[str, object]:
    """Nested values, less some dotted keys."""
    return {
        section: {name: item for name, item in inside.items() if f"{section}.{name}" not in gone}
        if isinstance(inside, Mapping)
        else inside
        for section, inside in raw.items()
    }
