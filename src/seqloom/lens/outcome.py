"""How good a model turned out, from a run's scores.json: each part that is there and makes sense."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from seqloom.views.tolerant import finite, items, number, table, whole, words

SCORES, STEPS = 40, 100  # the most that is read of each


@dataclass(frozen=True)
class Score:
    """A figure of merit on validation and test data."""

    name: str
    valid: float | None
    test: float | None


@dataclass(frozen=True)
class Outcome:
    """All that scores.json says; `valid` and `details` as they stand there, for the task's own report."""

    chosen_by: str = ""
    best_step: int | None = None
    averaged: tuple[int, ...] = ()  # the steps whose weights' mean was kept; none if it was not
    scores: tuple[Score, ...] = ()
    cost: Mapping[str, float] = field(default_factory=dict)
    valid: Mapping[str, object] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)


def outcome(written: Mapping[str, object]) -> Outcome:
    """The outcome that scores.json describes.

    >>> outcome({"valid": {"accuracy": 0.9}, "details": "?"}).scores
    (Score(name='accuracy', valid=0.9, test=None),)
    """
    valid, test, details = (table(written.get(key)) for key in ("valid", "test", "details"))
    names = dict.fromkeys([*valid, *test])
    cost = {key: value for key, one in table(written.get("cost")).items() if (value := finite(one)) is not None}
    return Outcome(
        chosen_by=words(written.get("chosen_by"), 60),
        best_step=whole(written.get("best_step")),
        averaged=_averaged(table(written.get("averaged"))),
        scores=tuple(_scores(list(names)[:SCORES], valid, test)),
        cost=cost,
        valid=valid,
        details=details,
    )


def _averaged(told: Mapping[str, object]) -> tuple[int, ...]:
    steps = (whole(step) for step in items(told.get("steps"), STEPS))
    return tuple(step for step in steps if step is not None) if told.get("kept") is True else ()


def _scores(names: list[str], valid: Mapping[str, object], test: Mapping[str, object]) -> list[Score]:
    scores = [Score(words(name, 60), number(valid.get(name)), number(test.get(name))) for name in names]
    return [score for score in scores if score.valid is not None or score.test is not None]
