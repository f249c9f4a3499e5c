"""Texts with labels: rows of tokens, split by content, each with the place that it came from."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.arrays import Ragged, read, smallest_type, writers
from seqloom.data.cache import cached
from seqloom.data.examples import Labelled, Place
from seqloom.data.lines import Bad, Skipped, skipped
from seqloom.data.origin import Origin
from seqloom.data.split import PARTS, TEST, TRAIN, VALID, batched, check_filled, part_of
from seqloom.data.tokenisers import Tokeniser, train_tokeniser
from seqloom.data.vocabulary import Vocabulary
from seqloom.spec.errors import DataError

META, SOURCE, LABELS = "meta.json", "source.json", "labels.json"
TOGETHER = 1024  # texts given to a tokeniser at a time
Parted = tuple[str, Labelled]


@dataclass(frozen=True)
class LabelledPart:
    """Rows of tokens, the labels of each, where each stood and what it said."""

    tokens: Ragged
    labels: Ragged
    texts: Ragged  # UTF-8
    file: Integer[ndarray, " rows"]
    line: Integer[ndarray, " rows"]

    @property
    def rows(self) -> Ragged:
        """What a model reads of each."""
        return self.tokens

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class LabelledData:
    """All parts, and what they are told in."""

    tokeniser: Tokeniser
    labels: Vocabulary
    parts: dict[str, LabelledPart]
    several: bool  # labels a row
    cut: int  # rows that were longer than max_length
    skipped: int  # lines that could not be read


def labelled(origin: Origin) -> LabelledData:
    """Examples made ready, from the cache or now."""
    folder = cached(origin.ingredients(), lambda making: make(origin, making))
    told = json.loads((folder / META).read_text(encoding="utf-8"))
    return LabelledData(
        Tokeniser.from_json((folder / SOURCE).read_text(encoding="utf-8")),
        Vocabulary.from_json((folder / LABELS).read_text(encoding="utf-8"), LABELS),
        {part: open_part(folder / part) for part in told["parts"]},
        told["several"],
        told["cut"],
        told["skipped"],
    )


def open_part(folder: Path) -> LabelledPart:
    """One part, mapped into memory."""
    arrays = read(folder)
    tokens, labels, texts = (Ragged.of(arrays, name) for name in ("tokens", "labels", "texts"))
    return LabelledPart(tokens, labels, texts, arrays["file"], arrays["line"])


def make(origin: Origin, folder: Path) -> None:
    """Two readings: one to count labels and learn a tokeniser, one to write."""
    data = origin.data
    bad = origin.bad()
    counts, several = count(origin, bad)
    rare = {label for label, each in counts.items() if each.total() == 1} if data.on_rare_label == "skip" else set()
    counts = {label: each for label, each in counts.items() if label not in rare}
    check(origin, counts, several)
    labels = Vocabulary(sorted(counts))
    moved = moved_texts(origin, {label for label, each in counts.items() if not each[TRAIN]})

    def examples() -> Iterator[Parted]:
        for part, example in parted(origin, Skipped()):
            if not rare.intersection(example.labels):
                yield TRAIN if example.text in moved and not origin.has(part) else part, example

    tokeniser = train_tokeniser(
        data.tokeniser or "word",
        (example.text for part, example in examples() if part == TRAIN),
        vocabulary=data.vocabulary or 0,
        min_count=data.min_count,
        lowercase=data.lowercase,
        sample=data.sample or 20_000_000,
    )
    told = write(origin, folder, tokeniser, labels, examples())
    check_filled(origin.names()[0], told["parts"])
    (folder / SOURCE).write_text(tokeniser.to_json(), encoding="utf-8")
    (folder / LABELS).write_text(labels.to_json(), encoding="utf-8")
    told |= {"several": several, "skipped": skipped(bad)}
    (folder / META).write_text(json.dumps(told), encoding="utf-8")


def parted(origin: Origin, bad: Bad) -> Iterator[Parted]:
    """All examples, each with its part: that of its file, or by its content."""
    data = origin.data
    valid = 0.0 if origin.has(VALID) else data.valid_share
    test = 0.0 if origin.has(TEST) else data.test_share
    for example in origin.labelled(TRAIN, bad):
        yield part_of(example.text, origin.seed, valid, test), example
    for part in (VALID, TEST):
        if origin.has(part):
            for example in origin.labelled(part, bad):
                yield part, example


def moved_texts(origin: Origin, homeless: set[str]) -> set[str]:
    """The texts of labels that by chance are all kept back: they are learnt from instead, with their duplicates."""
    if not homeless:
        return set()
    return {
        example.text
        for part, example in parted(origin, Skipped())
        if homeless.intersection(example.labels) and not origin.has(part)
    }


def count(origin: Origin, bad: Bad) -> tuple[dict[str, Counter[str]], bool]:
    """How often each label is in each part; whether any row has not exactly one."""
    counts: dict[str, Counter[str]] = {}
    several = origin.data.label_separator is not None
    for part, example in parted(origin, bad):
        several |= len(example.labels) != 1
        for label in example.labels:
            counts.setdefault(label, Counter())[part] += 1
    return counts, several


def check(origin: Origin, counts: dict[str, Counter[str]], several: bool) -> None:
    """Labels that nothing can be learnt of."""
    name = (origin.names() or ["data"])[0]
    if len(counts) < 2 and not several:
        only = next(iter(counts), "none")
        raise DataError(
            name, f"only one label, {only!r}, so there is nothing to tell apart", "Give examples of another"
        )
    unseen = [label for label, each in counts.items() if not each[TRAIN] and all(origin.has(part) for part in each)]
    if unseen:
        place = place_of(origin, unseen[0])
        raise DataError(place, f"label {unseen[0]!r} is not in the training part", "Add examples, or remove this one")
    once = [label for label, each in counts.items() if each.total() == 1]
    if once and origin.data.on_rare_label == "refuse":
        more = f" (and {len(once) - 1} others)" if len(once) > 1 else ""
        what = f"label {once[0]!r} is seen once{more}, so it can't be learnt and measured"
        do = "Add examples, or pass --data.on-rare-label skip (or keep)"
        raise DataError(place_of(origin, once[0]), what, do)


def check_known(labels: Vocabulary, example: Labelled) -> None:
    """A file to test on may have labels that the run never saw."""
    for label in example.labels:
        if label not in labels:
            what = f"label {label!r} is not one of the run's ({', '.join(labels.names[:10])})"
            raise DataError(example.place, what, "Remove the example, or train on such ones")


def place_of(origin: Origin, label: str) -> Place:
    """Where a label is first seen."""
    return next(example.place for _, example in parted(origin, Skipped()) if label in example.labels)


def write(
    origin: Origin,
    folder: Path,
    tokeniser: Tokeniser,
    labels: Vocabulary,
    examples: Iterable[Parted],
) -> dict[str, Any]:
    """The rows of each part; what there was to tell."""
    types = {"tokens": smallest_type(len(tokeniser)), "labels": smallest_type(len(labels)), "texts": "uint8"}
    types |= {f"{name}_end": "int64" for name in types} | {"file": "int32", "line": "int64"}
    numbers = {name: i for i, name in enumerate(origin.names())}
    most = origin.data.max_length or 1 << 62
    cut = 0
    with writers(folder, PARTS, types) as files:
        for group in batched(examples, TOGETHER):
            for (part, example), tokens in zip(
                group, tokeniser.encode_batch([each.text for _, each in group]), strict=True
            ):
                writer = files[part]
                check_known(labels, example)
                cut += len(tokens) > most
                writer.add_row("tokens", tokens[:most])
                writer.add_row("labels", labels.numbers(example.labels))
                writer.add_row("texts", np.frombuffer(example.text.encode(), dtype=np.uint8))
                writer.add("file", [numbers.get(example.place.file, 0)])
                writer.add("line", [example.place.line])
    filled = [part for part, writer in files.items() if writer.sizes["line"]]
    return {"parts": filled, "cut": cut}
