"""Classification: one label for a text, or several."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from jaxtyping import Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.core.config.section import keys
from seqloom.core.problem import ConfigError, DataError, KeyName
from seqloom.data.prepare import Dataset, Split, prepare_test
from seqloom.data.records import Record
from seqloom.data.schema import Encoders, Schema
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN
from seqloom.data.text_io import OnBadLine
from seqloom.data.tokenizers import Tokenizer
from seqloom.data.vocabulary import Vocabulary
from seqloom.nn.heads.head import ClassHead
from seqloom.nn.heads.per_token import HEADS, LabelsPerToken
from seqloom.nn.heads.pooled import PooledClassHead
from seqloom.nn.model import Model
from seqloom.nn.pooling import POOLS
from seqloom.nn.record import name_tokens
from seqloom.nn.state import State
from seqloom.tasks.classify.config import ClassifyData, ClassifyModel, ClassifyTrain
from seqloom.tasks.classify.data import LABELS, LABELS_FILE, TOKENIZER_FILE, guess_tokenizer, schema
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.label_evaluation import (
    BASELINE_FILE,
    HardestExamples,
    baseline_details,
    load_baseline,
    most_frequent,
)
from seqloom.tasks.label_training import count_labels, init_output_bias
from seqloom.tasks.metrics.calibration import Calibration
from seqloom.tasks.metrics.classes import Classes, MultiLabel
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.metrics.registry import MetricInputs
from seqloom.tasks.row_task import Rows, RowTask
from seqloom.tasks.task import Answer, Batch, Details, Evaluation, StepOutput, pad_rows

MULTILABEL_FILE = "several.json"  # exists if a text may have several labels


class Classify(RowTask[Model]):
    """p(label | text) from one vector for the whole text.

    multilabel: whether a text may have several labels
    baseline: the most frequent label of the training split, if each text has one
    prior: how often each label occurs in the training split; for several labels per text, in which share of the texts
    """

    row_noun: ClassVar[str] = "texts"
    length_unit: ClassVar[str] = "tokens"
    length_column: ClassVar[str] = "tokens"
    chosen_by, higher_is_better = "accuracy", True
    multilabel = False
    baseline = ""
    prior: Shaped[ndarray, " labels"] | None = None

    def __init__(
        self, experiment: Experiment, encoders: Encoders, data: Dataset | None = None, source: DataSource | None = None
    ) -> None:
        super().__init__(experiment, encoders, data, source)
        self.tokenizer: Tokenizer = encoders[TOKENIZER_FILE]
        self.labels: Vocabulary = encoders[LABELS_FILE]

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        return schema(keys(experiment.data, ClassifyData))

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> Self:
        config = keys(experiment.data, ClassifyData)
        section = source.data.model_copy(update={"tokenizer": config.tokenizer or guess_tokenizer(source)})
        return super().prepare(experiment, replace(source, data=section))

    def learn(self, data: Dataset) -> None:
        config, split = keys(self.experiment.data, ClassifyData), data.splits[TRAIN]
        self.prior = count_labels(split["labels"].flat, len(self.labels))
        if not data.notes["single"] or config.label_separator is not None:
            self.experiment = without_class_options(self.experiment)
            self.multilabel, self.chosen_by = True, "micro_f1"
            self.prior = self.prior / len(split)
        else:
            self.baseline = most_frequent(self.prior, self.labels)

    def load(self, files: Mapping[str, str]) -> None:
        if MULTILABEL_FILE in files:
            self.multilabel, self.chosen_by = True, "micro_f1"
        else:
            self.baseline = load_baseline(files, self.labels)

    def files(self) -> dict[str, str]:
        if self.multilabel:
            return super().files() | {MULTILABEL_FILE: "true"}
        return super().files() | {BASELINE_FILE: json.dumps(self.baseline, ensure_ascii=False)}

    def read_test_files(self, files: Sequence[str], folder: Path) -> None:
        self._data_source = source = self.test_source(files)

        def examples(on_bad_line: OnBadLine) -> Iterator[tuple[str, Record]]:
            for split, example in source.examples(on_bad_line):
                labels = example.values[LABELS]
                if not self.multilabel and len(labels) != 1:
                    message = f"{len(labels) or 'no'} labels, but this run predicts one label per text"
                    advice = "Remove the example, or train on examples with several labels"
                    raise DataError(example.location, message, advice, code="label-count")
                yield split, example

        self._data = prepare_test(source, self.schema(self.experiment), self.encoders, folder, examples)

    def describe_encoders(self) -> str:
        return f"{len(self.labels)} labels, {self.tokenizer.kind} tokens"

    def collate(self, split: Split, rows: Rows) -> Batch:
        source, lengths = pad_rows([split["tokens"][row] for row in rows])
        if not self.multilabel:
            target = torch.from_numpy(np.array([split["labels"][row][0] for row in rows], dtype=np.int64))
        else:
            target = torch.zeros(len(rows), len(self.labels), dtype=torch.bool)
            for i, row in enumerate(rows):
                target[i, split["labels"][row].astype(np.int64)] = True
        return Batch(source, target, lengths, rows=tuple(rows.tolist()))

    def format_batch(self, batch: Batch) -> Iterator[str]:
        assert batch.lengths is not None
        for tokens, length, row in zip(batch.source, batch.lengths.tolist(), batch.rows, strict=True):
            text = " ".join(self.tokenizer.tokens(tokens[:length].tolist()))
            yield f"{text} -> {self.format_labels(self.data.splits[TRAIN]['labels'][row].tolist())}"

    def format_labels(self, labels: Sequence[int]) -> str:
        return ", ".join(self.labels[label] for label in labels) or "(none)"

    def build(self) -> Model:
        section, smoothing = self.experiment.model, self.experiment.train.label_smoothing
        layers = section.build(section.dim, causal=False)
        config, size, classes = keys(section, ClassifyModel), layers.output_size, len(self.labels)
        head: ClassHead = (
            LabelsPerToken(size, classes) if self.multilabel else HEADS[config.head](size, classes, smoothing=smoothing)
        )
        pooled = PooledClassHead(POOLS[config.pool].over(layers), head)
        model = section.initialized(Model(section.tokens(len(self.tokenizer)), layers, pooled))
        init_output_bias(head, section, self.prior)
        return model

    def step(self, model: Model, batch: Batch, state: State | None, progress: float) -> StepOutput:
        y, _ = model(batch.source, batch.lengths)
        if keys(self.experiment.train, ClassifyTrain).loss_at == "every":
            # Each step predicts the class (Lipton et al. 2016).
            target = batch.target.unsqueeze(1).expand(-1, y.shape[1], *batch.target.shape[1:])
            return StepOutput(model.head.head.loss(y, target, batch.lengths), None, y)  # type: ignore[union-attr, operator]
        return StepOutput(model.head.loss(y, batch.target, batch.lengths), None, y)

    def evaluate(self, model: Model, split: str, device: torch.device) -> Evaluation:
        data = self.data.splits[split]
        likelihood, calibration, hardest = Likelihood(), Calibration(), HardestExamples()
        metric_inputs = MetricInputs(keys(self.experiment.train, ClassifyTrain).metrics)
        classes = MultiLabel(self.labels.names) if self.multilabel else Classes(self.labels.names)
        for batch in (batch.to(device) for batch in self.batches(data)):
            y, _ = model(batch.source, batch.lengths)
            loss = model.head.loss(y, batch.target, batch.lengths)
            likelihood.add(loss.total, loss.count)
            p = model.head.probabilities(y, batch.lengths).nan_to_num()  # type: ignore[operator]  # NaN: the model diverged
            predicted = model.head.predict(y, batch.lengths)
            classes.add(batch.target, predicted)
            if metric_inputs.names:
                for answer, reference in zip(predicted.tolist(), batch.target.tolist(), strict=True):
                    metric_inputs.add(self.as_labels(answer), self.as_labels(reference))
            if not self.multilabel:
                calibration.add(p.amax(dim=1), predicted == batch.target)
            self.add_hardest(hardest, data, batch, p)
        details: Details = {"per_class": classes.by_class(), "worst": hardest.details()}
        if isinstance(classes, Classes):
            details["baseline"] = baseline_details(self.baseline, self.labels, classes.confusion)
            details |= {"labels": list(self.labels.names), "confusion": classes.confusion.tolist()}
            details |= calibration.details()
        scores = {**classes.scores(), "loss": likelihood.scores()["loss"], **metric_inputs.scores()}
        return Evaluation(scores, details)

    def as_labels(self, target: int | list[bool]) -> str | tuple[str, ...]:
        """A label; for several labels all of them, in the order of the vocabulary."""
        if isinstance(target, int):
            return self.labels[target]
        return tuple(label for label, present in zip(self.labels.names, target, strict=True) if present)

    def add_hardest(self, hardest: HardestExamples, split: Split, batch: Batch, p: Tensor) -> None:
        """Add the texts that are labeled wrongly, with the probability of their gold labels."""
        if self.multilabel:
            gold_p = torch.where(batch.target, p, 1 - p).prod(dim=1)
        else:
            gold_p = p.gather(1, batch.target.unsqueeze(1)).squeeze(1)
        for row, probability, row_p in zip(batch.rows, gold_p.tolist(), p.cpu(), strict=True):
            if hardest.accepts(probability):
                gold = self.format_labels(split["labels"][row].tolist())
                labels = (row_p >= 0.5).nonzero().flatten().tolist() if self.multilabel else [int(row_p.argmax())]
                predicted = self.format_labels(labels)
                if gold != predicted:
                    text, location = split.text("texts", row), self.location(split, row)
                    hardest.add(probability, text=text, gold=gold, predicted=predicted, place=location)

    def predict(self, model: Model, texts: Sequence[str], device: torch.device) -> list[Answer]:
        """The likeliest label, or all that are likely; `cut` says whether the end of a text was not read."""
        rows = self.tokenizer.encode_batch(list(texts))
        source, lengths = pad_rows([row[: self.max_length] for row in rows])
        with name_tokens(lambda rows: [self.tokenizer.tokens(row) for row in rows]):
            predicted = model.probabilities(source.to(device), lengths).cpu()
        answers: list[Answer] = []
        for text, row, p in zip(texts, rows, predicted, strict=True):
            probabilities = {self.labels[i]: float(p[i]) for i in p.argsort(descending=True).tolist()}
            if self.multilabel:
                answers.append({"text": text, "labels": [label for label, q in probabilities.items() if q >= 0.5]})
            else:
                label = next(iter(probabilities))
                answers.append({"text": text, "label": label, "probability": probabilities[label]})
            answers[-1] |= {"probabilities": probabilities, "cut": len(row) > self.max_length}
        return answers


def without_class_options(experiment: Experiment) -> Experiment:
    """The config for several labels per text, known only once the data are read: no smoothing, no other head."""
    head = keys(experiment.model, ClassifyModel).head
    if head != ClassifyModel.model_fields["head"].default:
        message = f"{KeyName('model.head', head)} predicts one label, but here a text may have several"
        raise ConfigError(message, "Leave it out", key="model.head")
    default, smoothing = ClassifyTrain.model_fields["label_smoothing"].default, experiment.train.label_smoothing
    if smoothing not in (0, default):
        name = KeyName("train.label_smoothing")
        message = f"{name} is {smoothing:g}, and has no effect where a text may have several labels"
        raise ConfigError(message, "Leave it out", key=name.dotted, code="key-without-use")
    return experiment.model_copy(update={"train": experiment.train.model_copy(update={"label_smoothing": 0.0})})


TASK = Classify
