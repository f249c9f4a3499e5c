"""A task in one file: it predicts the number of words of a text. It is registered in the process of the test."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, ClassVar

import torch
from jaxtyping import Integer
from numpy import ndarray

import seqloom
from seqloom.core.config.data import TokenizedData
from seqloom.core.config.section import Values, key, keys
from seqloom.core.problem import DataError
from seqloom.core.registry import Registry
from seqloom.data.formats import TableData, column_key
from seqloom.data.prepare import Split
from seqloom.data.records import Field, Location, Record, parse_scalar
from seqloom.data.schema import NumberColumn, Schema, TextColumn, TokenColumn, tokenizer_learner
from seqloom.data.spec import DataSpec, EmbeddedCorpus, Role
from seqloom.models.family import Family, Use
from seqloom.nn.heads import Pooled, SquaredError
from seqloom.nn.model import Model
from seqloom.nn.state import State
from seqloom.tasks.experiment import Experiment, Help
from seqloom.tasks.row_task import RowTask
from seqloom.tasks.task import Batch, Evaluation, StepOutput, pad_rows

TEXT, COUNT = 0, 1  # indices of the values of an example
TOKENIZER_FILE = "tokenizer.json"


def lines(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """The embedded corpus: lines of up to `length` words, and their numbers of words."""
    random = Random(seed)
    for number in range(1, (examples or 400) + 1):
        words = random.choices(["red", "old", "river", "house"], k=random.randint(1, length or 8))
        yield Record((" ".join(words), float(len(words))), Location("lines", number))


def to_number(field: Field, _data: object) -> float:
    try:
        return float(parse_scalar(field.value, field.location))
    except ValueError:
        message = f"{field.value!r} is not a number"
        raise DataError(field.location, message, "Write one, such as 7", code="not-a-number") from None


class CountData(TokenizedData, TableData):
    """Texts and their numbers of words."""

    text: str | None = column_key("The column of the text.")
    count: str | None = column_key("The column of the number.")


class Config(Experiment):
    """Say how many words a text has."""

    data_spec = DataSpec(
        "count",
        "CSV, TSV or JSONL, with a text and its number of words",
        ("table",),
        roles=(Role("text", "text", ("text",)), Role("count", "count", ("count", "words"), parse=to_number)),
        corpora=Registry("corpus", {"lines": EmbeddedCorpus(f"{__name__}:lines")}),
        suffix=".csv",
    )
    help = Help("Learns to count the words of a text.", "texts.csv", "--model gru", "texts.csv --valid more.csv")
    architecture = "lstm"
    use = Use.ENCODE
    data: CountData = key(..., "Files, splits and tokenization.")

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, values: Values) -> Values:
        return super().data_defaults(family, size, values) | {"tokenizer": "word", "max_length": 64}


class CountWords(RowTask[Model]):
    """ŷ = w · mean(y) + b; the loss is (ŷ − words)²."""

    row_noun: ClassVar[str] = "texts"
    length_unit: ClassVar[str] = "tokens"
    length_column: ClassVar[str] = "tokens"
    chosen_by, higher_is_better = "error", False

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        data = keys(experiment.data, CountData)
        tokens = TokenColumn("tokens", TEXT, data.max_length, encoder=TOKENIZER_FILE)
        columns = (tokens, NumberColumn("count", COUNT), TextColumn("texts", TEXT))
        return Schema(columns, {TOKENIZER_FILE: tokenizer_learner((TEXT,), data, "word")})

    def collate(self, split: Split, rows: Integer[ndarray, " batch"]) -> Batch:
        source, lengths = pad_rows([split["tokens"][row] for row in rows])
        target = torch.tensor([[float(split["count"][row][0])] for row in rows])
        return Batch(source, target, lengths, rows=tuple(map(int, rows)))

    def build(self) -> Model:
        model = self.experiment.model
        layers = model.build(model.dim, causal=False)
        head = Pooled("mean", SquaredError(layers.output_size, 1))
        return model.initialized(Model(model.tokens(len(self.encoders[TOKENIZER_FILE])), layers, head))

    def step(self, model: Model, batch: Batch, state: State | None, done: float) -> StepOutput:
        y, _ = model(batch.source, batch.lengths)
        return StepOutput(model.head.loss(y, batch.target, batch.lengths), None, y)

    def evaluate(self, model: Model, split: str, device: torch.device) -> Evaluation:
        errors = [
            model.head.predict(model(batch.source, batch.lengths)[0], batch.lengths) - batch.target
            for batch in (cpu_batch.to(device) for cpu_batch in self.batches(self.data.splits[split]))
        ]
        return Evaluation({"error": float(torch.cat(errors).abs().mean())})

    def predict(self, model: Model, texts: Sequence[str], device: torch.device) -> list[dict[str, Any]]:
        source, lengths = pad_rows(self.encoders[TOKENIZER_FILE].encode_batch(list(texts)))
        counts = model.head.predict(model(source.to(device), lengths)[0], lengths)
        return [{"text": text, "words": round(float(count), 3)} for text, count in zip(texts, counts, strict=True)]


TASK = CountWords


def register() -> None:
    seqloom.register.task("count", __name__, summary="count the words of a text")
