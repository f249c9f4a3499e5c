"""Classification: one label for a text, or several."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.config.section import keys
from seqloom.core.problem import ConfigError, DataError, KeyName
from seqloom.data.prepare import Dataset, Split, prepare, prepare_test
from seqloom.data.records import Record
from seqloom.data.schema import Encoders, Schema
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN
from seqloom.data.text_io import OnBadLine
from seqloom.data.tokenizers import Tokenizer
from seqloom.data.vocabulary import Vocabulary
from seqloom.nn.heads.per_token import HEADS
from seqloom.nn.heads.pooled import LabelsPerSequence, PooledClassHead
from seqloom.nn.model import Model
from seqloom.nn.state import State
from seqloom.tasks.baseline import USUAL, baseline, most_frequent, restored, saved
from seqloom.tasks.classify.config import ClassifyData, ClassifyModel, ClassifyTrain
from seqloom.tasks.classify.data import LABELS, LABELS_FILE, TOKENIZER_FILE, guess_tokenizer, schema
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.hardest_examples import Worst
from seqloom.tasks.metrics.calibration import Calibration
from seqloom.tasks.metrics.classes import Classes as ClassScores
from seqloom.tasks.metrics.classes import MultiLabel
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.metrics.registry import MetricInputs
from seqloom.tasks.padding import padded
from seqloom.tasks.row_task import RowTask
from seqloom.tasks.task import Answer, Batch, Details, Evaluation, StepOutput

SEVERAL = "several.json"  # there is such a file where a text may have several labels


class Classify(RowTask[Model]):
    """p(label | text) from one vector for the whole text."""

    items: ClassVar[str] = "texts"
    made_of: ClassVar[str] = "tokens"
    rows: ClassVar[str] = "tokens"
    higher_is_better = True

    def __init__(
        self,
        experiment: Experiment,
        encoders: Encoders,
        data: Dataset | None = None,
        source: DataSource | None = None,
        *,
        usual: str | None,
    ) -> None:
        """usual: the most frequent label of the training split; None where a text may have several."""
        super().__init__(experiment, encoders, data, source)
        self.tokenizer: Tokenizer = encoders[TOKENIZER_FILE]
        self.labels: Vocabulary = encoders[LABELS_FILE]
        self.usual, self.several = usual, usual is None
        self.chosen_by = "micro_f1" if self.several else "accuracy"

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        return schema(keys(experiment.data, ClassifyData))

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> "Classify":
        given = keys(experiment.data, ClassifyData)
        named = source.data.model_copy(update={"tokenizer": given.tokenizer or guess_tokenizer(source)})
        source = replace(source, data=named)
        experiment = experiment.model_copy(update={"data": named})
        data = prepare(source, cls.schema(experiment))
        if not data.notes["single"] or given.label_separator is not None:
            return cls(for_several(experiment), data.encoders, data, source, usual=None)
        usual = most_frequent(data.splits[TRAIN]["labels"].flat, data.encoders[LABELS_FILE])
        return cls(experiment, data.encoders, data, source, usual=usual)

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> "Classify":
        encoders = cls.load_encoders(experiment, files)
        usual = None if SEVERAL in files else restored(files, encoders[LABELS_FILE])
        return cls(experiment, encoders, usual=usual)

    def files(self) -> dict[str, str]:
        return super().files() | ({SEVERAL: "true"} if self.usual is None else {USUAL: saved(self.usual)})

    def read(self, files: Sequence[str], folder: Path) -> None:
        self._data_source = source = self.source_to_test(files)

        def counted(on_bad_line: OnBadLine) -> Iterator[tuple[str, Record]]:
            return ((split, self.counted(example)) for split, example in source.examples(on_bad_line))

        self._data = prepare_test(source, self.schema(self.experiment), self.encoders, folder, counted)

    def counted(self, example: Record) -> Record:
        """An example with as many labels as this run's have: exactly one, or any number."""
        labels = example.values[LABELS]
        if not self.several and len(labels) != 1:
            message = f"{len(labels) or 'no'} labels, and this run gives each text one"
            raise DataError(
                example.location, message, "Leave the example out, or train on such ones", code="label-count"
            )
        return example

    def told_in(self) -> str:
        return f"{len(self.labels)} labels, {self.tokenizer.kind} tokens"

    def collate(self, part: Split, rows: Integer[ndarray, " batch"]) -> Batch:
        """Some rows of a part as tensors."""
        source, lengths = padded([part["tokens"][row] for row in rows])
        if not self.several:
            target = torch.from_numpy(np.array([part["labels"][row][0] for row in rows], dtype=np.int64))
        else:
            target = torch.zeros(len(rows), len(self.labels), dtype=torch.bool)
            for i, row in enumerate(rows):
                target[i, part["labels"][row].astype(np.int64)] = True
        return Batch(source, target, lengths, rows=tuple(int(row) for row in rows))

    def show(self, batch: Batch) -> Iterator[str]:
        for tokens_of, length, row in zip(batch.source, batch.lengths.tolist(), batch.rows, strict=True):  # type: ignore[union-attr]
            told = " ".join(self.tokenizer.tokens(tokens_of[:length].tolist()))
            yield f"{told} -> {self.told(self.data.splits[TRAIN]['labels'][row].tolist())}"

    def told(self, labels: Sequence[int]) -> str:
        """Labels for a person."""
        return ", ".join(self.labels[label] for label in labels) or "(none)"

    def build(self) -> Model:
        part, smoothing = self.experiment.model, self.experiment.train.label_smoothing
        layers = part.build(part.dim, causal=False)
        own, size, classes = keys(part, ClassifyModel), layers.output_size, len(self.labels)
        head: PooledClassHead = (
            LabelsPerSequence(size, classes, pool=own.pool)
            if self.several
            else PooledClassHead(own.pool, HEADS[own.head](size, classes, smoothing=smoothing))
        )
        return part.initialized(Model(part.tokens(len(self.tokenizer)), layers, head))

    def step(self, model: Model, batch: Batch, state: State | None, done: float) -> StepOutput:
        y, _ = model(batch.source, batch.lengths)
        if keys(self.experiment.train, ClassifyTrain).loss_at == "every":
            # Each step is asked for the class (Lipton et al. 2016).
            each = batch.target.unsqueeze(1).expand(-1, y.shape[1], *batch.target.shape[1:])
            return StepOutput(model.head.head.loss(y, each, batch.lengths), None, y)  # type: ignore[union-attr, operator]
        return StepOutput(model.head.loss(y, batch.target, batch.lengths), None, y)

    def evaluate(self, model: Model, part: str, device: torch.device) -> Evaluation:
        data = self.data.splits[part]
        measured, calibration, worst = Likelihood(), Calibration(), Worst()
        metric_inputs = MetricInputs(keys(self.experiment.train, ClassifyTrain).metrics)
        scores = MultiLabel(self.labels.names) if self.several else ClassScores(self.labels.names)
        for batch in (each.to(device) for each in self.all_of(data)):
            y, _ = model(batch.source, batch.lengths)
            loss = model.head.loss(y, batch.target, batch.lengths)
            measured.add(loss.total, loss.count)
            p = model.head.probabilities(y, batch.lengths).nan_to_num()  # type: ignore[operator]  # of what diverged, 0
            said = model.head.predict(y, batch.lengths)
            scores.add(batch.target, said)
            if metric_inputs.names:
                for answer, reference in zip(said.tolist(), batch.target.tolist(), strict=True):
                    metric_inputs.add(self.answer_of(answer), self.answer_of(reference))
            if not self.several:
                calibration.add(p.amax(dim=1), said == batch.target)
            self.note_worst(worst, data, batch, p)
        details: Details = {"per_class": scores.by_class(), "worst": worst.told()}
        if isinstance(scores, ClassScores) and self.usual is not None:
            details["baseline"] = baseline(self.usual, self.labels, scores.confusion)
            details |= {"labels": list(self.labels.names), "confusion": scores.confusion.tolist()}
            details |= calibration.details()
        return Evaluation({**scores.scores(), "loss": measured.scores()["loss"], **metric_inputs.scores()}, details)

    def answer_of(self, target: int | list[bool]) -> str | tuple[str, ...]:
        """A label; all of them, in the order of the vocabulary, where a text may have several."""
        if isinstance(target, int):
            return self.labels[target]
        return tuple(label for label, has_it in zip(self.labels.names, target, strict=True) if has_it)

    def note_worst(self, worst: Worst, part: Split, batch: Batch, p: torch.Tensor) -> None:
        """Texts whose own label was thought least likely."""
        if self.several:
            right = torch.where(batch.target, p, 1 - p).prod(dim=1)
        else:
            right = p.gather(1, batch.target.unsqueeze(1)).squeeze(1)
        for row, probability, each in zip(batch.rows, right.tolist(), p.cpu(), strict=True):
            if worst.takes(probability):
                gold = self.told(part["labels"][row].tolist())
                said = (each >= 0.5).nonzero().flatten().tolist() if self.several else [int(each.argmax())]
                if gold != self.told(said):
                    text = part.text("texts", row)
                    worst.add(probability, text=text, gold=gold, predicted=self.told(said), place=self.place(part, row))

    def predict(self, model: Model, texts: Sequence[str], device: torch.device) -> list[Answer]:
        """The likeliest label, or all that are likely; `cut` says whether a text was too long to be read to its end."""
        rows = self.tokenizer.encode_batch(list(texts))
        source, lengths = padded([row[: self.most] for row in rows])
        y, _ = model(source.to(device), lengths)
        answers: list[Answer] = []
        every = model.head.probabilities(y, lengths).cpu()  # type: ignore[operator]
        for text, row, p in zip(texts, rows, every, strict=True):
            told = {self.labels[i]: float(p[i]) for i in p.argsort(descending=True).tolist()}
            if self.several:
                answers.append({"text": text, "labels": [name for name, q in told.items() if q >= 0.5]})
            else:
                label = next(iter(told))
                answers.append({"text": text, "label": label, "probability": told[label]})
            answers[-1] |= {"probabilities": told, "cut": len(row) > self.most}
        return answers


def for_several(chosen: Experiment) -> Experiment:
    """The config where a text may have several labels, which is known only once they are read: nothing to smooth, and
    no head that chooses one."""
    head = keys(chosen.model, ClassifyModel).head
    if head != ClassifyModel.model_fields["head"].default:
        what = f"{KeyName('model.head', head)} chooses one label, and here a text may have several"
        raise ConfigError(what, "Leave it out", key="model.head")
    usual, smoothing = ClassifyTrain.model_fields["label_smoothing"].default, chosen.train.label_smoothing
    if smoothing not in (0, usual):
        name = KeyName("train.label_smoothing")
        message = f"{name} is {smoothing:g}, and has no use where a text may have several labels"
        raise ConfigError(message, "Leave it out", key=name.dotted, code="key-without-use")
    return chosen.model_copy(update={"train": chosen.train.model_copy(update={"label_smoothing": 0.0})})


TASK = Classify
