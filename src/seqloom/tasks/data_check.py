"""The check of data before training, and what it looks for in the rows of any task."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import ClassVar

from seqloom.core.config.data import RowData
from seqloom.core.problem import Problem, UserError
from seqloom.core.wording import counted
from seqloom.data.inspection.duplicates import Duplicates, TextIndex, report_duplicates, report_overlap
from seqloom.data.inspection.findings import Inspection, Kind, Tally
from seqloom.data.inspection.text_quality import TextQuality
from seqloom.data.records import Location, Value, content_text
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS, TRAIN, VALID, empty_split
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS

Check = Callable[[DataSource, Inspection], None]
"""A task's check of its data: it reads them, and adds to the summary and the findings."""


def check_data(experiment: Experiment) -> Inspection:
    """Everything found in an experiment's data; invalid data never raise an error.

    >>> from seqloom.tasks.registry import experiment
    >>> path = getfixture("tmp_path") / "reviews.tsv"
    >>> _ = path.write_text("good\\t1\\nbad\\t0\\tno\\n" * 10)
    >>> data = {"train": str(path), "text": "1", "label": "2"}
    >>> inspection = check_data(experiment({"task": "classify", "data": data}))
    >>> inspection.ok, inspection.findings[0].problem.message
    (False, '3 fields, expected 2 (text, label); 10 lines like this')
    """
    data = experiment.data
    skips = isinstance(data, RowData) and data.on_bad_line == "skip"
    inspection = Inspection(experiment.task, "warning" if skips else "error")
    if isinstance(data, RowData):
        data = data.model_copy(update={"on_bad_line": "skip"})  # reading continues after a bad line
    source = DataSource.resolve(data, experiment.data_spec, inspection.add_error)
    try:
        source = source.hashed()
    except UserError as error:
        inspection.add_error(error)
    if source.corpus:
        inspection.summarize("corpus", f"{source.corpus} (embedded)")
    for split in SPLITS:
        if files := source.files[split]:
            first = ", ".join(map(str, files[:3])) + (f", … ({len(files)} files)" if len(files) > 3 else "")
            format_of = {
                path: entry.format.name for entry in source.inputs if entry.split == split for path in entry.paths
            }
            formats = ", ".join(dict.fromkeys(format_of[path] for path in files))
            inspection.summarize(f"{split} files", f"{first} ({formats})")
    if source.columns is not None:
        inspection.summarize("columns", source.columns.describe())
    TASKS[experiment.task].check(source, inspection)
    return inspection


class RowCheck:
    """Reads all examples once; reports the sizes of splits, repeated contents, and the quality of texts.

    noun: what an example is called
    content_noun: what the value is called by which examples are split
    qualifier: what follows `content_noun` in messages about contents that occur more than once
    rows: how many examples each split has
    """

    noun: ClassVar[str] = "example"
    content_noun: ClassVar[str] = "example"
    qualifier: ClassVar[str] = ""

    def __init__(self, source: DataSource, inspection: Inspection) -> None:
        self.source, self.inspection = source, inspection
        self.rows: Counter[str] = Counter()
        self.contents = TextIndex()
        self.texts: dict[str, TextQuality] = {}

    @classmethod
    def check(cls, source: DataSource, inspection: Inspection) -> None:
        rows = cls(source, inspection)
        for file_split, (values, location) in source.examples(inspection.bad_lines, inspection.add_error):
            rows.add(file_split, values, location)
        rows.report()

    def add(self, file_split: str, values: Sequence[Value], location: Location) -> None:
        content = content_text(values[0])
        self.rows[self.source.split_of(content, file_split)] += 1
        self.contents.add(content, file_split, self.answer(values), location)
        for role, value in zip(self.source.data_spec.roles, values, strict=False):
            if isinstance(value, str):
                self.add_text(role.name, value, location)

    def answer(self, values: Sequence[Value]) -> Sequence[str]:
        """What a model should predict from the content, where contradictions are looked for."""
        return ()

    def add_text(self, noun: str, text: str, location: Location) -> None:
        if noun not in self.texts:
            max_length, tokenizer = (getattr(self.source.data, name, None) for name in ("max_length", "tokenizer"))
            self.texts[noun] = TextQuality(noun, max_length, tokenizer)
        self.texts[noun].add(text, location)

    def report(self) -> None:
        """Add to the summary and the findings; without any example there is an error already."""
        if self.rows:
            self.report_splits()
            self.report_contents(self.contents.duplicates())
            self.report_texts()

    def report_splits(self) -> None:
        """The sizes of the splits, and errors about splits that are empty; not where a file's error says why."""
        for split in SPLITS:
            if self.rows[split]:
                own = split == TRAIN or self.source.has(split)
                origin = f" ({self.source.share(split):.0%} of the training files, selected by a hash of the content)"
                self.inspection.summarize(split, self.size_of(split) + ("" if own else origin))
        has_error = self.inspection.has_error
        for split in (TRAIN, VALID):
            if not self.rows[split] and not (has_error and getattr(self.source.data, split)):
                self.add_error(empty_split(self.noun, split))

    def size_of(self, split: str) -> str:
        return counted(self.rows[split], self.noun)

    def report_contents(self, duplicates: Duplicates) -> None:
        report_duplicates(duplicates, self.content_noun, self.inspection, self.qualifier)
        report_overlap(duplicates, self.content_noun, self.inspection, self.qualifier)

    def report_texts(self) -> None:
        for text in self.texts.values():
            text.summarize(self.inspection)
            text.report_blank(self.inspection)
            text.report(self.inspection)

    def add_error(self, problem: Problem) -> None:
        self.inspection.add("error", Tally(1, [self.source.name]), problem)

    def add_finding(self, kind: Kind, tally: Tally, code: str, message: str, advice: str) -> None:
        self.inspection.add(kind, tally, Problem(code, message, advice))


check_rows = RowCheck.check
