"""Texts with translations: rows of tokens on both sides, split by source, each with the place that it came from."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Integer, Shaped
from numpy import ndarray

from seqloom.data.arrays import Ragged, read, smallest_type
from seqloom.data.examples import Pair, Place
from seqloom.data.lines import skipped
from seqloom.data.origin import Origin
from seqloom.data.parted import ReadOnce
from seqloom.data.rows import Row, Within, files_beside, write_rows
from seqloom.data.split import TEST, TRAIN, batched, check_filled
from seqloom.data.tokenisers import Ids, Tokeniser, train_tokeniser

META, SOURCE, TARGET, COPY = "meta.json", "source.json", "target.json", "copy.jsonl"
TOGETHER = 1 << 20  # characters given to a tokeniser at a time, about


@dataclass(frozen=True)
class PairedPart:
    """Rows of tokens on both sides, where each stood and what it said."""

    source: Ragged
    target: Ragged
    source_texts: Ragged  # UTF-8
    target_texts: Ragged
    files: tuple[Within, ...]
    file: Integer[ndarray, " rows"]
    line: Integer[ndarray, " rows"]

    @property
    def rows(self) -> Ragged:
        """What a model reads of each."""
        return self.source

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True)
class PairedData:
    """All parts, and what they are told in: one tokeniser for both sides, or one each."""

    source: Tokeniser
    target: Tokeniser
    parts: dict[str, PairedPart]
    cut: int  # pairs of which a side was longer than max_length
    skipped: int  # lines that could not be read
    odd: int  # pairs of which one side has more than max_ratio times the tokens of the other
    odd_at: str | None  # where the first of them stood
    dropped: int  # odd ones that are not learnt from


def paired(origin: Origin) -> PairedData:
    """Pairs made ready, from the cache or now."""
    folder = origin.made_ready(lambda making: make(origin, making))
    source, *other = (
        Tokeniser.from_json((folder / name).read_text(encoding="utf-8"))
        for name in (SOURCE, TARGET)
        if (folder / name).exists()
    )
    told = json.loads((folder / META).read_text(encoding="utf-8"))
    return open_all(origin, folder, source, other[0] if other else source, told)


def paired_to_test(origin: Origin, folder: Path, source: Tokeniser, target: Tokeniser) -> PairedData:
    """Files to test on, told in a run's tokens; `folder` is for the arrays."""
    bad = origin.bad()
    told = write(origin, folder, source, target, ((TEST, pair) for pair in origin.pairs(TEST, bad)))
    return open_all(origin, folder, source, target, told | {"skipped": skipped(bad)})


def open_all(origin: Origin, folder: Path, source: Tokeniser, target: Tokeniser, told: dict[str, Any]) -> PairedData:
    """All that `write` wrote into a folder, mapped into memory."""
    parts = {part: open_part(folder / part) for part in told["parts"]}
    at = told["odd_at"]
    odd_at = str(Place(Within(*at[0]).name(origin.names()), at[1])) if at else None
    return PairedData(source, target, parts, told["cut"], told["skipped"], told["odd"], odd_at, told["dropped"])


def open_part(folder: Path) -> PairedPart:
    """One part, mapped into memory."""
    arrays = read(folder)
    source, target, source_texts, target_texts = (
        Ragged.of(arrays, name) for name in ("source", "target", "source_texts", "target_texts")
    )
    return PairedPart(source, target, source_texts, target_texts, files_beside(folder), arrays["file"], arrays["line"])


def make(origin: Origin, folder: Path) -> None:
    """Read the files once; then learn the tokenisers and write the tokens."""
    pairs = ReadOnce(origin, origin.pairs, Pair, folder / COPY)
    check_filled(origin.names()[0], pairs.sizes())
    source, target = learn(origin, pairs)
    told = write(origin, folder, source, target, pairs)
    check_filled(origin.names()[0], told["parts"])
    (folder / SOURCE).write_text(source.to_json(), encoding="utf-8")
    if target is not source:
        (folder / TARGET).write_text(target.to_json(), encoding="utf-8")
    told["skipped"] = skipped(pairs.bad)
    (folder / META).write_text(json.dumps(told), encoding="utf-8")
    pairs.copy.unlink()


def learn(origin: Origin, pairs: Iterable[tuple[str, Pair]]) -> tuple[Tokeniser, Tokeniser]:
    """A tokeniser from both sides of the training part together, or one from each."""

    def texts(*sides: str) -> Iterator[str]:
        return (getattr(pair, side) for part, pair in pairs if part == TRAIN for side in sides)

    def learnt(texts: Iterator[str]) -> Tokeniser:
        data = origin.data
        return train_tokeniser(
            data.tokeniser or "bpe",
            texts,
            vocabulary=data.vocabulary or 8000,
            min_count=data.min_count,
            lowercase=data.lowercase,
            sample=data.sample or 20_000_000,
        )

    if origin.data.shared_vocabulary is False:
        return learnt(texts("source")), learnt(texts("target"))
    both = learnt(texts("source", "target"))
    return both, both


def write(
    origin: Origin, folder: Path, source: Tokeniser, target: Tokeniser, pairs: Iterable[tuple[str, Pair]]
) -> dict[str, Any]:
    """The rows of each part; what there was to tell."""
    types = {
        "source": smallest_type(len(source)),
        "target": smallest_type(len(target)),
        "source_texts": "uint8",
        "target_texts": "uint8",
    }
    most, odd = origin.data.max_length, Odd(origin)

    def rows() -> Iterator[Row]:
        for group in batched(pairs, TOGETHER, lambda each: 1 + len(each[1].source) + len(each[1].target)):
            sources = source.encode_batch([pair.source for _, pair in group])
            targets = target.encode_batch([pair.target for _, pair in group])
            for (part, pair), one, other in zip(group, sources, targets, strict=True):
                if odd.leaves_out(part, pair.place, one, other):
                    continue
                numbers: dict[str, Shaped[ndarray, " n"]] = {
                    "source": one[:most],
                    "target": other[:most],
                    "source_texts": np.frombuffer(pair.source.encode(), dtype=np.uint8),
                    "target_texts": np.frombuffer(pair.target.encode(), dtype=np.uint8),
                }
                cut = len(one) > len(numbers["source"]) or len(other) > len(numbers["target"])
                yield Row(part, pair.place, cut, numbers)

    return write_rows(folder, origin.names(), types, rows()) | odd.told()


class Odd:
    """Pairs of which one side has many times the tokens of the other: often two texts that don't belong together."""

    def __init__(self, origin: Origin) -> None:
        self.origin, self.count, self.dropped = origin, 0, 0
        self.first: Place | None = None

    def leaves_out(self, part: str, place: Place, one: Ids, other: Ids) -> bool:
        """Whether a pair is not learnt from; what is measured on stays as it is."""
        short, long = sorted((len(one), len(other)))
        if long <= self.origin.data.max_ratio * max(1, short):
            return False
        self.count += 1
        self.first = self.first or place
        drops = part == TRAIN and self.origin.data.on_ratio == "drop"
        self.dropped += drops
        return drops

    def told(self) -> dict[str, Any]:
        """How many, how many of them are dropped, and where the first stood."""
        numbered = {name: number for number, name in enumerate(self.origin.names())}
        at = self.first and (Within.of(self.first.file, numbered), self.first.line)
        return {"odd": self.count, "odd_at": at, "dropped": self.dropped}
