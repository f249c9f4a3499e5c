"""How good a model turned out, from a run's scores.json: each part that is there and makes sense."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from seqloom.core.safe_open import open_regular
from seqloom.views.downsample import Downsampler, EvenSample
from seqloom.views.figure import Points
from seqloom.views.format import byte_size, short
from seqloom.views.lenient import finite, integer, items, mapping, number, string

MAX_SCORES, MAX_STEPS = 40, 100  # the most that is read of each


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
    valid, test, details = (mapping(written.get(key)) for key in ("valid", "test", "details"))
    names = dict.fromkeys([*valid, *test])
    cost = {key: value for key, one in mapping(written.get("cost")).items() if (value := finite(one)) is not None}
    return Outcome(
        chosen_by=string(written.get("chosen_by"), 60),
        best_step=integer(written.get("best_step")),
        averaged=_averaged(mapping(written.get("averaged"))),
        scores=tuple(_scores(list(names)[:MAX_SCORES], valid, test)),
        cost=cost,
        valid=valid,
        details=details,
    )


def _averaged(told: Mapping[str, object]) -> tuple[int, ...]:
    steps = (integer(step) for step in items(told.get("steps"), MAX_STEPS))
    return tuple(step for step in steps if step is not None) if told.get("kept") is True else ()


def _scores(names: list[str], valid: Mapping[str, object], test: Mapping[str, object]) -> list[Score]:
    scores = [Score(string(name, 60), number(valid.get(name)), number(test.get(name))) for name in names]
    return [score for score in scores if score.valid is not None or score.test is not None]


POINTS = 2000  # of a curve
MAX_VALIDATION_SCORES = 24  # that validation may name
SAMPLES = 12
SKIPS = 100
TEXT = 2000  # characters of a sample
LINE = 2**20  # bytes of a line; a longer one is no event of ours
LARGEST = 2**30  # bytes of a file; millions of steps take less


@dataclass(frozen=True)
class Sample:
    """What a language model wrote at some step."""

    step: int
    prompt: str
    text: str


@dataclass(frozen=True)
class Skip:
    """A step that was not taken, because something was not finite."""

    step: int
    what: str
    value: str


@dataclass(frozen=True)
class Ending:
    """How a run ended: finished, stopped for a reason, or open (still running, or crashed)."""

    kind: Literal["finished", "stopped", "open"]
    step: int
    why: str = ""


@dataclass(frozen=True)
class History:
    """The events of a run, thinned: `curves` of training by name, of validation by "valid." and name."""

    curves: Mapping[str, Points] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    skipped: tuple[Skip, ...] = ()
    skip_count: int = 0
    best_step: int | None = None
    best: Mapping[str, float] = field(default_factory=dict)
    resumes: tuple[int, ...] = ()
    start: Mapping[str, object] = field(default_factory=dict)
    epoch: float | None = None
    tokens: float | None = None
    seconds: float | None = None
    ending: Ending | None = None
    notes: tuple[str, ...] = ()


def read_history(path: Path) -> History:
    """The history in a file; an empty one if there is no file."""
    reader = _Reader()
    try:
        for line, place in _lines(path, reader):
            try:
                event = mapping(json.loads(line))
            except (ValueError, RecursionError):
                reader.unread.add(place)
                continue
            reader.take(event)
    except FileNotFoundError:
        return History()
    except OSError as error:
        reader.notes.append(f"{path.name} can't be read to its end: {error.strerror or error}.")
    return reader.history(path.name)


def _lines(path: Path, reader: "_Reader") -> Iterator[tuple[bytes, int]]:
    """Lines with their numbers; one that is too long is passed over, and so is all that follows too many."""
    place, inside = 1, False
    with open_regular(path) as file:
        while line := file.readline(LINE):
            if file.tell() > LARGEST:
                reader.notes.append(f"{path.name}: only its first {byte_size(LARGEST)} were read.")
                return
            ended = line.endswith(b"\n")
            if ended or len(line) < LINE:
                if not inside and line.strip():
                    yield line, place
            elif not inside:
                reader.unread.add(place)
            inside = not ended
            place += ended


class _Reader:
    """Takes one event after another."""

    def __init__(self) -> None:
        self.curves: dict[str, Downsampler] = {}
        self.samples = EvenSample[Sample](SAMPLES)
        self.skips = EvenSample[Skip](SKIPS)
        self.resumes = EvenSample[int](20)
        self.unread = _Unread()
        self.notes: list[str] = []
        self.best_step: int | None = None
        self.best: dict[str, float] = {}
        self.start: Mapping[str, object] = {}
        self.epoch: float | None = None
        self.tokens: float | None = None
        self.seconds: float | None = None
        self.ending: Ending | None = None
        self.step = 0
        self.measured = False  # on validation data, since the last line on training

    def take(self, event: Mapping[str, object]) -> None:
        step = integer(event.get("step"))
        if step is None:
            return
        self.step = step
        kind = event.get("event")
        if kind in ("end", "stop"):
            self.ending = Ending("finished" if kind == "end" else "stopped", step, string(event.get("why"), 200))
            self.seconds = finite(event.get("seconds")) or self.seconds
            return
        self.ending = None
        match kind:
            case "start":
                self.start = {key: event.get(key) for key in ("time", "device", "parameters")}
            case "resume":
                self.resumes.add(step)
            case "step":
                self._trained(event)
            case "valid":
                self._validated(event)
            case "sample":
                self.samples.add(Sample(step, string(event.get("prompt"), 200), string(event.get("text"), TEXT)))
            case "skip":
                self.skips.add(Skip(step, string(event.get("what"), 40), string(event.get("value"), 40)))

    def _trained(self, event: Mapping[str, object]) -> None:
        for name in ("loss", "lr", "gradient", "clipped"):
            self._add(name, event.get(name))
        self.epoch = finite(event.get("epoch")) or self.epoch
        tokens, seconds = finite(event.get("tokens")), finite(event.get("seconds"))
        if tokens is None or seconds is None:
            return
        since = tokens - (self.tokens or 0.0), seconds - (self.seconds or 0.0)
        if since[0] > 0 and since[1] > 1e-9 and not self.measured:  # else some of that time went into measuring
            self._add("tokens_per_second", since[0] / since[1])
        self.tokens, self.seconds, self.measured = tokens, seconds, False

    def _validated(self, event: Mapping[str, object]) -> None:
        self.measured = True
        scores = dict(list(mapping(event.get("scores")).items())[:MAX_VALIDATION_SCORES])
        for name, score in scores.items():
            if f"valid.{name}" in self.curves or len(self.curves) < MAX_VALIDATION_SCORES + 5:
                self._add(f"valid.{name}", score)
        self.epoch = finite(event.get("epoch")) or self.epoch
        if event.get("best") is True:
            self.best_step = self.step
            self.best = {name: score for name, value in scores.items() if (score := number(value)) is not None}

    def _add(self, name: str, value: object) -> None:
        read = number(value)
        if read is not None:
            self.curves.setdefault(name, Downsampler(POINTS)).add(self.step, read)

    def history(self, file: str) -> History:
        for name, curve in self.curves.items():
            if curve.dropped:
                values = "value was" if curve.dropped == 1 else "values were"
                self.notes.append(f"{short(curve.dropped)} {values} not finite in the curve of {name}: left out there.")
        return History(
            curves={name: points for name, curve in self.curves.items() if (points := curve.points())},
            samples=self.samples.items(),
            skipped=self.skips.items(),
            skip_count=self.skips.count,
            best_step=self.best_step,
            best=self.best,
            resumes=self.resumes.items(),
            start=self.start,
            epoch=self.epoch,
            tokens=self.tokens,
            seconds=self.seconds,
            ending=self.ending or Ending("open", self.step),
            notes=(*self.unread.notes(file), *self.notes),
        )


class _Unread:
    """Lines that could not be read: the numbers of the first few, and how many."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[int] = []

    def add(self, place: int) -> None:
        self.count += 1
        if self.count <= 5:
            self.first.append(place)

    def notes(self, file: str) -> tuple[str, ...]:
        if not self.count:
            return ()
        places = ", ".join(map(str, self.first)) + (" and more" if self.count > len(self.first) else "")
        which = f"line {places}" if self.count == 1 else f"{self.count:,} lines ({places})"
        return (f"{file}: {which} can't be read, perhaps cut short by a crash: left out.",)
