"""Where the examples of a run come from: files, formats, columns and splits, resolved once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from seqloom.core.config.data import DataSection, RowData
from seqloom.core.problem import DataError, UserError
from seqloom.data.cache import State, fingerprints, state
from seqloom.data.columns import HEAD, Columns, find_columns, read_rows
from seqloom.data.formats import Format, TableData, formats_of, refuse_twice
from seqloom.data.parallel_text import pair_up
from seqloom.data.paths import expand, without_gz
from seqloom.data.records import Record, Value
from seqloom.data.spec import DataSpec
from seqloom.data.split import SPLITS, TEST, TRAIN, VALID, split_by_content
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error, read_text

OnProblem = Callable[[UserError], None]
"""What to do with a problem of the data: raise it, or note it and go on without the file."""


class Input(NamedTuple):
    """What a reader is called with: one file or folder, or the two files of a parallel text."""

    split: str
    paths: tuple[Path, ...]
    format: Format
    columns: Columns | None  # of a table
    readable: bool = True  # else there was a problem, and nothing is read of it

    @property
    def path(self) -> Path:
        """The first file."""
        return self.paths[0]


@dataclass(frozen=True)
class DataSource:
    """The files of each split, or a corpus; each reading starts from the beginning.

    data: the section of the config, with the columns that are read named in it
    hashes: SHA-256 of each file; none where nothing is prepared from them
    states: of each file, before its content was looked at
    named: SHA-256 of what files name (all images), once that is read
    """

    data_spec: DataSpec
    data: DataSection
    files: dict[str, tuple[Path, ...]]
    corpus: str | None
    inputs: tuple[Input, ...]
    hashes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    states: dict[Path, State] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    code: tuple[str, ...] = ()

    @staticmethod
    def resolve(data: DataSection, data_spec: DataSpec, on_problem: OnProblem = raise_error) -> "DataSource":
        """What the config names; nothing named is the task's own corpus. Contents are not hashed yet: see `hashed`."""
        corpus = data.corpus if data.train or data.corpus else data_spec.default_corpus
        named = {split: find_files(split, data, data_spec, on_problem) for split in SPLITS}
        return DataSource._of(data, data_spec, corpus, named, on_problem)

    @staticmethod
    def for_testing(data: DataSection, data_spec: DataSpec, files: Sequence[str]) -> "DataSource":
        """These files as the split to test on, and nothing else."""
        data = data.model_copy(update={"train": (), "valid": (), "test": tuple(files), "corpus": None})
        named = {split: find_files(split, data, data_spec, raise_error) for split in SPLITS}
        return DataSource._of(data, data_spec, None, named, raise_error)

    @staticmethod
    def _of(
        data: DataSection,
        data_spec: DataSpec,
        corpus: str | None,
        named: dict[str, list[tuple[Path, Format]]],
        on_problem: OnProblem,
    ) -> "DataSource":
        states = {path: state(path) for files in named.values() for path, _ in files}
        inputs: list[Input] = []
        for split, files in named.items():
            found, data = find_inputs(split, files, data, data_spec, on_problem)
            inputs += found
        kept = {split: tuple(path for path, _ in files) for split, files in named.items()}
        return DataSource(data_spec, data, kept, corpus, tuple(inputs), states=states)

    def hashed(self, code: Sequence[str] = ()) -> "DataSource":
        """With the SHA-256 of each file; no content may be in two splits, under whatever name.

        code: hashes of the user-defined parts that read these data
        """
        if self.hashes:
            return self
        hashes = {split: tuple(fingerprints(paths)) for split, paths in self.files.items()}
        refuse_shared(self.files, hashes)
        return replace(self, hashes=hashes, code=tuple(code))

    # What there is ---------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Of all files, train first, after the corpus; an example's location names one by its number here."""
        files = [str(path) for split in SPLITS for path in self.files[split]]
        return [self.corpus, *files] if self.corpus else files

    @property
    def name(self) -> str:
        """What a message about all of the data begins with."""
        return (self.names() or ["data"])[0]

    @property
    def columns(self) -> Columns | None:
        """Which columns are read, of the first training file that is a table, if one is."""
        return next((each.columns for each in self.inputs if each.split == TRAIN and each.columns is not None), None)

    def has(self, split: str) -> bool:
        """Whether files are named for this split, even if none of them can be read; or a corpus, to train on."""
        return bool(getattr(self.data, split)) or (split == TRAIN and self.corpus is not None)

    def share(self, split: str) -> float:
        """How much of the training examples is kept back for this split."""
        return 0.0 if self.has(split) else {VALID: self.data.valid_share, TEST: self.data.test_share}[split]

    def split_of(self, content: str, split: str) -> str:
        """The split of an example that stands in the files of a split: a share of training is kept back, by content."""
        if split != TRAIN:
            return split
        return split_by_content(content, self.data.seed, *self._shares)

    @cached_property
    def _shares(self) -> tuple[float, float]:
        return self.share(VALID), self.share(TEST)

    def on_bad_line(self) -> OnBadLine:
        """What to do with a bad line."""
        return SkipBadLines() if isinstance(self.data, RowData) and self.data.on_bad_line == "skip" else raise_error

    # Reading ---------------------------------------------------------------------------------------------------------

    def examples(
        self, on_bad_line: OnBadLine = raise_error, on_problem: OnProblem = raise_error
    ) -> Iterator[tuple[str, Record]]:
        """All examples with the split of their file; what can't be read goes to `bad`, a whole file to `on_problem`."""
        if self.corpus:
            try:
                for example in self.made():
                    yield TRAIN, example
            except UserError as problem:
                on_problem(problem)
        for each in self.inputs:
            if not each.readable:
                continue
            try:
                for example in self.read(each, on_bad_line):
                    yield each.split, example
            except UserError as problem:
                on_problem(problem)

    def made(self) -> Iterator[Value]:
        """The examples of the embedded corpus; of text, its chunks."""
        assert self.corpus is not None
        return self.data_spec.corpora[self.corpus].generate(self.data)

    def read(self, each: Input, on_bad_line: OnBadLine = raise_error) -> Iterator[Record]:
        """The examples of one input."""
        if each.columns is not None:
            assert isinstance(self.data, TableData)
            yield from read_rows(each.path, each.format, each.columns, self.data, on_bad_line)
            return
        assert each.format.read is not None
        for location, values in each.format.read(each.paths, self.data, on_bad_line):
            yield Record(tuple(values), location)

    def first(self) -> Iterator[Record]:
        """About the first thousand training examples that can be read, without opening a table anew."""
        made = self.made() if self.corpus else ()
        training = (each for each in self.inputs if each.split == TRAIN and each.readable)
        return islice(chain(made, chain.from_iterable(map(self._head, training))), HEAD)

    def _head(self, each: Input) -> Iterator[Record]:
        if each.columns is None or not each.columns.head:
            return self.read(each, SkipBadLines())
        assert isinstance(self.data, TableData)
        return each.columns.examples(each.format, self.data)

    def forget_heads(self) -> None:
        """Let go of the first records of tables, once nobody looks at them any more."""
        for each in self.inputs:
            if each.columns is not None:
                each.columns.head.clear()

    def text(self, split: str) -> Iterator[str]:
        """Plain text in chunks."""
        return self.made() if split == TRAIN and self.corpus else read_text(self.files[split])

    # The cache, and who goes on with the run -------------------------------------------------------------------------

    def check_unchanged(self) -> None:
        """A file is looked at first, for its content's fingerprint, and read after: both times it must be the same."""
        for split, paths in self.files.items():
            for path, code in zip(paths, self.hashes[split], strict=True):
                if state(path) != self.states[path] and fingerprints([path]) != [code]:
                    message, advice = "the file changed while it was being read", "Try again once it is complete"
                    raise DataError(path, message, advice, code="file-changed")

    def cache_key(self) -> dict[str, object]:
        """All that decides what is read."""
        key: dict[str, object] = {"task": self.data_spec.task, "contents": self.hashes}
        key["data"] = self.data.model_dump(exclude={"train", "valid", "test", "seed"})
        key["inputs"] = {split: self._forms(split) for split in SPLITS}
        if self.corpus is not None or ("text" not in self.data_spec.kinds and any(map(self.share, (VALID, TEST)))):
            key["seed"] = self.data.seed  # else it decides nothing: no example is made, and none kept back by content
        if self.corpus:
            key |= {"corpus": self.corpus, "made_with": self.data_spec.corpus_versions(self.corpus)}
        key["code"] = sorted(self.code)  # the package's own is counted by `cache.FORMAT`
        return key

    def _forms(self, split: str) -> list[str]:
        """How each file is written, which its name may decide; of a class its name too, of a source its target."""
        paths, forms = self.files[split], []
        for each in self.inputs:
            if each.split == split:
                name = [f"class {without_gz(each.path).stem}"] if each.format.kind == "folder" else [each.format.name]
                plain = each.format.kind == "folder" and each.path.is_dir()
                forms.append(f"{['folder'] if plain else name} of {[paths.index(path) for path in each.paths]}")
        return forms

    def local(self) -> dict[str, object]:
        """Where the data lay and what they were, for who goes on with the run."""
        return {
            "corpus": self.corpus,
            "files": {
                split: [
                    {"path": str(path.absolute()), "sha256": code}
                    for path, code in zip(paths, self.hashes[split], strict=True)
                ]
                for split, paths in self.files.items()
            },
            **self.named,
        }


