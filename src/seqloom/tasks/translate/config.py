"""The config of a translator."""

from collections.abc import Iterator
from typing import Literal

from seqloom.core.config.data import NO_FILES, Language, TokenizedData
from seqloom.core.config.section import Values, key, keys
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.core.registry import Registry
from seqloom.data.formats import TableData, column_key
from seqloom.data.records import parse_stripped_text
from seqloom.data.spec import DataSpec, EmbeddedCorpus, Role
from seqloom.models.encoder_decoder import NO_ENCODER, EncoderDecoderKeys
from seqloom.models.family import Family
from seqloom.tasks.experiment import Help
from seqloom.tasks.generation_config import GenerationConfig

SOURCE_NAMES = ("source", "src", "input", "from", "original", "question", "text")
TARGET_NAMES = ("target", "tgt", "trg", "output", "to", "translation", "answer")

DATA_SPEC = DataSpec(
    "translate",
    "TSV, CSV, JSONL, or two text files, line by line",
    ("table", "parallel"),
    roles=(
        Role("source", "source", SOURCE_NAMES, languages=True, parse=parse_stripped_text, required=True),
        Role("target", "target", TARGET_NAMES, languages=True, parse=parse_stripped_text, required=True),
    ),
    corpora=Registry(
        "corpus",
        {
            "numbers": EmbeddedCorpus("seqloom.data.corpora.numbers:pairs", ("source_language", "target_language")),
            "copy": EmbeddedCorpus("seqloom.data.corpora.copy:pairs"),
        },
    ),
    suffix=".tsv",
)


class TranslateData(TokenizedData, TableData):
    """Pairs of texts in, tokens out."""

    source_language: Language = key(
        "en",
        description="The language that the corpus `numbers` is translated from, by its code.",
        only_with={"data.train": NO_FILES, "data.corpus": (None, "numbers")},
    )
    target_language: Language = key(
        "fr",
        description="The language that the corpus `numbers` is translated into, by its code.",
        only_with={"data.train": NO_FILES, "data.corpus": (None, "numbers")},
    )
    source: str | None = column_key("The column of the text to translate. Unless given, the first.")
    target: str | None = column_key("The column of the translation. Unless given, the second.")
    max_ratio: float = key(
        9.0,
        ge=1,
        description="A pair is reported in which one side has over this many times the tokens of the other.",
    )
    on_ratio: Literal["keep", "drop"] = key(
        "keep", description="Whether such a pair is kept or dropped in training; valid and test keep it."
    )
    shared_vocabulary: bool = key(
        True, description="Whether both languages have one vocabulary, learned from both together."
    )


class Config(GenerationConfig):
    """Turn a text into another."""

    data_spec = DATA_SPEC
    answer = "translation"
    help = Help(
        "Learns to turn a text into another: its translation, its summary, its other spelling. Reads a "
        "table with a source and a target in each row, or two text files whose lines belong together. An "
        "encoder reads the source, a decoder writes and looks back at it (attention). The measures are "
        "BLEU and chrF, by sacreBLEU, and the share that is exactly right. The trained model translates "
        "with `seqloom predict`.",
        file="pairs.tsv",
        option="--model lstm --model.attention additive",
        more="train.en train.de --valid val.en --valid val.de",
    )
    architecture = "gru"
    scores = ("bleu", "chrf", "exact_match", "loss", "perplexity", "token_accuracy")

    data: TranslateData = key(description="Files in, tokens out.")

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        return super().data_defaults(family, size, explicit) | {"tokenizer": "bpe"}

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        if keys(self.model, EncoderDecoderKeys).encoder == NO_ENCODER:
            message = f"{KeyName('model.encoder', 'none')} is for images; a text needs one that reads it"
            yield conflict("model.encoder", f"{message}, such as gru or transformer")
