"""The files that the config names, each with its format; what can't be found or read is written down, and left out."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from seqloom.data.cache import fingerprints
from seqloom.data.corpora import default_corpus
from seqloom.data.files import Format, Task, expand, formats_of, refuse_twice, without_gz
from seqloom.data.inspection.gathered import Gathered
from seqloom.data.origin import refuse_shared
from seqloom.data.split import PARTS, TEST, TRAIN, VALID, part_of
from seqloom.spec.config.data import Data
from seqloom.spec.config.experiment import Experiment
from seqloom.spec.errors import DataError


@dataclass(frozen=True)
class Sources:
    """What there is to read. `data` skips bad lines, so that reading goes on after the first."""

    task: Task
    data: Data
    seed: int
    files: dict[str, list[tuple[Path, Format]]]
    corpus: str | None

    def given(self, part: str) -> bool:
        """Whether files were named for this part, even if none of them can be read."""
        return bool(getattr(self.data, part))

    @property
    def shares(self) -> tuple[float, float]:
        """How much of the training files is kept back for validation and test."""
        valid = 0.0 if self.given(VALID) else self.data.valid_share
        return valid, 0.0 if self.given(TEST) else self.data.test_share

    def part_of(self, content: str, part: str) -> str:
        """The part of an example that stands in the files of a part."""
        return part_of(content, self.seed, *self.shares) if part == TRAIN else part

    def all(self) -> Iterator[tuple[str, Path, Format]]:
        """Each file with its part."""
        for part in PARTS:
            for path, form in self.files[part]:
                yield part, path, form

    def origin_of(self, part: str) -> str:
        """Where a part without files of its own came from, for the summary."""
        if part == TRAIN or self.given(part):
            return ""
        return f" (kept back from the training files: {self.shares[part == TEST]:.0%}, by content)"

    @property
    def name(self) -> str:
        """What a sentence about all of the data begins with."""
        return self.corpus or next((str(path) for _, path, _ in self.all()), "data")


def sources(experiment: Experiment, found: Gathered) -> Sources:
    """What the config names; nothing named is the task's own corpus."""
    data = experiment.data
    corpus = data.corpus if data.train or data.corpus else default_corpus(experiment.task)
    files = {part: with_formats(named(getattr(data, part), experiment, found), experiment, found) for part in PARTS}
    reading = data.model_copy(update={"on_bad_line": "skip"})
    told = Sources(experiment.task, reading, experiment.data.seed, files, corpus)
    paths = {part: [path for path, _ in some] for part, some in files.items()}
    try:
        refuse_shared(paths, {part: fingerprints(some) for part, some in paths.items()})
    except DataError as error:
        found.refused(error)
    describe(told, found)
    return told


def named(patterns: tuple[str, ...], experiment: Experiment, found: Gathered) -> list[Path]:
    """The files of one part, each once."""
    paths: dict[Path, Path] = {}
    try:
        refuse_twice(patterns, experiment.task, experiment.data.format)
    except DataError as error:
        found.refused(error)
    for pattern in patterns:
        try:
            for path in expand([pattern]):
                paths.setdefault(path.absolute(), path)
        except DataError as error:
            found.refused(error)
    return list(paths.values())


def with_formats(paths: list[Path], experiment: Experiment, found: Gathered) -> list[tuple[Path, Format]]:
    """Those files that the task can read, with their formats."""
    task, given = experiment.task, experiment.data.format
    classes = [path for path in paths if without_gz(path).suffix.lower() == ".txt"]
    if task == "classify" and given == "auto" and len(classes) == len(paths) > 1:
        left: Format | Literal["auto"] = (
            "folder"  # what the others still are when one of several .txt files has been left out
        )
    else:
        left = given
    while paths:
        try:
            return list(zip(paths, formats_of(paths, task, given), strict=True))
        except DataError as error:
            found.refused(error)
            given = left
            others = [path for path in paths if error.place != str(path) and not error.place.startswith(f"{path}:")]
            paths = others if len(others) < len(paths) else []
    return []


def describe(told: Sources, found: Gathered) -> None:
    """The files and formats, for the summary."""
    if told.corpus:
        found.summary.append(("corpus", f"{told.corpus} (embedded)"))
    for part in PARTS:
        files = told.files[part]
        if files:
            few = ", ".join(str(path) for path, _ in files[:3]) + (
                f", … ({len(files)} files)" if len(files) > 3 else ""
            )
            forms = ", ".join(dict.fromkeys(form for _, form in files))
            found.summary.append((f"{part} files", f"{few} ({forms})"))