def find_files(split: str, data: DataSection, data_spec: DataSpec, on_problem: OnProblem) -> list[tuple[Path, Format]]:
    """The files of a split with their formats, each once; what can't be found or read is a problem, and left out."""
    patterns: tuple[str, ...] = getattr(data, split)
    paths: dict[Path, Path] = {}
    try:
        refuse_twice(patterns, data_spec, data)
    except DataError as problem:
        on_problem(problem)
    for pattern in patterns:
        try:
            for path in expand([pattern]):
                paths.setdefault(path.absolute(), path)
        except DataError as problem:
            on_problem(problem)
    return formats_of(list(paths.values()), data_spec, data.format, on_problem)


def find_inputs(
    split: str, files: Sequence[tuple[Path, Format]], data: DataSection, data_spec: DataSpec, on_problem: OnProblem
) -> tuple[list[Input], DataSection]:
    """What readers are called with: tables with their columns, and folders, in order; then parallel texts in pairs.

    The columns of the first training table are named in the config that is returned: later files are read alike.
    """
    inputs: list[Input] = []
    named = False
    for path, form in files:
        if form.kind == "parallel":
            continue
        columns = None
        if form.kind == "table":
            assert isinstance(data, TableData)
            try:
                columns = find_columns(path, form, data_spec, data)
            except UserError as problem:
                on_problem(problem)
            else:
                data = columns.named_in(data) if split == TRAIN and not named else data
            named = named or split == TRAIN
        inputs.append(Input(split, (path,), form, columns, form.kind != "table" or columns is not None))
    for parallel in dict.fromkeys(form for _, form in files if form.kind == "parallel"):
        pairs = pair_up([path for path, form in files if form == parallel])
        inputs += [Input(split, pair, parallel, None) for pair in pairs]
    return inputs, data


def refuse_shared(files: dict[str, tuple[Path, ...]], hashes: dict[str, tuple[str, ...]]) -> None:
    """A score on what was learnt is no score: no file may be in two splits, under whatever name."""
    seen: dict[str, tuple[str, Path]] = {}
    for split in SPLITS:
        for path, code in zip(files[split], hashes[split], strict=True):
            other, where = seen.setdefault(code, (split, path))
            if other != split:
                message = f"the same content as {where}, which is in the {other} split"
                raise DataError(path, message, f"Name another file for {split}, or leave it out", code="shared-file")
