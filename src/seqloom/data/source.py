"""The source of a run's examples: files, formats, columns and splits, resolved once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from seqloom.core.config.data import DataSection, RowData
from seqloom.core.problem import DataError, UserError
from seqloom.data.cache import State, file_states, fingerprints
from seqloom.data.columns import HEAD_RECORDS, Columns, find_columns, read_rows
from seqloom.data.formats import Format, TableData, formats_of, refuse_repeated_files
from seqloom.data.parallel_text import pair_files
from seqloom.data.paths import expand, without_gz
from seqloom.data.records import Record, Value
from seqloom.data.spec import DataSpec
from seqloom.data.split import SPLITS, TEST, TRAIN, VALID, split_by_content
from seqloom.data.text_io import OnBadLine, SkipBadLines, raise_error, read_text

OnProblem = Callable[[UserError], None]
"""A handler of a problem with a whole file. If it returns instead of raising, the file is left out."""


class Input(NamedTuple):
    """What one call of a reader reads: a file or folder, or the two files of a parallel text."""

    split: str
    paths: tuple[Path, ...]
    format: Format
    columns: Columns | None  # of a table
    readable: bool = True

    @property
    def path(self) -> Path:
        return self.paths[0]


@dataclass(frozen=True)
class DataSource:
    """The files of each split, or a corpus.

    data: the section of the config, with the names of the columns that are read
    hashes: SHA-256 of each file; empty before `hashed`
    states: of each file, before its content was read
    referenced: SHA-256 of the files that the data refers to (all images), known once they are read
    code: hashes of the user-defined parts that read the data
    """

    data_spec: DataSpec
    data: DataSection
    files: dict[str, tuple[Path, ...]]
    corpus: str | None
    inputs: tuple[Input, ...]
    hashes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    states: dict[Path, State] = field(default_factory=dict)
    referenced: dict[str, str] = field(default_factory=dict)
    code: tuple[str, ...] = ()

    @staticmethod
    def resolve(data: DataSection, data_spec: DataSpec, on_problem: OnProblem = raise_error) -> "DataSource":
        """The source that the config names, by default the task's own corpus. Contents are not hashed: see `hashed`."""
        corpus = data.corpus if data.train or data.corpus else data_spec.default_corpus
        return DataSource._of(data, data_spec, corpus, on_problem)

    @staticmethod
    def for_testing(data: DataSection, data_spec: DataSpec, files: Sequence[str]) -> "DataSource":
        data = data.model_copy(update={"train": (), "valid": (), "test": tuple(files), "corpus": None})
        return DataSource._of(data, data_spec, None, raise_error)

    @staticmethod
    def _of(data: DataSection, data_spec: DataSpec, corpus: str | None, on_problem: OnProblem) -> "DataSource":
        files = {split: find_files(split, data, data_spec, on_problem) for split in SPLITS}
        states = {path: file_states(path) for paths in files.values() for path, _ in paths}
        inputs: list[Input] = []
        for split in SPLITS:
            split_inputs, data = find_inputs(split, files[split], data, data_spec, on_problem)
            inputs += split_inputs
        split_paths = {split: tuple(path for path, _ in paths) for split, paths in files.items()}
        return DataSource(data_spec, data, split_paths, corpus, tuple(inputs), states=states)

    def hashed(self, code: Sequence[str] = ()) -> "DataSource":
        """The source with the SHA-256 of each file. A file of two splits is an error: it leaks into training."""
        if self.hashes:
            return self
        hashes = {split: tuple(fingerprints(paths)) for split, paths in self.files.items()}
        seen: dict[str, tuple[str, Path]] = {}
        for split in SPLITS:
            for path, sha256 in zip(self.files[split], hashes[split], strict=True):
                other, other_path = seen.setdefault(sha256, (split, path))
                if other != split:
                    message = f"the same content as {other_path}, which is in the {other} split"
                    advice = f"Name another file for {split}, or leave it out"
                    raise DataError(path, message, advice, code="shared-file")
        return replace(self, hashes=hashes, code=tuple(code))

    # Properties ------------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names of the corpus and all files, train first; prepared examples refer to a file by its index."""
        files = [str(path) for split in SPLITS for path in self.files[split]]
        return [self.corpus, *files] if self.corpus else files

    @property
    def name(self) -> str:
        """The location of an error about all of the data."""
        return (self.names() or ["data"])[0]

    @property
    def columns(self) -> Columns | None:
        """The columns of the first training file that is a table, if one is."""
        return next(
            (entry.columns for entry in self.inputs if entry.split == TRAIN and entry.columns is not None), None
        )

    def has(self, split: str) -> bool:
        """Whether files are named for this split, readable or not; or for training, whether there is a corpus."""
        return bool(getattr(self.data, split)) or (split == TRAIN and self.corpus is not None)

    def share(self, split: str) -> float:
        """The share of the training examples that is held out for this split."""
        return 0.0 if self.has(split) else {VALID: self.data.valid_share, TEST: self.data.test_share}[split]

    def split_of(self, content: str, split: str) -> str:
        """The split of an example in the files of a split; for training, a share is held out by content."""
        if split != TRAIN:
            return split
        return split_by_content(content, self.data.seed, self.share(VALID), self.share(TEST))

    def on_bad_line(self) -> OnBadLine:
        """A new handler of bad lines, chosen by `data.on_bad_line`."""
        return SkipBadLines() if isinstance(self.data, RowData) and self.data.on_bad_line == "skip" else raise_error

    # Reading ---------------------------------------------------------------------------------------------------------

    def examples(
        self, on_bad_line: OnBadLine = raise_error, on_problem: OnProblem = raise_error
    ) -> Iterator[tuple[str, Record]]:
        """All examples with the split of their file; an error that ends a file is passed to `on_problem`."""
        if self.corpus:
            try:
                for example in self.generate():
                    yield TRAIN, example
            except UserError as problem:
                on_problem(problem)
        for entry in self.inputs:
            try:
                for example in self.read(entry, on_bad_line) if entry.readable else ():
                    yield entry.split, example
            except UserError as problem:
                on_problem(problem)

    def generate(self) -> Iterator[Value]:
        """The examples of the embedded corpus, or its chunks of text."""
        assert self.corpus is not None
        return self.data_spec.corpora[self.corpus].generate(self.data)

    def read(self, entry: Input, on_bad_line: OnBadLine = raise_error) -> Iterator[Record]:
        if entry.columns is not None:
            assert isinstance(self.data, TableData)
            yield from read_rows(entry.path, entry.format, entry.columns, self.data, on_bad_line)
            return
        assert entry.format.read is not None
        for location, values in entry.format.read(entry.paths, self.data, on_bad_line):
            yield Record(tuple(values), location)

    def first_examples(self) -> Iterator[Record]:
        """The first training examples that can be read (at most about a thousand), without opening a table again."""

        def head(entry: Input) -> Iterator[Record]:
            if entry.columns is None or not entry.columns.head:
                return self.read(entry, SkipBadLines())
            assert isinstance(self.data, TableData)
            return entry.columns.examples(entry.format, self.data)

        generated = self.generate() if self.corpus else ()
        training = (entry for entry in self.inputs if entry.split == TRAIN and entry.readable)
        return islice(chain(generated, chain.from_iterable(map(head, training))), HEAD_RECORDS)

    def clear_heads(self) -> None:
        """Free the first records of tables."""
        for entry in self.inputs:
            if entry.columns is not None:
                entry.columns.head.clear()

    def text(self, split: str) -> Iterator[str]:
        return self.generate() if split == TRAIN and self.corpus else read_text(self.files[split])

    # Identity --------------------------------------------------------------------------------------------------------

    def check_unchanged(self) -> None:
        """Refuse a file that changed after it was hashed; called after it was read."""
        for split, paths in self.files.items():
            for path, sha256 in zip(paths, self.hashes[split], strict=True):
                if file_states(path) != self.states[path] and fingerprints([path]) != [sha256]:
                    message, advice = "the file changed while it was being read", "Try again once it is complete"
                    raise DataError(path, message, advice, code="file-changed")

    def cache_key(self) -> dict[str, object]:
        key: dict[str, object] = {"task": self.data_spec.task, "contents": self.hashes}
        key["data"] = self.data.model_dump(exclude={"train", "valid", "test", "seed"})
        key["inputs"] = {split: self._formats(split) for split in SPLITS}
        if self.corpus is not None or ("text" not in self.data_spec.kinds and (self.share(VALID) or self.share(TEST))):
            key["seed"] = self.data.seed  # otherwise nothing depends on the seed
        if self.corpus:
            key |= {"corpus": self.corpus, "made_with": self.data_spec.corpus_versions(self.corpus)}
        key["code"] = sorted(self.code)  # of user-defined parts; `cache.FORMAT` covers the package's own
        return key

    def _formats(self, split: str) -> list[str]:
        """The format of each input and the indices of its files; the class of a file that is all of one class."""
        paths, formats = self.files[split], []
        for entry in self.inputs:
            if entry.split == split:
                is_class = entry.format.kind == "folder" and not entry.path.is_dir()
                name = f"class {without_gz(entry.path).stem}" if is_class else entry.format.name
                formats.append(f"{[name]} of {[paths.index(path) for path in entry.paths]}")
        return formats

    def local(self) -> dict[str, object]:
        """The absolute paths and hashes of the data, by which a resumed run finds them."""
        files = {
            split: [
                {"path": str(path.absolute()), "sha256": sha256}
                for path, sha256 in zip(paths, self.hashes[split], strict=True)
            ]
            for split, paths in self.files.items()
        }
        return {"corpus": self.corpus, "files": files, **self.referenced}


