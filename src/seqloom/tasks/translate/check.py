"""What `seqloom check` looks for in texts with their translations."""

from collections.abc import Sequence

from seqloom.core.config.section import keys
from seqloom.core.problem import KeyName
from seqloom.core.wording import counted
from seqloom.data.inspection.duplicates import Duplicates
from seqloom.data.inspection.findings import Inspection, Tally, percent
from seqloom.data.inspection.text_quality import count_tokens
from seqloom.data.records import Location, Value
from seqloom.data.source import DataSource
from seqloom.tasks.data_check import RowCheck
from seqloom.tasks.translate.config import TranslateData

UNITS = {"word": "words", "byte": "bytes"}  # in which lengths are compared; else characters, as subwords vary
MANY_EQUAL = 0.05  # of pairs with the same text on both sides: more is a warning


class TranslateCheck(RowCheck):
    """Adds pairs with very different lengths, pairs of equal texts, and sources with several translations."""

    noun, content_noun = "pair", "source"

    def __init__(self, source: DataSource, inspection: Inspection) -> None:
        super().__init__(source, inspection)
        self.config = keys(source.data, TranslateData)
        self.unit = self.config.tokenizer if self.config.tokenizer in UNITS else "character"
        self.uneven, self.equal = Tally(), Tally()

    def add(self, file_split: str, values: Sequence[Value], location: Location) -> None:
        super().add(file_split, values, location)
        source, target = values
        short, long = sorted(count_tokens(text, self.unit) for text in (source, target))
        if long > self.config.max_ratio * max(1, short):
            self.uneven.add(location)
        if source == target:
            self.equal.add(location)

    def answer(self, values: Sequence[Value]) -> Sequence[str]:
        return values[1:]

    def report_contents(self, duplicates: Duplicates) -> None:
        super().report_contents(duplicates)
        total = self.rows.total()
        several, _ = duplicates.contradictions()
        have = "has" if several.count == 1 else "have"
        message = f"{counted(several.count, 'source')} {have} several translations"
        advice = "Nothing to do if all are correct; exact match can't reach 100%"
        self.add_finding("note", several, "several-translations", message, advice)

        count = self.uneven.count
        ratio = f"more than {self.config.max_ratio:g} times the {UNITS.get(self.unit, 'characters')} on one side"
        drop = f"Pass {KeyName('data.on_ratio', 'drop')} to drop such pairs from training"
        keep = "Such pairs are dropped from the training split" if self.config.on_ratio == "drop" else drop
        message = f"{counted(count, 'pair')} ({percent(count, total)}) with {ratio}"
        advice = f"Check whether both sides belong together. {keep}"
        self.add_finding("warning", self.uneven, "length-ratio", message, advice)

        count = self.equal.count
        many = count > MANY_EQUAL * total
        message = f"{counted(count, 'pair')} ({percent(count, total)}) with the same text on both sides"
        remove = "Remove pairs that are not translated, unless they are intended"
        advice = remove if many else "Nothing to do if they are names, numbers or the like"
        self.add_finding("warning" if many else "note", self.equal, "same-on-both-sides", message, advice)


check = TranslateCheck.check
