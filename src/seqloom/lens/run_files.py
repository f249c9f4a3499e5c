"""The files in which training records a run: the log of events (metrics.jsonl) and the final scores (scores.json).

Both may be cut short by a crash or come from a stranger: invalid values are left out.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, PlainValidator

from seqloom.core.safe_open import open_regular
from seqloom.training.events import Disqualified, Sample, Skip
from seqloom.views.downsample import Downsampler, EvenSample
from seqloom.views.figure import Points
from seqloom.views.format import byte_size, rounded
from seqloom.views.lenient import finite, integer, items, mapping, number, string

MAX_POINTS = 2000  # of a curve
MAX_SAMPLES, MAX_SKIPS, MAX_RESUMES, MAX_DISQUALIFIED = 12, 100, 20, 10
MAX_SCORES, MAX_VALIDATION_SCORES, MAX_AVERAGED = 40, 24, 100
MAX_TEXT = 2000  # characters of a sample
MAX_LINE, MAX_LOG = 2**20, 2**30  # bytes; the log of millions of steps is smaller


# Final scores ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FinalScore:
    """A score on validation and test data."""

    name: str
    valid: float | None
    test: float | None


def _averaged_steps(value: object) -> tuple[int, ...]:
    average = mapping(value)
    steps = map(integer, items(average.get("steps"), MAX_AVERAGED)) if average.get("kept") is True else ()
    return tuple(step for step in steps if step is not None)


def _better_greedy_score(value: object) -> float | None:
    comparison = mapping(value)
    return finite(comparison.get("score")) if comparison.get("better") is True else None


def _finite_values(value: object) -> dict[str, float]:
    return {name: result for name, item in mapping(value).items() if (result := finite(item)) is not None}


Values = Annotated[Mapping[str, Any], PlainValidator(mapping)]


class FinalScores(BaseModel):
    """The contents of scores.json.

    loss_margin: only validations whose loss was at most this above the lowest could be selected
    averaged: the steps whose weights were averaged, if the run kept the average
    greedy: the score that selects with greedy search, if it is better than with the run's beam
    valid, test, details: as they are in the file, for the task's own report

    >>> FinalScores.model_validate({"valid": {"accuracy": 0.9}, "details": "?"}).scores
    (FinalScore(name='accuracy', valid=0.9, test=None),)
    """

    chosen_by: Annotated[str, PlainValidator(lambda value: string(value, 60))] = ""
    loss_margin: Annotated[float | None, PlainValidator(finite)] = None
    best_step: Annotated[int | None, PlainValidator(integer)] = None
    greedy: Annotated[float | None, PlainValidator(_better_greedy_score)] = None
    averaged: Annotated[tuple[int, ...], PlainValidator(_averaged_steps)] = ()
    cost: Annotated[Mapping[str, float], PlainValidator(_finite_values)] = {}
    valid: Values = {}
    test: Values = {}
    details: Values = {}

    @property
    def scores(self) -> tuple[FinalScore, ...]:
        names = list(dict.fromkeys([*self.valid, *self.test]))[:MAX_SCORES]
        scores = [
            FinalScore(string(name, 60), number(self.valid.get(name)), number(self.test.get(name))) for name in names
        ]
        return tuple(score for score in scores if score.valid is not None or score.test is not None)


# The log --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ending:
    """How a run ended: finished, stopped for a reason, or open (still running, or crashed)."""

    kind: Literal["finished", "stopped", "open"]
    step: int
    reason: str = ""


@dataclass
class History:
    """The events of a run, downsampled.

    curves: (step, value) by name: loss, lr, gradient, clipped, tokens_per_second; validation scores: "valid.NAME"
    samples: texts that the model generated, spread over the run
    skipped: steps without an update, because the loss or gradient was not finite; at most MAX_SKIPS
    best: the scores of the best validation, at `best_step`; without that, of the average if it is the best
    disqualified: validations that were the best until a later, lower loss; at most MAX_DISQUALIFIED
    start: time, device and number of parameters, unchecked
    """

    curves: Mapping[str, Points] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    skipped: tuple[Skip, ...] = ()
    skip_count: int = 0
    best_step: int | None = None
    best: Mapping[str, float] = field(default_factory=dict)
    disqualified: tuple[Disqualified, ...] = ()
    resumes: tuple[int, ...] = ()
    start: Mapping[str, object] = field(default_factory=dict)
    epoch: float | None = None
    tokens: float | None = None
    seconds: float | None = None
    ending: Ending | None = None
    notes: tuple[str, ...] = ()


def read_history(path: Path) -> History:
    """The history in a log; an empty one if there is no file."""
    reader = _LogReader()
    try:
        for line, line_number in _lines(path, reader):
            try:
                event = mapping(json.loads(line))
            except (ValueError, RecursionError):
                reader.add_unreadable(line_number)
                continue
            reader.add(event)
    except FileNotFoundError:
        return History()
    except OSError as error:
        reader.notes.append(f"{path.name} can't be read to its end: {error.strerror or error}.")
    return reader.finish(path.name)


def _lines(path: Path, reader: "_LogReader") -> Iterator[tuple[bytes, int]]:
    """Lines with their numbers. A line that is too long, and the end of a log that is too large, are left out."""
    line_number, continues = 1, False
    with open_regular(path) as file:
        while line := file.readline(MAX_LINE):
            if file.tell() > MAX_LOG:
                reader.notes.append(f"{path.name}: only its first {byte_size(MAX_LOG)} were read.")
                return
            complete = line.endswith(b"\n")
            if complete or len(line) < MAX_LINE:
                if not continues and line.strip():
                    yield line, line_number
            elif not continues:
                reader.add_unreadable(line_number)
            continues = not complete
            line_number += complete


class _LogReader:
    """Collects the history event by event, in bounded memory."""

    def __init__(self) -> None:
        self.history = History()
        self.curves: dict[str, Downsampler] = {}
        self.samples, self.skips = EvenSample[Sample](MAX_SAMPLES), EvenSample[Skip](MAX_SKIPS)
        self.resumes = EvenSample[int](MAX_RESUMES)
        self.disqualified = EvenSample[Disqualified](MAX_DISQUALIFIED)
        self.notes: list[str] = []
        self.unreadable_count, self.unreadable_lines = 0, list[int]()
        self.step = 0
        self.validated = False  # since the last training step

    def add_unreadable(self, line_number: int) -> None:
        self.unreadable_count += 1
        if self.unreadable_count <= 5:
            self.unreadable_lines.append(line_number)

    def add(self, event: Mapping[str, object]) -> None:
        step, history = integer(event.get("step")), self.history
        if step is None:
            return
        self.step = step
        history.ending = None
        match event.get("event"):
            case "end" | "stop" as kind:
                history.ending = Ending("finished" if kind == "end" else "stopped", step, string(event.get("why"), 200))
                history.seconds = finite(event.get("seconds")) or history.seconds
            case "start":
                keys = ("time", "device", "parameters", "chosen_by", "loss_margin")
                history.start = {key: event.get(key) for key in keys}
            case "resume":
                self.resumes.add(step)
            case "step":
                self._add_training_step(event)
            case "valid":
                self._add_validation(event)
            case "average" if event.get("best") is True:
                history.best_step, history.best = None, _validation_scores(event)
            case "disqualified":
                self._add_disqualified(event)
            case "sample":
                self.samples.add(Sample(step, string(event.get("prompt"), 200), string(event.get("text"), MAX_TEXT)))
            case "skip":
                value = number(event.get("value"))
                self.skips.add(Skip(step, string(event.get("what"), 40), math.nan if value is None else value))

    def _add_training_step(self, event: Mapping[str, object]) -> None:
        history = self.history
        for name in ("loss", "lr", "gradient", "clipped"):
            self._add_point(name, event.get(name))
        history.epoch = finite(event.get("epoch")) or history.epoch
        tokens, seconds = finite(event.get("tokens")), finite(event.get("seconds"))
        if tokens is None or seconds is None:
            return
        new_tokens, new_seconds = tokens - (history.tokens or 0.0), seconds - (history.seconds or 0.0)
        if new_tokens > 0 and new_seconds > 1e-9 and not self.validated:  # validation takes time, and no tokens
            self._add_point("tokens_per_second", new_tokens / new_seconds)
        history.tokens, history.seconds, self.validated = tokens, seconds, False

    def _add_validation(self, event: Mapping[str, object]) -> None:
        self.validated = True
        scores = _validation_scores(event)
        for name, score in scores.items():
            if f"valid.{name}" in self.curves or len(self.curves) < MAX_VALIDATION_SCORES + 5:
                self._add_point(f"valid.{name}", score)
        self.history.epoch = finite(event.get("epoch")) or self.history.epoch
        if event.get("best") is True:
            self.history.best_step = self.step
            self.history.best = scores

    def _add_disqualified(self, event: Mapping[str, object]) -> None:
        former, best, history = integer(event.get("former")), integer(event.get("best")), self.history
        if former is None or (best is None and event.get("best") is not None):
            return
        values = (number(event.get(name)) for name in ("former_loss", "lowest_loss", "loss_margin"))
        loss, lowest, margin = (math.nan if value is None else value for value in values)
        scores = _validation_scores(event)
        self.disqualified.add(Disqualified(self.step, former, loss, lowest, margin, best, scores))
        if best != history.best_step:
            history.best_step, history.best = best, scores

    def _add_point(self, name: str, value: object) -> None:
        if (y := number(value)) is not None:
            self.curves.setdefault(name, Downsampler(MAX_POINTS)).add(self.step, y)

    def finish(self, file: str) -> History:
        if self.unreadable_count:
            numbers = ", ".join(map(str, self.unreadable_lines)) + " and more" * (self.unreadable_count > 5)
            several = self.unreadable_count > 1
            lines = f"{self.unreadable_count:,} lines ({numbers})" if several else f"line {numbers}"
            note = f"{file}: {lines} can't be read, perhaps cut short by a crash: left out."
            self.notes.insert(0, note)
        for name, curve in self.curves.items():
            if curve.dropped:
                values = "value was" if curve.dropped == 1 else "values were"
                self.notes.append(
                    f"{rounded(curve.dropped)} {values} not finite in the curve of {name}: left out there."
                )
        history = self.history
        history.curves = {name: points for name, curve in self.curves.items() if (points := curve.points())}
        history.samples, history.skipped = self.samples.items(), self.skips.items()
        history.disqualified = self.disqualified.items()
        history.skip_count, history.resumes = self.skips.count, self.resumes.items()
        history.ending = history.ending or Ending("open", self.step)
        history.notes = tuple(self.notes)
        return history


def _validation_scores(event: Mapping[str, object]) -> dict[str, float]:
    scores = list(mapping(event.get("scores")).items())[:MAX_VALIDATION_SCORES]
    return {name: score for name, value in scores if (score := number(value)) is not None}
