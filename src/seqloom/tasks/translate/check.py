"""What `seqloom check` looks for in texts with their translations."""

from collections import Counter

from seqloom.core.config.section import keys
from seqloom.core.plurals import counted
from seqloom.core.problem import KeyName, Problem
from seqloom.data.inspection.duplicates import TextIndex, report_duplicates, report_overlap
from seqloom.data.inspection.report import Inspection, Tally, percent
from seqloom.data.inspection.text_quality import TextQuality, count_tokens
from seqloom.data.records import Location
from seqloom.data.source import DataSource
from seqloom.tasks.row_check import report_empty_splits, summarize_splits
from seqloom.tasks.translate.config import TranslateData

UNITS = {"word": "words", "byte": "bytes"}  # in which sides are compared; else in characters, as pieces of words vary
MANY = 0.05  # of pairs with the same text on both sides: more is a warning


def check(source: DataSource, inspection: Inspection) -> None:
    """One reading of everything."""
    data = keys(source.data, TranslateData)
    rows: Counter[str] = Counter()
    contents, matches = TextIndex(), Matches(data)
    sources, targets = (TextQuality(noun, data.max_length, data.tokenizer) for noun in ("source", "target"))
    for file_split, (values, location) in source.examples(inspection.bad_lines, inspection.add_error):
        text, translation = values
        rows[source.split_of(text, file_split)] += 1
        contents.add(text, file_split, (translation,), location)
        matches.add(text, translation, location)
        sources.add(text, location)
        targets.add(translation, location)
    if not rows:
        return  # an error already: no file could be read
    summarize_splits(rows, "pair", source, inspection)
    report_empty_splits(rows, "pair", source, inspection)
    repeated = contents.repeated()
    report_duplicates(repeated, "source", inspection)
    report_overlap(repeated, "source", inspection)
    several, _ = repeated.contradictions()
    have = "has" if several.count == 1 else "have"
    message = f"{counted(several.count, 'source')} {have} several translations"
    inspection.add(
        "note",
        several,
        Problem("several-translations", message, "Nothing to do, if all are right; exact match can't reach 100%"),
    )
    matches.report(sum(rows.values()), inspection)
    for side in (sources, targets):
        side.summarize(inspection)
        side.report(inspection)


class Matches:
    """How the two sides of a pair go together: lengths far apart, or one text twice."""

    def __init__(self, data: TranslateData) -> None:
        self.max_ratio, self.drops = data.max_ratio, data.on_ratio == "drop"
        self.tokenizer = data.tokenizer if data.tokenizer in UNITS else "character"
        self.odd, self.same = Tally(), Tally()

    def add(self, text: str, translation: str, location: Location) -> None:
        """Look at a pair."""
        short, long = sorted((count_tokens(text, self.tokenizer), count_tokens(translation, self.tokenizer)))
        if long > self.max_ratio * max(1, short):
            self.odd.add(location)
        if text == translation:
            self.same.add(location)

    def report(self, total: int, inspection: Inspection) -> None:
        """Findings, if there are any."""
        odd, same = self.odd.count, self.same.count
        unit = UNITS.get(self.tokenizer, "characters")
        ratio = f"over {self.max_ratio:g} times the {unit} on one side"
        drop = KeyName("data.on_ratio", "drop")
        keep = "The training split leaves such out" if self.drops else f"Pass {drop} to leave such out"
        message = f"{counted(odd, 'pair')} ({percent(odd, total)}) with {ratio}"
        advice = "Check whether both sides belong together"
        inspection.add("warning", self.odd, Problem("length-ratio", message, f"{advice}. {keep}"))
        message = f"{counted(same, 'pair')} ({percent(same, total)}) with the same text on both sides"
        if same > MANY * total:
            inspection.add(
                "warning",
                self.same,
                Problem("same-on-both-sides", message, "Remove what is not translated, unless it is meant"),
            )
        else:
            inspection.add(
                "note", self.same, Problem("same-on-both-sides", message, "Nothing to do, if they are names and such")
            )
