"""Translation: from a text to another text."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.config.section import keys
from seqloom.core.problem import KeyName, TextError
from seqloom.core.wording import counted
from seqloom.data.prepare import Dataset, Split
from seqloom.data.records import Location
from seqloom.data.row_store import SourceFile
from seqloom.data.schema import Schema
from seqloom.data.split import TRAIN
from seqloom.data.tokenizers import Tokenizer
from seqloom.models.encoder_decoder import EncoderDecoderKeys, encoder_section
from seqloom.models.family import Family
from seqloom.nn.stems import TokenEmbedding
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.generation_task import END_SIGN, SOURCE_FILE, GenerationTask, SourceBatch, with_end
from seqloom.tasks.known_characters import find_characters, find_unknown, is_all_unknown
from seqloom.tasks.metrics.text_overlap import TextOverlap
from seqloom.tasks.row_task import Rows
from seqloom.tasks.task import Answer, pad_rows
from seqloom.tasks.translate.config import TranslateData
from seqloom.tasks.translate.data import schema

LONGEST = 1 << 20  # tokens of a text, without data.max_length


class Translate(GenerationTask):
    """p(target | source), where the source is a text. With a shared vocabulary both tokenizers are one."""

    row_noun: ClassVar[str] = "pairs"
    metrics: ClassVar[type[TextOverlap]] = TextOverlap
    source_ends: ClassVar[int] = 1
    chosen_by = "chrf"  # BLEU is 0 until four words in a row are correct

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        return schema(keys(experiment.data, TranslateData))

    def learn(self, data: Dataset) -> None:
        super().learn(data)
        texts = data.splits[TRAIN]["source_texts"]
        self.known = self.known._replace(source=find_characters(texts, self.source_tokenizer))

    @property
    def source_tokenizer(self) -> Tokenizer:
        tokenizer: Tokenizer = self.encoders[SOURCE_FILE]
        return tokenizer

    def describe_encoders(self) -> str:
        source, target = self.source_tokenizer, self.target
        shared = source is target
        sizes = f"{len(source):,}" if shared else f"{len(source):,} and {len(target):,}"
        text = f"{sizes} {source.kind} tokens" + (" for both" if shared else "")
        notes = self.data.notes
        if not notes.get("odd") or not notes.get("odd_at"):
            return text
        file, line = notes["odd_at"]
        location = Location(SourceFile(*file).name(self.source_names()), line)
        uneven = f"{counted(notes['odd'], 'pair')} with more than {notes['max_ratio']:g} times the tokens on one side"
        return f"{text}; {uneven}, {notes['dropped']:,} of them dropped, the first at {location}"

    @property
    def max_source_length(self) -> int:
        return min(self.max_length, LONGEST) + 1  # and the end

    def stems(self, model: Family) -> tuple[TokenEmbedding, TokenEmbedding]:
        longest = self.max_source_length
        encoder = encoder_section(model, longest) or model
        target = model.tokens(len(self.target) + 1, max_length=longest)
        shared = self.source_tokenizer is self.target and keys(model, EncoderDecoderKeys).tied
        source = encoder.tokens(len(self.source_tokenizer) + 1, max_length=longest, tied=target if shared else None)
        return source, target

    def source_lengths(self, split: Split) -> Integer[ndarray, " rows"]:
        return split["source"].lengths() + 1

    def source_batch(self, split: Split, rows: Rows) -> SourceBatch:
        return self.pad_sources([split["source"][row] for row in rows])

    def pad_sources(self, rows: Sequence[Integer[ndarray, " _"]]) -> SourceBatch:
        return SourceBatch(*pad_rows([with_end(row, self.source_tokenizer) for row in rows]))

    def distinct_rows(self, split: Split) -> Rows:
        return np.arange(len(split))

    def first_rows(self, split: Split, count: int) -> Rows:
        rows: dict[bytes, int] = {}  # by text
        for row in range(len(split)):
            rows.setdefault(bytes(split["source_texts"][row]), row)
            if len(rows) == count:
                break
        return np.array(list(rows.values()))

    def references(self, split: Split, row: int) -> list[str]:
        return [split.text("target_texts", row)]

    def source_details(self, split: Split, row: int) -> dict[str, str]:
        return {"text": split.text("source_texts", row)}

    def source_positions(self, split: Split, row: int) -> Answer:
        return self.token_texts(split["source"][row])

    def token_texts(self, row: Integer[ndarray, " time"]) -> Answer:
        return {"source_tokens": [*self.source_tokenizer.tokens(row.tolist()), END_SIGN]}

    def unknown_tokens(self, text: str) -> list[str]:
        return find_unknown(text, self.source_tokenizer, self.known.source)

    def encode_inputs(self, inputs: Sequence[str]) -> tuple[SourceBatch, list[Answer]]:
        rows = self.source_tokenizer.encode_batch(list(inputs))
        for number, (text, row) in enumerate(zip(inputs, rows, strict=True), start=1):
            self.check_input(text, row, number)
        answers = [{"text": text, **self.token_texts(row)} for text, row in zip(inputs, rows, strict=True)]
        return self.pad_sources(rows), answers

    def check_input(self, text: str, row: Integer[ndarray, " time"], number: int) -> None:
        """Refuse a text of unknown words, and one that is longer than the encoder can read."""
        if not len(row) or is_all_unknown(text, self.source_tokenizer, self.known.source):
            message = f"{text[:40]!r} has no word in the model's vocabulary"
            advice = "Give a text in the language that the run translates from"
            raise TextError(number, message, advice, code="unknown-words")
        limit = self.input_limit()
        if limit is not None and len(row) > limit:
            message = f"{len(row):,} tokens, but the model reads at most {limit:,}"
            advice = f"Split it, or train with {KeyName('data.max_length', len(row))}"
            raise TextError(number, message, advice, code="too-many-tokens")

    def input_limit(self) -> int | None:
        encoder = encoder_section(self.experiment.model, self.max_source_length)
        return None if encoder is None or encoder.length_limit is None else self.max_source_length - 1


TASK = Translate
