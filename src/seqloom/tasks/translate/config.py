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
        "The source language of the corpus `numbers`, as a num2words code.",
        only_with={"data.train": NO_FILES, "data.corpus": (None, "numbers")},
    )
    target_language: Language = key(
        "fr",
        "The target language of the corpus `numbers`, as a num2words code.",
        only_with={"data.train": NO_FILES, "data.corpus": (None, "numbers")},
    )
    source: str | None = column_key("The column of the source text; default: detected by its name, or else the first.")
    target: str | None = column_key("The column of the target text; default: detected by its name, or else the second.")
    max_ratio: float = key(
        9.0, "Report pairs in which one side has more than this many times the tokens of the other.", ge=1
    )
    on_ratio: Literal["keep", "drop"] = key(
        "keep", "Whether to keep or drop such pairs in the training split; valid and test keep them."
    )
    shared_vocabulary: bool = key(True, "Whether both sides share one vocabulary, learned from both together.")


class Config(GenerationConfig):
    """Turn a text into another."""

    data_spec = DATA_SPEC
    answer = "translation"
    help = Help(
        "Learns to generate a target text from a source text: its translation, summary or transcription. Reads a "
        "table with a source and a target in each row, or two text files with one sentence per line, in the same "
        "order. An encoder reads the source; a decoder generates the target and attends to the source. The metrics "
        "are BLEU and chrF, by sacreBLEU, and exact match. The trained model translates with `seqloom predict`.",
        file="pairs.tsv",
        option="--model lstm --model.attention additive",
        more="train.en train.de --valid val.en --valid val.de",
    )
    architecture = "gru-after"
    scores = ("bleu", "chrf", "exact_match", "loss", "perplexity", "token_accuracy")

    data: TranslateData = key(..., "Files, splits and tokenization.")

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        return super().data_defaults(family, size, explicit) | {"tokenizer": "bpe"}

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        if keys(self.model, EncoderDecoderKeys).encoder == NO_ENCODER:
            message = f"{KeyName('model.encoder', 'none')} is only for images; a text needs an encoder"
            yield conflict("model.encoder", f"{message}, such as gru or transformer")
