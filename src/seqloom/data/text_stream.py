"""Text for language models: one row of tokens per split, cut from the text by position, in bounded memory."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.problem import DataError, KeyName
from seqloom.core.wording import counted
from seqloom.data.cache import find_or_create
from seqloom.data.row_store import ArrayWriter, read_arrays, smallest_type
from seqloom.data.schema import TokenizerLearner
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS, TEST, TRAIN, VALID, ChunkReader, batched, split_at_lines
from seqloom.data.tokenizers import Tokenizer

CHUNK_CHARACTERS = 1 << 16
CHUNKS_PER_BATCH = 16  # chunks that are encoded in one call, on several threads
MIN_TOKENS = 2  # of a split: an input and a target
PURPOSES = {TRAIN: "training", VALID: "validation", TEST: "testing"}
META, TOKENIZER_FILE = "meta.json", "source.json"


@dataclass(frozen=True)
class TokenStreams:
    """The tokens of each split, and the number of characters that they encode."""

    tokenizer: Tokenizer
    tokens: dict[str, Integer[ndarray, " n"]]
    characters: dict[str, int]


def prepare_stream(source: DataSource, learner: TokenizerLearner) -> TokenStreams:
    """The token streams of a source, from the cache or computed; an error if a file changes meanwhile."""

    def fill(folder: Path) -> None:
        write_streams(source, learner, folder)
        source.check_unchanged()

    folder = find_or_create({**source.cache_key(), "learner": repr(learner)}, fill)
    characters = json.loads((folder / META).read_text(encoding="utf-8"))["characters"]
    tokenizer = learner.load((folder / TOKENIZER_FILE).read_text(encoding="utf-8"), TOKENIZER_FILE)
    tokens = {split: read_arrays(folder / split)["tokens"] for split in characters}
    return TokenStreams(tokenizer, tokens, characters)


def prepare_test_stream(source: DataSource, tokenizer: Tokenizer, folder: Path) -> TokenStreams:
    """The test files of a source in the tokens of a run's tokenizer; the array is stored in `folder`."""
    characters, tokens = write_stream(source.text(TEST), tokenizer, folder)
    if tokens < MIN_TOKENS:
        raise DataError(source.name, "less than two tokens", "Give a longer text", code="short-test")
    return TokenStreams(tokenizer, {TEST: read_arrays(folder)["tokens"]}, {TEST: characters})


def write_streams(source: DataSource, learner: TokenizerLearner, folder: Path) -> None:
    spans = split_spans(source, lambda split: sum(map(len, source.text(split))))
    tokenizer = learner.learn(ChunkReader(source.text(TRAIN)).read(spans[TRAIN][2]), {})
    texts = {split: ChunkReader(source.text(split)) for split in SPLITS if source.has(split)}
    counts: dict[str, int] = {}
    for split, (origin, start, stop) in spans.items():
        counts[split], tokens = write_stream(texts[origin].read(stop - start), tokenizer, folder / split)
        if tokens < MIN_TOKENS:
            raise too_short(source, origin, split, counts[split])
    (folder / TOKENIZER_FILE).write_text(tokenizer.to_json(), encoding="utf-8")
    (folder / META).write_text(json.dumps({"characters": counts}), encoding="utf-8")


def write_stream(text: Iterable[str], tokenizer: Tokenizer, folder: Path) -> tuple[int, int]:
    """Write one row of tokens; return the numbers of characters and of tokens."""
    characters = 0
    with ArrayWriter(folder, {"tokens": smallest_type(len(tokenizer))}) as writer:
        for chunks in batched(split_at_lines(text, CHUNK_CHARACTERS), CHUNKS_PER_BATCH):
            characters += sum(map(len, chunks))
            writer.append("tokens", np.concatenate(tokenizer.encode_batch(chunks)))
    return characters, writer.sizes["tokens"]


def too_short(source: DataSource, origin: str, split: str, characters: int) -> DataError:
    """The error for a split of less than two tokens, cut from the text of the split `origin`."""
    name = (*source.files[origin], *source.names())[0]
    message = f"only {counted(characters, 'character')} for {PURPOSES[split]}"
    own_files = f"files of their own with {KeyName('data.valid')} and {KeyName('data.test')}"
    return DataError(name, message, f"Give a longer text, or {own_files}", code="short-split")


def split_spans(source: DataSource, length: Callable[[str], int]) -> dict[str, tuple[str, int, int]]:
    """For each split: the split whose files contain it, and the start and stop of its characters there.

    length: the number of characters in the files of a split
    """
    total = length(TRAIN)
    valid_start = int(total * (1 - source.share(VALID) - source.share(TEST)))
    test_start = int(total * (1 - source.share(TEST)))
    spans = {TRAIN: (TRAIN, 0, valid_start)}
    for split, start, stop in ((VALID, valid_start, test_start), (TEST, test_start, total)):
        if source.has(split):
            spans[split] = (split, 0, length(split))
        elif source.share(split):
            spans[split] = (TRAIN, start, stop)
    return spans
