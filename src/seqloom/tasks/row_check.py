"""What `seqloom check` looks for in the rows of any task; of a task without a check of its own, this is all."""

from collections import Counter
from collections.abc import Callable

from seqloom.core.plurals import counted
from seqloom.data.inspection.duplicates import TextIndex, report_duplicates, report_overlap
from seqloom.data.inspection.report import Inspection, Tally
from seqloom.data.inspection.text_quality import TextQuality
from seqloom.data.schema import as_content
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS, TRAIN, VALID, empty_split

Check = Callable[[DataSource, Inspection], None]
"""A task's look at its data: it reads them, and adds to the summary and the findings."""

NOUN = "example"


def check(source: DataSource, inspection: Inspection) -> None:
    """Sizes of the splits, texts that are there more than once, and the quality of each column of texts.

    Examples are split by the value of their first role.
    """
    max_length, tokenizer = (getattr(source.data, name, None) for name in ("max_length", "tokenizer"))
    rows: Counter[str] = Counter()
    contents = TextIndex()
    columns: dict[str, TextQuality] = {}
    for file_split, (values, location) in source.examples(inspection.bad_lines, inspection.add_error):
        content = as_content(values[0])
        rows[source.split_of(content, file_split)] += 1
        contents.add(content, file_split, (), location)
        for role, value in zip(source.data_spec.roles, values, strict=False):
            if isinstance(value, str):
                if role.name not in columns:
                    columns[role.name] = TextQuality(role.name, max_length, tokenizer)
                columns[role.name].add(value, location)
    if not rows:
        return  # an error already: no file could be read
    summarize_splits(rows, NOUN, source, inspection)
    report_empty_splits(rows, NOUN, source, inspection)
    repeated = contents.repeated()
    report_duplicates(repeated, NOUN, inspection)
    report_overlap(repeated, NOUN, inspection)
    for column in columns.values():
        column.summarize(inspection)
        column.report_blank(inspection)
        column.report(inspection)


def summarize_splits(rows: Counter[str], noun: str, source: DataSource, inspection: Inspection) -> None:
    """How many examples each split has, and where they come from."""
    for split in SPLITS:
        if rows[split]:
            inspection.summarize(split, counted(rows[split], noun) + origin(split, source))


def origin(split: str, source: DataSource) -> str:
    """Where a split without files of its own comes from, for the summary."""
    if split == TRAIN or source.has(split):
        return ""
    return f" (kept back from the training files: {source.share(split):.0%}, by content)"


def report_empty_splits(rows: Counter[str], noun: str, source: DataSource, inspection: Inspection) -> None:
    """Errors about splits that training needs; where files hold nothing there has been an error already."""
    refused = inspection.refused
    for split in (TRAIN, VALID):
        if not rows[split] and not (refused and getattr(source.data, split)):
            inspection.add("error", Tally(1, [source.name]), empty_split(noun, split))
