"""Tagging: a tag for each word of a sentence."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Int, Integer
from numpy import ndarray

from seqloom.data.lines import skipped
from seqloom.data.origin import Origin
from seqloom.data.split import TEST, TRAIN
from seqloom.data.tagged import LETTERS, TAGS, WORDS, Spellings, TaggedData, TaggedPart, open_all, tagged, write
from seqloom.data.vocabulary import Vocabulary
from seqloom.nn.heads.crf import CRF
from seqloom.nn.heads.head import ClassHead
from seqloom.nn.heads.positions import PerPosition
from seqloom.nn.layer import Layer
from seqloom.nn.models import Model
from seqloom.nn.state import State
from seqloom.nn.words import CHARACTER_ENCODERS, Words
from seqloom.spec.config.experiment import Experiment
from seqloom.spec.config.model import Transformer
from seqloom.spec.errors import RunError
from seqloom.tasks.bodies import body, positions, started, stem_dropout, tokens
from seqloom.tasks.metrics.calibration import Calibration
from seqloom.tasks.metrics.classes import Classes as ClassScores
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.metrics.spans import Spans, Tags, is_span_scheme
from seqloom.tasks.row_task import RowTask
from seqloom.tasks.rows import padded
from seqloom.tasks.task import Batch, Evaluation, Outcome
from seqloom.tasks.worst import Worst


class Tag(RowTask[TaggedData, TaggedPart]):
    """p(tag_t | sentence) for each word, one by one or as a chain (CRF)."""

    name: ClassVar[str] = "tag"
    summary: ClassVar[str] = "Give each word of a sentence its tag. Reads CoNLL-U, or a word and its tag a line."
    items: ClassVar[str] = "sentences"
    made_of: ClassVar[str] = "words"
    higher_is_better = True

    def __init__(
        self,
        experiment: Experiment,
        spellings: Spellings,
        tags: Vocabulary,
        *,
        data: TaggedData | None = None,
        origin: Origin | None = None,
    ) -> None:
        super().__init__(experiment, data, origin)
        self.spellings, self.tags = spellings, tags
        self.spans = is_span_scheme(tags.names)
        self.chosen_by = "span_f1" if self.spans else "accuracy"

    @classmethod
    def prepare(cls, experiment: Experiment, origin: Origin) -> "Tag":
        data = tagged(origin)
        return cls(experiment, data.spellings, data.tags, data=data, origin=origin)

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> "Tag":
        words, letters, tags = (Vocabulary.from_json(files[name], name) for name in (WORDS, LETTERS, TAGS))
        for name, some in ((WORDS, words), (LETTERS, letters)):
            if some.unknown is None:
                raise RunError(f"{name}: nothing there stands for what is unknown. Restore the file from a copy.")
        return cls(experiment, Spellings(words, letters, experiment.data.lowercase), tags)

    def files(self) -> dict[str, str]:
        told = {WORDS: self.spellings.words, LETTERS: self.spellings.letters, TAGS: self.tags}
        return {name: vocabulary.to_json() for name, vocabulary in told.items()}

    def read(self, files: Sequence[str], folder: Path) -> None:
        self._origin = origin = Origin.to_test(self.experiment, files)
        bad = origin.bad()
        sentences = ((TEST, sentence) for sentence in origin.sentences(TEST, bad))
        told = write(origin, folder, self.spellings, self.tags, sentences)
        self._data = open_all(folder, self.spellings, self.tags, told | {"skipped": skipped(bad)})

    def told_in(self) -> str:
        return f"{len(self.spellings.words):,} words, {len(self.tags)} tags"

    def collate(self, part: TaggedPart, rows: Integer[ndarray, " batch"]) -> Batch:
        """Some sentences of a part as tensors: each word's number and letters, each word's tag."""
        forms, lengths = padded([part.forms[row] for row in rows])
        target, _ = padded([part.tags[row] for row in rows])
        source = self.narrow(torch.from_numpy(self.data.table[forms.numpy()]).long())
        return Batch(source, target, lengths, rows=tuple(int(row) for row in rows))

    def narrow(self, source: Int[torch.Tensor, "batch time letters"]) -> Int[torch.Tensor, "batch time *letters"]:
        """Only what the model reads: the words alone, or letters up to the longest word's last."""
        if self.experiment.model.characters == "none":
            return source[:, :, 0]
        longest = int((source[:, :, 1:] != 0).sum(dim=2).max())
        return source[:, :, : 1 + max(1, longest)]

    def show(self, batch: Batch) -> Iterator[str]:
        part = self.data.parts[TRAIN]
        for row in batch.rows:
            words = self.data.words(part.forms[row])
            yield " ".join(f"{word}/{self.tags[tag]}" for word, tag in zip(words, part.tags[row], strict=True))

    def build(self) -> Model:
        part = self.experiment.model
        layers = body(part, part.width, causal=False)
        size, tags = layers.output_size, len(self.tags)
        head: ClassHead = (
            CRF(size, tags) if part.crf else PerPosition(size, tags, smoothing=self.experiment.train.label_smoothing)
        )
        return started(Model(self.stem(), layers, head), part)

    def stem(self) -> Layer:
        """Words, and their letters beside them if the config says so; both together are `width` wide."""
        part = self.experiment.model
        if part.characters == "none":
            return tokens(part, len(self.spellings.words))
        beside = part.character_width or 1
        kind = CHARACTER_ENCODERS[part.characters or "lstm"]
        return Words(
            len(self.spellings.words),
            part.width - beside,
            kind(len(self.spellings.letters), min(32, beside), beside),
            scaled=isinstance(part, Transformer) and part.scaled,
            positions=positions(part, part.width),
            dropout=stem_dropout(part),
            word_dropout=part.word_dropout,
        )

    def outcome(self, model: Model, batch: Batch, state: State | None) -> Outcome:
        y, _ = model(batch.source, batch.lengths)
        return Outcome(model.head.loss(y, batch.target, batch.lengths), None, y)

    def evaluate(self, model: Model, part: str, device: torch.device) -> Evaluation:
        data = self.data.parts[part]
        measured, calibration, worst = Likelihood(), Calibration(), Worst()
        classes, spans, tags = ClassScores(self.tags.names), Spans(), Tags()
        for batch in (each.to(device) for each in self.all_of(data)):
            y, _ = model(batch.source, batch.lengths)
            loss = model.head.loss(y, batch.target, batch.lengths)
            measured.add(loss.total, loss.count)
            p = model.head.probabilities(y, batch.lengths).nan_to_num()  # type: ignore[operator]  # of what diverged, 0
            said = model.head.predict(y, batch.lengths)
            classes.add(batch.target, said)
            calibration.add(p.gather(2, said.clamp(min=0).unsqueeze(2)).squeeze(2), said == batch.target)
            right = p.gather(2, batch.target.unsqueeze(2)).squeeze(2).cpu()
            for row, length, each, sure in zip(batch.rows, batch.lengths.tolist(), said.tolist(), right, strict=True):  # type: ignore[union-attr]
                gold = [self.tags[tag] for tag in data.tags[row]]
                told = [self.tags[tag] for tag in each[:length]]
                tags.add(gold, told)
                if self.spans:
                    spans.add(gold, told)
                if gold != told and worst.takes(least := float(sure[:length].min())):
                    words = self.data.words(data.forms[row])
                    worst.add(least, text=words, gold=gold, predicted=told, place=self.place(data, row))
        details = {"labels": list(self.tags.names), "confusion": classes.confusion.tolist(), "worst": worst.told()}
        details |= {"per_class": classes.by_class(), **calibration.told()}
        if self.spans:
            details["per_span"] = spans.by_class()
        scores = {**tags.scores(), **spans.scores(), "macro_f1": classes.scores()["macro_f1"]}
        return Evaluation({**scores, "loss": measured.scores()["loss"]}, details)

    def predict(self, model: Model, texts: Sequence[str], device: torch.device) -> list[dict[str, Any]]:
        """A tag for each word; words are what stands between spaces. A long sentence is read in pieces."""
        return [self.tag(model, text, device) for text in texts]

    def tag(self, model: Model, text: str, device: torch.device) -> dict[str, Any]:
        """The tags of one sentence."""
        words, most = text.split(), self.experiment.data.max_length or 1 << 62
        tags: list[str] = []
        sure: list[float] = []
        for start in range(0, len(words), most):
            piece = words[start : start + most]
            source = self.narrow(torch.from_numpy(self.spellings.rows(piece))[None])
            y, _ = model(source.to(device))
            best = model.head.predict(y)[0].tolist()
            p = model.head.probabilities(y)[0]  # type: ignore[operator]
            tags += [self.tags[tag] for tag in best]
            sure += [float(p[i, tag]) for i, tag in enumerate(best)]
        return {"text": text, "words": words, "tags": tags, "probabilities": sure}
