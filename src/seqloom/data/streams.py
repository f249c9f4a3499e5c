"""Text for language models: one long row of tokens a part, split where it stands, in bounded memory."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.arrays import Writer, read, smallest_type
from seqloom.data.origin import Origin
from seqloom.data.split import PARTS, TEST, TRAIN, VALID, Taken, at_lines, batched
from seqloom.data.tokenisers import Tokeniser, train_tokeniser
from seqloom.data.wording import counted
from seqloom.spec.errors import DataError

PIECE = 1 << 16  # characters given to a tokeniser at a time
PIECES = 16  # of them together, for its threads
LEAST = 2  # tokens of a part: one to read, one to predict

META, SOURCE = "meta.json", "source.json"


@dataclass(frozen=True)
class Streams:
    """The tokens of each part, and how many characters they were."""

    tokeniser: Tokeniser
    tokens: dict[str, Integer[ndarray, " n"]]
    characters: dict[str, int]


def streams(origin: Origin) -> Streams:
    """Text made ready, from the cache or now."""
    folder = origin.made_ready(lambda making: make(origin, making))
    told = json.loads((folder / META).read_text(encoding="utf-8"))
    tokeniser = Tokeniser.from_json((folder / SOURCE).read_text(encoding="utf-8"))
    parts = {part: read(folder / part)["tokens"] for part in told["characters"]}
    return Streams(tokeniser, parts, told["characters"])


def make(origin: Origin, folder: Path) -> None:
    """Split, learn a tokeniser from the training part, write the tokens of each part."""
    data = origin.data
    spans = spans_of(origin, lambda part: sum(map(len, origin.text(part))))
    tokeniser = train_tokeniser(
        data.tokeniser or "character",
        Taken(origin.text(TRAIN)).take(spans[TRAIN][2]),
        vocabulary=data.vocabulary or 0,
        min_count=data.min_count,
        lowercase=data.lowercase,
        sample=data.sample or 20_000_000,
    )
    texts = {part: Taken(origin.text(part)) for part in PARTS if origin.has(part)}  # of which several may be cut
    counts: dict[str, int] = {}
    for part, (where, start, stop) in spans.items():
        counts[part] = 0
        with Writer(folder / part, {"tokens": smallest_type(len(tokeniser))}) as writer:
            for pieces in batched(at_lines(texts[where].take(stop - start), PIECE), PIECES):
                counts[part] += sum(map(len, pieces))
                writer.add("tokens", np.concatenate(tokeniser.encode_batch(pieces)))
        if writer.sizes["tokens"] < LEAST:
            name = (*origin.files[where], *origin.names())[0]
            what = f"only {counted(counts[part], 'character')} for the part to {WHAT_FOR[part]}"
            raise DataError(name, what, "Give a longer text, or files of their own with --valid and --test")
    (folder / SOURCE).write_text(tokeniser.to_json(), encoding="utf-8")
    (folder / META).write_text(json.dumps({"characters": counts}), encoding="utf-8")


WHAT_FOR = {TRAIN: "learn from", VALID: "choose by", TEST: "test on"}


def spans_of(origin: Origin, length: Callable[[str], int]) -> dict[str, tuple[str, int, int]]:
    """Of each part: whose text it is cut from, and from which character to which; `length` says how long a text is."""
    cut = {part: origin.share(part) for part in (VALID, TEST)}
    total = length(TRAIN)
    valid_from = int(total * (1 - cut[VALID] - cut[TEST]))
    test_from = int(total * (1 - cut[TEST]))
    spans = {TRAIN: (TRAIN, 0, valid_from)}
    for part, start, stop in ((VALID, valid_from, test_from), (TEST, test_from, total)):
        if origin.has(part):
            spans[part] = (part, 0, length(part))
        elif cut[part]:
            spans[part] = (TRAIN, start, stop)
    return {part: spans[part] for part in PARTS if part in spans}
