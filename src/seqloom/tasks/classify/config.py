"""The config of a classifier."""

from collections.abc import Iterator
from typing import Literal

from seqloom.core import names
from seqloom.core.config.data import FAMILIAR, NO_FILES, Languages, TokenizedData
from seqloom.core.config.section import Section, Values, key, keys
from seqloom.core.config.train import ComparedTrain
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.core.registry import Registry
from seqloom.data.formats import TableData, column_key, table_formats
from seqloom.data.records import parse_labels
from seqloom.data.spec import DataSpec, EmbeddedCorpus, Role
from seqloom.models.family import Family, Probability, Use
from seqloom.tasks.experiment import Experiment, Help
from seqloom.tasks.label_config import LabelModel

# Usual names of these columns in public datasets; the first in the list wins.
TEXT_NAMES = (
    "text", "sentence", "review", "content", "comment", "document", "body", "message", "tweet", "post", "utterance",
    "question", "query", "phrase", "article", "description", "abstract", "summary", "headline", "title", "name",
    "word", "input",
)  # fmt: skip
LABEL_NAMES = (
    "label", "labels", "class", "classes", "category", "categories", "sentiment", "target", "polarity", "emotion",
    "intent", "topic", "topics", "genre", "genres", "language", "lang", "tag", "tags", "stars", "rating", "score",
    "type", "kind", "y", "output",
)  # fmt: skip

DATA_SPEC = DataSpec(
    "classify",
    "CSV, TSV, JSONL, or a folder with one sub-folder or one file per class",
    ("table", "folder"),
    roles=(
        Role("text", "text", TEXT_NAMES, guess="text"),
        Role("label", "label", LABEL_NAMES, guess="label", parse=parse_labels),
    ),
    corpora=Registry(
        "corpus",
        {"numbers": EmbeddedCorpus("seqloom.data.corpora.numbers:labeled", ("languages",), tokenizer="character")},
    ),
)


class ClassifyData(TokenizedData, TableData):
    """Texts and labels in, tokens out."""

    tokenizer: names.Tokenizer | None = key(
        None, "The tokenizer; default: word, or character if most texts are a single word."
    )
    languages: Languages = key(
        FAMILIAR,
        "The languages of the corpus `numbers`, as num2words codes: en,fr,de; or all.",
        only_with={"data.train": NO_FILES, "data.corpus": (None, "numbers")},
    )
    text: str | None = column_key("The column of the text: its name, or its number, counted from 1; default: guessed.")
    label: str | None = column_key(
        "The column of the label: its name, or its number, counted from 1; default: guessed."
    )
    label_separator: str | None = key(
        None,
        "The separator between the labels of a row with several labels, such as '|'.",
        only_with={"data.format": table_formats},
        of_file=True,
        min_length=1,
        max_length=8,
    )
    on_rare_label: Literal["refuse", "skip", "keep"] = key(
        "refuse", "What to do with a label that has a single example: stop with an error, skip it, or keep it."
    )


class ClassifyModel(LabelModel):
    """Keys of the model of every family."""

    pool: names.Pool = key(
        "mean",
        "How the vectors of all positions are pooled into one; last: the forward vector of the last position and the "
        "backward one of the first; last-step: both of the last.",
    )
    head: names.Head = key(
        "softmax",
        "The output layer and its loss (not with several labels).",
        only_with={"data.label_separator": (None,)},
    )


class ClassifyTrain(ComparedTrain):
    """Keys of training."""

    loss_at: Literal["every", "last"] = key(
        "last", "Whether the loss is computed at every token of a row, or only at the last."
    )
    label_smoothing: Probability = key(
        0.1,
        "The share of each target's probability spread over all classes in training (not with several labels).",
        only_with={"data.label_separator": (None,)},
    )


class Config(Experiment):
    """Choose a label for a text."""

    data_spec = DATA_SPEC
    help = Help(
        "Learns to predict the label of a text, or several labels. Reads CSV, TSV or JSONL, whose columns are "
        "guessed and printed, or a folder with one file or one sub-folder per class. A tenth "
        "of the examples is used for validation. The metrics are accuracy and F1. The trained model labels texts "
        "with `seqloom predict`.",
        file="reviews.csv",
        option="--data.text review --data.label stars",
        more="train.tsv --valid dev.tsv --test test.tsv",
    )
    architecture = "lstm"
    use = Use.ENCODE
    scores = ("accuracy", "exact_match", "micro_f1", "macro_f1", "loss")
    metric_input = "labels"

    data: ClassifyData = key(..., "Files, splits and tokenization.")
    train: ClassifyTrain = key(..., "Training.")

    @classmethod
    def model_keys(cls, family: type[Family]) -> tuple[type[Section], ...]:
        return (ClassifyModel,)

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        return super().data_defaults(family, size, explicit) | {"min_count": 2}

    @classmethod
    def model_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        return {"dropout": 0.5, "word_dropout": 0.1}

    @classmethod
    def train_defaults(cls, family: type[Family], size: str) -> Values:
        return super().train_defaults(family, size) | {"lr": 1e-3}

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        pool = keys(self.model, ClassifyModel).pool
        # At no step, a bidirectional model has the vector that `last` pools.
        expected = "last-step" if self.model.is_bidirectional else "last"
        if self.train.loss_at == "every" and pool not in (expected, "last-step"):
            message = f"{KeyName('train.loss_at', 'every')} predicts the class at each step"
            yield conflict("train.loss_at", f"{message}, which goes with {KeyName('model.pool', expected)}, not {pool}")
