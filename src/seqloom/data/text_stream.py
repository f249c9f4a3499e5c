"""Text for language models: one long row of tokens for each split, split where it stands, in bounded memory."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.plurals import counted
from seqloom.core.problem import DataError, KeyName
from seqloom.data.cache import create, find
from seqloom.data.row_store import Writer, read, smallest_type
from seqloom.data.schema import TokenizerLearner
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS, TEST, TRAIN, VALID, ChunkReader, at_lines, batched
from seqloom.data.tokenizers import Tokenizer

PIECE = 1 << 16  # characters given to a tokenizer at a time
PIECES = 16  # of them together, for its threads
LEAST = 2  # tokens of a part: one to read, one to predict

META, TOKENIZER_FILE = "meta.json", "source.json"


@dataclass(frozen=True)
class TokenStreams:
    """The tokens of each split, and how many characters they were."""

    tokenizer: Tokenizer
    tokens: dict[str, Integer[ndarray, " n"]]
    characters: dict[str, int]


def prepare_stream(source: DataSource, learner: TokenizerLearner) -> TokenStreams:
    """Text made ready, from the cache or now; never from a file that changed meanwhile."""
    key = {**source.cache_key(), "learner": repr(learner)}
    folder = find(key)
    if folder is None:
        with create(key) as making:
            write_streams(source, learner, making)
            source.check_unchanged()
        folder = find(key)
        assert folder is not None
    meta = json.loads((folder / META).read_text(encoding="utf-8"))
    tokenizer = learner.load((folder / TOKENIZER_FILE).read_text(encoding="utf-8"), TOKENIZER_FILE)
    return TokenStreams(
        tokenizer, {split: read(folder / split)["tokens"] for split in meta["characters"]}, meta["characters"]
    )


def write_streams(source: DataSource, learner: TokenizerLearner, folder: Path) -> None:
    """Split, learn a tokenizer from the training split, write the tokens of each split."""
    spans = spans_of(source, lambda split: sum(map(len, source.text(split))))
    tokenizer = learner.learn(ChunkReader(source.text(TRAIN)).read(spans[TRAIN][2]), {})
    texts = {
        split: ChunkReader(source.text(split)) for split in SPLITS if source.has(split)
    }  # of which several may be cut
    counts: dict[str, int] = {}
    for split, (where, start, stop) in spans.items():
        counts[split], tokens = write_stream(texts[where].read(stop - start), tokenizer, folder / split)
        if tokens < LEAST:
            raise too_short(source, where, split, counts[split])
    (folder / TOKENIZER_FILE).write_text(learner.save(tokenizer), encoding="utf-8")
    (folder / META).write_text(json.dumps({"characters": counts}), encoding="utf-8")


def write_stream(text: Iterable[str], tokenizer: Tokenizer, folder: Path) -> tuple[int, int]:
    """One row of tokens; how many characters it was, and how many tokens it is."""
    characters = 0
    with Writer(folder, {"tokens": smallest_type(len(tokenizer))}) as writer:
        for pieces in batched(at_lines(text, PIECE), PIECES):
            characters += sum(map(len, pieces))
            writer.add("tokens", np.concatenate(tokenizer.encode_batch(pieces)))
    return characters, writer.sizes["tokens"]


def prepare_test_stream(source: DataSource, tokenizer: Tokenizer, folder: Path) -> TokenStreams:
    """The text of files to test on, in a run's tokens; `folder` is for the array."""
    characters, tokens = write_stream(source.text(TEST), tokenizer, folder)
    if tokens < LEAST:
        raise DataError(source.name, "less than two tokens", "Give a longer text", code="short-test")
    return TokenStreams(tokenizer, {TEST: read(folder)["tokens"]}, {TEST: characters})


def too_short(source: DataSource, where: str, split: str, characters: int) -> DataError:
    """A split of less than two tokens, cut from the text of the split `where`."""
    name = (*source.files[where], *source.names())[0]
    message = f"only {counted(characters, 'character')} for the split to {WHAT_FOR[split]}"
    own_files = f"files of their own with {KeyName('data.valid')} and {KeyName('data.test')}"
    return DataError(name, message, f"Give a longer text, or {own_files}", code="short-split")


WHAT_FOR = {TRAIN: "learn from", VALID: "choose by", TEST: "test on"}


def spans_of(source: DataSource, length: Callable[[str], int]) -> dict[str, tuple[str, int, int]]:
    """Of each split: whose text it is cut from, and from which character to which; `length` says how long a text is."""
    cut = {split: source.share(split) for split in (VALID, TEST)}
    total = length(TRAIN)
    valid_from = int(total * (1 - cut[VALID] - cut[TEST]))
    test_from = int(total * (1 - cut[TEST]))
    spans = {TRAIN: (TRAIN, 0, valid_from)}
    for split, start, stop in ((VALID, valid_from, test_from), (TEST, test_from, total)):
        if source.has(split):
            spans[split] = (split, 0, length(split))
        elif cut[split]:
            spans[split] = (TRAIN, start, stop)
    return {split: spans[split] for split in SPLITS if split in spans}