def find_files(split: str, data: DataSection, data_spec: DataSpec, on_problem: OnProblem) -> list[tuple[Path, Format]]:
    """The distinct files of a split with their formats; a file that can't be read is passed to `on_problem`."""
    patterns: tuple[str, ...] = getattr(data, split)
    paths: dict[Path, Path] = {}
    try:
        refuse_repeated_files(patterns, data_spec, data)
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
    """The inputs of a split, and the config: tables and folders in order, then the pairs of parallel texts.

    The returned config names the columns of the first training table, so that later tables are read like it.
    """
    inputs: list[Input] = []
    is_named = False
    for path, form in files:
        if form.kind == "parallel":
            continue
        columns = None
        if form.kind == "table":
            assert isinstance(data, TableData)
            try:
                columns = find_columns(path, form, data_spec, data)
                data = columns.apply_to(data) if split == TRAIN and not is_named else data
            except UserError as problem:
                on_problem(problem)
            is_named = is_named or split == TRAIN
        inputs.append(Input(split, (path,), form, columns, form.kind != "table" or columns is not None))
    for parallel in dict.fromkeys(form for _, form in files if form.kind == "parallel"):
        pairs = pair_files([path for path, form in files if form == parallel])
        inputs += [Input(split, pair, parallel, None) for pair in pairs]
    return inputs, data
