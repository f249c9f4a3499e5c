"""Classification: one label for a text, or several."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.examples import Labelled
from seqloom.data.labelled import LABELS, SOURCE, LabelledData, LabelledPart, labelled, open_part, write
from seqloom.data.lines import skipped
from seqloom.data.origin import Origin
from seqloom.data.split import TEST, TRAIN
from seqloom.data.tokenisers import Tokeniser
from seqloom.data.vocabulary import Vocabulary
from seqloom.nn.heads.pooled import Classes, PooledClasses, SeveralLabels
from seqloom.nn.models import Model
from seqloom.nn.state import State
from seqloom.spec.errors import ConfigError, DataError
from seqloom.tasks.baseline import USUAL, baseline, most_frequent, restored, saved
from seqloom.tasks.bodies import body, started, tokens
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.metrics.calibration import Calibration
from seqloom.tasks.metrics.classes import Classes as ClassScores
from seqloom.tasks.metrics.classes import Labels as LabelScores
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.registry import experiment
from seqloom.tasks.row_task import RowTask
from seqloom.tasks.rows import padded
from seqloom.tasks.task import Batch, Evaluation, Outcome
from seqloom.tasks.worst import Worst

SEVERAL = "several.json"  # there is such a file where a text may have several labels


class Classify(RowTask[LabelledData, LabelledPart]):
    """p(label | text) from one vector for the whole text."""

    name: ClassVar[str] = "classify"
    summary: ClassVar[str] = (
        "Choose a label for a text. Reads CSV, TSV, JSONL, or a folder with one file or folder per class."
    )
    items: ClassVar[str] = "texts"
    made_of: ClassVar[str] = "tokens"
    higher_is_better = True

    def __init__(
        self,
        experiment: Experiment,
        tokeniser: Tokeniser,
        labels: Vocabulary,
        *,
        usual: str | None,
        data: LabelledData | None = None,
        origin: Origin | None = None,
    ) -> None:
        """usual: the most frequent label of the training part; None where a text may have several."""
        super().__init__(experiment, data, origin)
        self.tokeniser, self.labels, self.usual = tokeniser, labels, usual
        self.several = usual is None
        self.chosen_by = "micro_f1" if self.several else "accuracy"

    @classmethod
    def prepare(cls, experiment: Experiment, origin: Origin) -> "Classify":
        origin = origin.saying_columns()
        origin = replace(origin, data=origin.data.model_copy(update={"tokeniser": origin.tokeniser()}))
        experiment = experiment.model_copy(update={"data": origin.data})
        read = labelled(origin)
        if read.several:
            experiment = unsmoothed(experiment)
        usual = None if read.several else most_frequent(read.parts[TRAIN].labels.flat, read.labels)
        return cls(experiment, read.tokeniser, read.labels, usual=usual, data=read, origin=origin)

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> "Classify":
        labels = Vocabulary.from_json(files[LABELS], LABELS)
        usual = None if SEVERAL in files else restored(files, labels)
        return cls(experiment, Tokeniser.from_json(files[SOURCE], SOURCE), labels, usual=usual)

    def files(self) -> dict[str, str]:
        told = {SOURCE: self.tokeniser.to_json(), LABELS: self.labels.to_json()}
        return told | ({SEVERAL: "true"} if self.usual is None else {USUAL: saved(self.usual)})

    def read(self, files: Sequence[str], folder: Path) -> None:
        origin = Origin.to_test(self.experiment, files)
        bad = origin.bad()
        examples = ((TEST, self.counted(example)) for example in origin.labelled(TEST, bad))
        told = write(origin, folder, self.tokeniser, self.labels, examples)
        parts = {TEST: open_part(folder / TEST)}
        self._data = LabelledData(self.tokeniser, self.labels, parts, self.several, told["cut"], skipped(bad))
        self._origin = origin

    def counted(self, example: Labelled) -> Labelled:
        """An example with as many labels as this run's have: exactly one, or any number."""
        if not self.several and len(example.labels) != 1:
            what = f"{len(example.labels) or 'no'} labels, and this run gives each text one"
            raise DataError(example.place, what, "Leave the example out, or train on such ones")
        return example

    def told_in(self) -> str:
        return f"{len(self.labels)} labels, {self.tokeniser.kind} tokens"

    def collate(self, part: LabelledPart, rows: Integer[ndarray, " batch"]) -> Batch:
        """Some rows of a part as tensors."""
        source, lengths = padded([part.tokens[row] for row in rows])
        if not self.several:
            target = torch.from_numpy(np.array([part.labels[row][0] for row in rows], dtype=np.int64))
        else:
            target = torch.zeros(len(rows), len(self.labels), dtype=torch.bool)
            for i, row in enumerate(rows):
                target[i, part.labels[row].astype(np.int64)] = True
        return Batch(source, target, lengths, rows=tuple(int(row) for row in rows))

    def show(self, batch: Batch) -> Iterator[str]:
        for tokens_of, length, row in zip(batch.source, batch.lengths.tolist(), batch.rows, strict=True):  # type: ignore[union-attr]
            told = " ".join(self.tokeniser.tokens(tokens_of[:length].tolist()))
            yield f"{told} -> {self.told(self.data.parts[TRAIN].labels[row].tolist())}"

    def told(self, labels: Sequence[int]) -> str:
        """Labels for a person."""
        return ", ".join(self.labels[label] for label in labels) or "(none)"

    def build(self) -> Model:
        part, smoothing = self.experiment.model, self.experiment.train.label_smoothing
        layers = body(part, part.width, causal=False)
        pool, size, classes = part.pool or "mean", layers.output_size, len(self.labels)
        head: PooledClasses = (
            SeveralLabels(size, classes, pool=pool)
            if self.several
            else Classes(size, classes, pool=pool, smoothing=smoothing)
        )
        return started(Model(tokens(part, len(self.tokeniser)), layers, head), part)

    def outcome(self, model: Model, batch: Batch, state: State | None, done: float) -> Outcome:
        y, _ = model(batch.source, batch.lengths)
        if self.experiment.train.loss_at == "every":  # each step is asked for the class (Lipton et al. 2016)
            each = batch.target.unsqueeze(1).expand(-1, y.shape[1], *batch.target.shape[1:])
            return Outcome(model.head.head.loss(y, each, batch.lengths), None, y)  # type: ignore[union-attr, operator]
        return Outcome(model.head.loss(y, batch.target, batch.lengths), None, y)

    def evaluate(self, model: Model, part: str, device: torch.device) -> Evaluation:
        data = self.data.parts[part]
        measured, calibration, worst = Likelihood(), Calibration(), Worst()
        scores = LabelScores(self.labels.names) if self.several else ClassScores(self.labels.names)
        for batch in (each.to(device) for each in self.all_of(data)):
            y, _ = model(batch.source, batch.lengths)
            loss = model.head.loss(y, batch.target, batch.lengths)
            measured.add(loss.total, loss.count)
            p = model.head.probabilities(y, batch.lengths).nan_to_num()  # type: ignore[operator]  # of what diverged, 0
            said = model.head.predict(y, batch.lengths)
            scores.add(batch.target, said)
            if not self.several:
                calibration.add(p.amax(dim=1), said == batch.target)
            self.note_worst(worst, data, batch, p)
        details: dict[str, Any] = {"per_class": scores.by_class(), "worst": worst.told()}
        if isinstance(scores, ClassScores) and self.usual is not None:
            details["baseline"] = baseline(self.usual, self.labels, scores.confusion)
            details |= {"labels": list(self.labels.names), "confusion": scores.confusion.tolist()}
            details |= calibration.told()
        return Evaluation({**scores.scores(), "loss": measured.scores()["loss"]}, details)

    def note_worst(self, worst: Worst, part: LabelledPart, batch: Batch, p: torch.Tensor) -> None:
        """Texts whose own label was thought least likely."""
        if self.several:
            right = torch.where(batch.target, p, 1 - p).prod(dim=1)
        else:
            right = p.gather(1, batch.target.unsqueeze(1)).squeeze(1)
        for row, probability, each in zip(batch.rows, right.tolist(), p.cpu(), strict=True):
            if worst.takes(probability):
                gold = self.told(part.labels[row].tolist())
                said = (each >= 0.5).nonzero().flatten().tolist() if self.several else [int(each.argmax())]
                if gold != self.told(said):
                    text = bytes(part.texts[row]).decode()
                    worst.add(probability, text=text, gold=gold, predicted=self.told(said), place=self.place(part, row))

    def predict(self, model: Model, texts: Sequence[str], device: torch.device) -> list[dict[str, Any]]:
        """The likeliest label, or all that are likely; `cut` says whether a text was too long to be read to its end."""
        rows = self.tokeniser.encode_batch(list(texts))
        source, lengths = padded([row[: self.most] for row in rows])
        y, _ = model(source.to(device), lengths)
        answers: list[dict[str, Any]] = []
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


def unsmoothed(chosen: Experiment) -> Experiment:
    """The config where a text may have several labels, which is known only once they are read: nothing to smooth."""
    usual, smoothing = experiment({"task": "classify"}).train.label_smoothing, chosen.train.label_smoothing
    if smoothing not in (0, usual):
        what = f"train.label_smoothing is {smoothing:g}, and has no use where a text may have several labels"
        raise ConfigError(f"{what}. Leave it out", "train.label_smoothing")
    return chosen.model_copy(update={"train": chosen.train.model_copy(update={"label_smoothing": 0.0})})


TASK = Classify
