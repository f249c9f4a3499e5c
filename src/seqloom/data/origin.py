"""Where the examples of each part come from: files, or an embedded corpus."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from seqloom.data.cache import State, cached, fingerprints, state
from seqloom.data.corpora import CORPORA, default_corpus
from seqloom.data.corpora.versions import made_with
from seqloom.data.examples import Captioned, Labelled, Pair, Sentence
from seqloom.data.files import expand, formats_of, refuse_twice, sides, without_gz
from seqloom.data.lines import Bad, Skipped, refuse
from seqloom.data.readers.captions import read_captions
from seqloom.data.readers.columns import LOOKED_AT, Columns, columns
from seqloom.data.readers.conll import read_conll, read_conllu
from seqloom.data.readers.folder import read_folder
from seqloom.data.readers.jsonl import read_jsonl
from seqloom.data.readers.pairs import read_pairs
from seqloom.data.readers.sides import ROLES, Sides, find_sides
from seqloom.data.readers.table import read_table
from seqloom.data.readers.text import read_text
from seqloom.data.split import PARTS, TEST, TRAIN, VALID
from seqloom.spec.config.data import Data
from seqloom.spec.config.experiment import Experiment
from seqloom.spec.errors import DataError
from seqloom.spec.names import Format, Task


@dataclass(frozen=True)
class Origin:
    """The files of each part, or a corpus; each reading starts from the beginning."""

    task: Task
    data: Data
    seed: int
    files: dict[str, list[Path]]
    prints: dict[str, list[str]]  # SHA-256 of each
    corpus: str | None
    states: dict[Path, State] = field(default_factory=dict)  # of each file, before its content was looked at
    named: dict[str, str] = field(default_factory=dict)  # SHA-256 of what files name (all images), once that is read

    @staticmethod
    def of(experiment: Experiment) -> "Origin":
        """What the config names; nothing named is the task's own corpus."""
        data = experiment.data
        corpus = data.corpus if data.train or data.corpus else default_corpus(experiment.task)
        for part in PARTS:
            refuse_twice(getattr(data, part), experiment.task, data.format)
        files = {part: expand(getattr(data, part)) for part in PARTS}
        readable(files, experiment)
        states = {path: state(path) for paths in files.values() for path in paths}
        prints = {part: fingerprints(paths) for part, paths in files.items()}
        refuse_shared(files, prints)
        return Origin(experiment.task, data, experiment.data.seed, files, prints, corpus, states)

    @staticmethod
    def to_test(experiment: Experiment, files: Sequence[str]) -> "Origin":
        """These files as the part to test on, and nothing else."""
        refuse_twice(files, experiment.task, experiment.data.format)
        parts = {part: expand(files) if part == TEST else [] for part in PARTS}
        readable(parts, experiment)
        return Origin(experiment.task, experiment.data, experiment.data.seed, parts, {}, None)

    def names(self) -> list[str]:
        """Of all files, train first; an example's place names one by its number here."""
        if self.corpus:
            return [self.corpus, *(str(path) for part in PARTS for path in self.files[part])]
        return [str(path) for part in PARTS for path in self.files[part]]

    @property
    def name(self) -> str:
        """What a sentence about all of the data begins with."""
        return (self.names() or ["data"])[0]

    def made_ready(self, make: Callable[[Path], None]) -> Path:
        """The folder that `make` fills from these files, from the cache or now; never from a file that changed."""

        def fill(folder: Path) -> None:
            make(folder)
            self.check_unchanged()

        return cached(self.ingredients(), fill)

    def check_unchanged(self) -> None:
        """A file is looked at first, for its content's fingerprint, and read after: both times it must be the same."""
        for part, paths in self.files.items():
            for path, code in zip(paths, self.prints[part], strict=True):
                if state(path) != self.states[path] and fingerprints([path]) != [code]:
                    raise DataError(path, "the file changed while it was being read", "Try again once it is complete")

    def ingredients(self) -> dict[str, object]:
        """All that decides what is read, for the cache."""
        told: dict[str, object] = {"task": self.task, "contents": self.prints}
        told["data"] = self.data.model_dump(exclude={"train", "valid", "test", "seed"})
        told["forms"] = {part: self.forms(paths) for part, paths in self.files.items()}
        if self.draws:
            told["seed"] = self.seed
        if self.corpus:
            told |= {"corpus": self.corpus, "made_with": made_with(self.corpus)}
        return told

    def forms(self, paths: list[Path]) -> list[str]:
        """How each file is written, which its name may decide; where it is a class, which one; where a side, whose."""
        forms = formats_of(paths, self.task, self.data.format)
        found = list(zip(paths, forms, strict=True))
        target = dict(sides([path for path, form in found if form == "text"]) if self.task == "translate" else ())
        return [
            f"class {without_gz(path).stem}"
            if form == "folder" and path.is_file()
            else f"source of {paths.index(target[path])}"
            if path in target
            else form
            for path, form in found
        ]

    def local(self) -> dict[str, object]:
        """Where the data lay and what they were, for who goes on with the run."""
        return {
            "corpus": self.corpus,
            "files": {
                part: [
                    {"path": str(path.absolute()), "sha256": code}
                    for path, code in zip(paths, self.prints[part], strict=True)
                ]
                for part, paths in self.files.items()
            },
            **self.named,
        }

    def has(self, part: str) -> bool:
        """Whether this part has files of its own."""
        return bool(self.files[part]) or (part == TRAIN and self.corpus is not None)

    def share(self, part: str) -> float:
        """How much of what there is to learn from is kept back for this part."""
        return 0.0 if self.has(part) else {VALID: self.data.valid_share, TEST: self.data.test_share}[part]

    @property
    def draws(self) -> bool:
        """Whether the seed decides anything: a corpus's examples, or which of the files' are kept back."""
        by_content = self.task != "language" and any(self.share(part) for part in (VALID, TEST))
        return self.corpus is not None or by_content

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
            data = self.data
            yield from CORPORA[self.corpus].labelled(self.seed, data.length, data.examples, data.languages)
        paths = self.files[part]
        for path, form in zip(paths, formats_of(paths, "classify", self.data.format), strict=True):
            yield from read_labelled(path, form, self.data, bad)

    def sentences(self, part: str, bad: Bad) -> Iterator[Sentence]:
        """Words with tags."""
        if part == TRAIN and self.corpus:
            yield from CORPORA[self.corpus].sentences(self.seed, self.data.length, self.data.examples)
        paths = self.files[part]
        for path, form in zip(paths, formats_of(paths, "tag", self.data.format), strict=True):
            read = read_conllu if form == "conllu" else read_conll
            yield from read(path, self.data.tag, self.data.max_characters, bad)

    def pairs(self, part: str, bad: Bad) -> Iterator[Pair]:
        """Texts with their translations."""
        data = self.data
        if part == TRAIN and self.corpus:
            languages = data.source_language, data.target_language
            yield from CORPORA[self.corpus].pairs(self.seed, data.length, data.examples, *languages)
        paths = self.files[part]
        yield from read_pairs(list(zip(paths, formats_of(paths, "translate", data.format), strict=True)), data, bad)

    def captions(self, part: str, bad: Bad) -> Iterator[Captioned]:
        """Images of files with captions; a corpus draws its own."""
        paths = self.files[part]
        for path, form in zip(paths, formats_of(paths, "caption", self.data.format), strict=True):
            yield from read_captions(path, form, self.data, bad)

    def tokeniser(self) -> str:
        """What a token is: as said, or by the first texts. One word says little, its letters more."""
        if self.data.tokeniser is not None:
            return self.data.tokeniser
        if self.task == "language" or self.corpus == "numbers":
            return "character"
        first = [len(example.text.split()) for example in islice(self.labelled(TRAIN, Skipped()), LOOKED_AT)]
        return "character" if sorted(first)[len(first) // 2 : len(first) // 2 + 1] <= [1] else "word"

    def saying_columns(self) -> "Origin":
        """With the columns that are read said in the config, so that every later file is read the same way."""
        if (found := self.columns()) is None:
            return self
        return replace(self, data=found.said_in(self.data).model_copy(update={"header": found.header}))

    def columns(self) -> Columns | Sides | None:
        """Which columns are read, of the first training file that is a table, if one is."""
        paths = self.files[TRAIN]
        forms = formats_of(paths, self.task, self.data.format)
        for path, form in zip(paths, forms, strict=True):
            if form in ("csv", "tsv", "jsonl"):
                roles = ROLES.get(self.task)
                return find_sides(path, form, self.data, roles) if roles else columns(path, self.data)
        return None


def refuse_shared(files: dict[str, list[Path]], prints: dict[str, list[str]]) -> None:
    """A score on what was learnt is no score: no file may be in two parts, under whatever name."""
    seen: dict[str, tuple[str, Path]] = {}
    for part in PARTS:
        for path, code in zip(files[part], prints[part], strict=True):
            other, where = seen.setdefault(code, (part, path))
            if other != part:
                what = f"the same content as {where}, which is in the {other} part"
                raise DataError(path, what, f"Name another file for {part}, or leave it out")


def readable(files: dict[str, list[Path]], experiment: Experiment) -> None:
    """A sentence if the task can't read one of these files."""
    for found in files.values():
        formats_of(found, experiment.task, experiment.data.format)


def read_labelled(path: Path, form: Format, data: Data, bad: Bad) -> Iterator[Labelled]:
    """The examples of one file or folder, by its format."""
    if form == "folder":
        return read_folder(path, data.max_characters, bad)
    found = columns(path, data)
    if form == "csv" or form == "tsv":
        return read_table(path, form, found, data, bad)
    return read_jsonl(path, found, data, bad)
