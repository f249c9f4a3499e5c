"""Where the examples of each part come from: files, or an embedded corpus."""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from seqloom.data.cache import fingerprints
from seqloom.data.corpora import CORPORA, default_corpus
from seqloom.data.examples import Labelled, Sentence
from seqloom.data.files import Task, expand, format_of
from seqloom.data.lines import Bad, Skipped, refuse
from seqloom.data.readers.columns import Columns, columns
from seqloom.data.readers.conll import read_conll, read_conllu
from seqloom.data.readers.folder import read_folder
from seqloom.data.readers.jsonl import read_jsonl
from seqloom.data.readers.table import read_table
from seqloom.data.readers.text import read_text
from seqloom.data.split import PARTS, TRAIN
from seqloom.spec.config.data import Data
from seqloom.spec.config.experiment import Experiment


@dataclass(frozen=True)
class Origin:
    """The files of each part, or a corpus; each reading starts from the beginning."""

    task: Task
    data: Data
    seed: int
    files: dict[str, list[Path]]
    corpus: str | None

    @staticmethod
    def of(experiment: Experiment) -> "Origin":
        """What the config names; nothing named is the task's own corpus."""
        data = experiment.data
        corpus = data.corpus if data.train or data.corpus else default_corpus(experiment.task)
        files = {part: expand(getattr(data, part)) for part in PARTS}
        for found in files.values():
            for path in found:
                format_of(path, experiment.task, data.format)  # a sentence if the task can't read it
        return Origin(experiment.task, data, experiment.seed, files, corpus)

    def names(self) -> list[str]:
        """Of all files, train first; an example's place names one by its number here."""
        if self.corpus:
            return [self.corpus, *(str(path) for part in PARTS for path in self.files[part])]
        return [str(path) for part in PARTS for path in self.files[part]]

    def ingredients(self) -> dict[str, object]:
        """All that decides what is read, for the cache."""
        contents = {part: list(fingerprints(paths).values()) for part, paths in self.files.items()}
        told: dict[str, object] = {"task": self.task, "seed": self.seed, "contents": contents}
        told["data"] = self.data.model_dump(exclude={"train", "valid", "test"})
        if self.corpus:
            told |= {"corpus": self.corpus, "python": platform.python_version(), "num2words": version("num2words")}
        return told

    def has(self, part: str) -> bool:
        """Whether this part has files of its own."""
        return bool(self.files[part]) or (part == TRAIN and self.corpus is not None)

    def bad(self) -> Bad:
        """What to do with a bad line."""
        return Skipped() if self.data.on_bad_line == "skip" else refuse

    def text(self, part: str) -> Iterator[str]:
        """Plain text in chunks."""
        if part == TRAIN and self.corpus:
            return CORPORA[self.corpus].text(self.seed, self.data.length, self.data.examples)
        return read_text(self.files[part])

    def labelled(self, part: str, bad: Bad) -> Iterator[Labelled]:
        """Texts with labels."""
        if part == TRAIN and self.corpus:
            yield from CORPORA[self.corpus].labelled(self.seed, self.data.length, self.data.examples)
        for path in self.files[part]:
            yield from read_labelled(path, self.data, bad)

    def sentences(self, part: str, bad: Bad) -> Iterator[Sentence]:
        """Words with tags."""
        if part == TRAIN and self.corpus:
            yield from CORPORA[self.corpus].sentences(self.seed, self.data.length, self.data.examples)
        for path in self.files[part]:
            yield from read_sentences(path, self.data, bad)

    def columns(self) -> Columns | None:
        """Which columns are read, of the first training file, if it has any."""
        first = next(iter(self.files[TRAIN]), None)
        if first is None or format_of(first, self.task, self.data.format) not in ("csv", "tsv", "jsonl"):
            return None
        return columns(first, self.data)


def read_labelled(path: Path, data: Data, bad: Bad) -> Iterator[Labelled]:
    """The examples of one file or folder, by its format."""
    form = format_of(path, "classify", data.format)
    if form == "folder":
        return read_folder(path, data.max_characters, bad)
    found = columns(path, data)
    if form == "csv" or form == "tsv":
        return read_table(path, form, found, data, bad)
    return read_jsonl(path, found, data, bad)


def read_sentences(path: Path, data: Data, bad: Bad) -> Iterator[Sentence]:
    """The sentences of one file, by its format."""
    read = read_conllu if format_of(path, "tag", data.format) == "conllu" else read_conll
    return read(path, data.tag, data.max_characters, bad)


def all_text(origin: Origin, parts: Sequence[str]) -> Iterator[str]:
    """The text of several parts, one after another."""
    for part in parts:
        yield from origin.text(part)
