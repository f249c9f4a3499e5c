"""Texts with labels: rows of tokens, split by content, each with the place that it came from."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.arrays import Ragged, read, smallest_type
from seqloom.data.examples import Labelled
from seqloom.data.lines import skipped
from seqloom.data.origin import Origin
from seqloom.data.parted import Counts, ReadOnce, check_known
from seqloom.data.rows import Row, Within, files_beside, write_rows
from seqloom.data.split import TRAIN, batched, check_filled
from seqloom.data.tokenisers import Tokeniser, train_tokeniser
from seqloom.data.vocabulary import Vocabulary
from seqloom.spec.errors import DataError

META, SOURCE, LABELS, COPY = "meta.json", "source.json", "labels.json", "copy.jsonl"
TOGETHER = 1 << 20  # characters given to a tokeniser at a time, about


@dataclass(frozen=True)
class LabelledPart:
    """Rows of tokens, the labels of each, where each stood and what it said."""

    tokens: Ragged
    labels: Ragged
    texts: Ragged  # UTF-8
    files: tuple[Within, ...]
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
    folder = origin.made_ready(lambda making: make(origin, making))
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
    return LabelledPart(tokens, labels, texts, files_beside(folder), arrays["file"], arrays["line"])


def make(origin: Origin, folder: Path) -> None:
    """Read the files once, counting labels; then learn a tokeniser and write the tokens."""
    data = origin.data
    examples = ReadOnce(origin, origin.labelled, Labelled, folder / COPY)
    counts, single = examples.count()
    several = not single or data.label_separator is not None
    rare = {label for label, each in counts.items() if each.total() == 1} if data.on_rare_label == "skip" else set()
    counts = {label: each for label, each in counts.items() if label not in rare}
    check(examples, counts, several)
    examples.learn_all(counts)
    labels = Vocabulary(sorted(counts))

    def kept() -> Iterator[tuple[str, Labelled]]:
        return ((part, example) for part, example in examples if not rare.intersection(example.labels))

    tokeniser = train_tokeniser(
        data.tokeniser or "word",
        (example.text for part, example in kept() if part == TRAIN),
        vocabulary=data.vocabulary or 0,
        min_count=data.min_count,
        lowercase=data.lowercase,
        sample=data.sample or 20_000_000,
    )
    told = write(origin, folder, tokeniser, labels, kept())
    check_filled(origin.names()[0], told["parts"])
    (folder / SOURCE).write_text(tokeniser.to_json(), encoding="utf-8")
    (folder / LABELS).write_text(labels.to_json(), encoding="utf-8")
    told |= {"several": several, "skipped": skipped(examples.bad)}
    (folder / META).write_text(json.dumps(told), encoding="utf-8")
    examples.copy.unlink()


def check(examples: ReadOnce[Labelled], counts: Counts, several: bool) -> None:
    """Labels that nothing can be learnt of."""
    if len(counts) < 2 and not several:
        what = f"only one label, {next(iter(counts), 'none')!r}, so there is nothing to distinguish"
        raise DataError(examples.origin.name, what, "Give examples of another")
    for label in examples.unseen(counts):
        what = f"label {label!r} is not in the training part"
        raise DataError(examples.place_of(label), what, "Add examples, or remove this one")
    once = [label for label, each in counts.items() if each.total() == 1]
    if once and examples.origin.data.on_rare_label == "refuse":
        others = len(once) - 1
        more = f" (and {others} other{'s' if others > 1 else ''})" if others else ""
        what = f"label {once[0]!r} is seen once{more}, so it can't be both learnt and measured"
        do = "Add examples, or pass --data.on-rare-label skip (or keep)"
        raise DataError(examples.place_of(once[0]), what, do)


def write(
    origin: Origin,
    folder: Path,
    tokeniser: Tokeniser,
    labels: Vocabulary,
    examples: Iterable[tuple[str, Labelled]],
) -> dict[str, Any]:
    """The rows of each part; what there was to tell."""
    types = {"tokens": smallest_type(len(tokeniser)), "labels": smallest_type(len(labels)), "texts": "uint8"}
    most = origin.data.max_length

    def rows() -> Iterator[Row]:
        for group in batched(examples, TOGETHER, lambda each: 1 + len(each[1].text)):
            encoded = tokeniser.encode_batch([example.text for _, example in group])
            for (part, example), tokens in zip(group, encoded, strict=True):
                check_known(labels, example, "label", "example")
                numbers = {
                    "tokens": tokens[:most],
                    "labels": labels.numbers(example.labels),
                    "texts": np.frombuffer(example.text.encode(), dtype=np.uint8),
                }
                yield Row(part, example.place, len(tokens) > len(numbers["tokens"]), numbers)

    return write_rows(folder, origin.names(), types, rows())
