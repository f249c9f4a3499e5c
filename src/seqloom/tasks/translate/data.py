"""The rows of a translator: tokens of both sides, and the texts as they were written."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Shaped
from numpy import ndarray

from seqloom.data.records import Location
from seqloom.data.row_store import SourceFile
from seqloom.data.schema import Notes, RowFilter, Schema, TextColumn, TokenColumn, tokenizer_learner
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN
from seqloom.tasks.generation_task import SOURCE_FILE, TARGET_FILE
from seqloom.tasks.translate.config import TranslateData

SOURCE, TARGET = 0, 1  # indices of the values of an example


@dataclass(frozen=True)
class Pairs(Schema):
    """Counts pairs of which one side has many times the tokens of the other, and may drop them from training."""

    max_ratio: float = 9.0
    drop: bool = False

    def row_filter(self, source: DataSource) -> RowFilter:
        return RatioFilter(source, self.max_ratio, self.drop)


class RatioFilter(RowFilter):
    """Pairs of which one side has many times the tokens of the other: often two texts that don't belong together."""

    def __init__(self, source: DataSource, max_ratio: float, drop: bool) -> None:
        self.source, self.max_ratio, self.drop = source, max_ratio, drop
        self.count = self.dropped = 0
        self.first: Location | None = None

    def keeps(self, split: str, location: Location, row: Mapping[str, Shaped[ndarray, " _"]]) -> bool:
        """Whether a pair is kept: only pairs of the training split are dropped."""
        short, long = sorted((len(row["source"]), len(row["target"])))
        if long <= self.max_ratio * max(1, short):
            return True
        self.count += 1
        self.first = self.first or location
        drops = split == TRAIN and self.drop
        self.dropped += drops
        return not drops

    def notes(self) -> Notes:
        numbers = {name: number for number, name in enumerate(self.source.names())}
        at = self.first and (SourceFile.of(self.first.file, numbers), self.first.line)
        return {"odd": self.count, "odd_at": at, "dropped": self.dropped, "max_ratio": self.max_ratio}


def schema(data: TranslateData) -> Schema:
    """The columns of a pair: one vocabulary for both sides, or one for each."""
    joint, separate = {SOURCE_FILE: (SOURCE, TARGET)}, {SOURCE_FILE: (SOURCE,), TARGET_FILE: (TARGET,)}
    shared = data.shared_vocabulary
    columns = (
        TokenColumn("source", SOURCE, data.max_length, encoder=SOURCE_FILE),
        TokenColumn("target", TARGET, data.max_length, encoder=SOURCE_FILE if shared else TARGET_FILE),
        TextColumn("source_texts", SOURCE),
        TextColumn("target_texts", TARGET),
    )
    learners = {file: tokenizer_learner(roles, data, "bpe") for file, roles in (joint if shared else separate).items()}
    return Pairs(columns, learners, content=SOURCE, max_ratio=data.max_ratio, drop=data.on_ratio == "drop")
