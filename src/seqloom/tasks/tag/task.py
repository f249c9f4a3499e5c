"""Tagging: a tag for each word of a sentence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Int, Integer
from numpy import ndarray

from seqloom.core.config.section import keys
from seqloom.data.prepare import Dataset, Split
from seqloom.data.schema import Encoders, Schema
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN
from seqloom.data.vocabulary import Vocabulary
from seqloom.nn.heads.crf import CRF
from seqloom.nn.heads.head import ClassHead
from seqloom.nn.heads.per_token import HEADS
from seqloom.nn.layer import Layer
from seqloom.nn.model import Model
from seqloom.nn.state import State
from seqloom.nn.word_embedding import CHARACTER_ENCODERS, WordEmbedding
from seqloom.tasks.baseline import USUAL, baseline, most_frequent, restored, saved
from seqloom.tasks.chunking import Joined, Pieces
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.hardest_examples import LONGEST, Worst
from seqloom.tasks.metrics.calibration import Calibration
from seqloom.tasks.metrics.classes import Classes as ClassScores
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.metrics.registry import MetricInputs
from seqloom.tasks.metrics.spans import Spans, Tags, is_span_scheme
from seqloom.tasks.padding import padded
from seqloom.tasks.row_task import RowTask
from seqloom.tasks.tag.config import TagData, TagModel, TagTrain
from seqloom.tasks.tag.data import FORMS, LETTERS_FILE, TAGS_FILE, WORDS_FILE, Forms, Spellings, schema
from seqloom.tasks.task import Answer, Batch, Evaluation, StepOutput


class Tag(RowTask[Model]):
    """p(tag_t | sentence) for each word, one by one or as a chain (CRF).

    Of a sentence longer than `data.max_length` only the beginning is learnt from. Scores and answers are of every word:
    there a long sentence is read in pieces, each by itself.
    """

    items: ClassVar[str] = "sentences"
    made_of: ClassVar[str] = "words"
    rows: ClassVar[str] = FORMS
    higher_is_better = True

    def __init__(
        self,
        experiment: Experiment,
        encoders: Encoders,
        data: Dataset | None = None,
        source: DataSource | None = None,
        *,
        usual: str | None = None,
    ) -> None:
        """usual: the most frequent tag of the training split; of one that has data it is counted."""
        super().__init__(experiment, encoders, data, source)
        self.tags: Vocabulary = encoders[TAGS_FILE]
        self.spellings = Spellings(
            encoders[WORDS_FILE], encoders[LETTERS_FILE], keys(experiment.data, TagData).lowercase
        )
        self.usual = most_frequent(self.data.splits[TRAIN]["tags"].flat, self.tags) if usual is None else usual
        self.spans = is_span_scheme(self.tags.names)
        self.chosen_by = "span_f1" if self.spans else "accuracy"

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        return schema(keys(experiment.data, TagData))

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> "Tag":
        encoders = cls.load_encoders(experiment, files)
        return cls(experiment, encoders, usual=restored(files, encoders[TAGS_FILE]))

    def files(self) -> dict[str, str]:
        return super().files() | {USUAL: saved(self.usual)}

    @property
    def forms(self) -> Forms:
        """The distinct words of the data."""
        return Forms(self.data.folder)

    def told_in(self) -> str:
        return f"{len(self.spellings.words):,} words, {len(self.tags)} tags"

    def cut(self) -> int:
        return int((self.data.splits[TRAIN]["forms"].lengths() > self.most).sum()) if TRAIN in self.data.splits else 0

    def collate(self, part: Split, rows: Integer[ndarray, " batch"]) -> Batch:
        return self.pieces_of(part, rows, np.zeros_like(rows))

    def pieces_of(self, part: Split, rows: Integer[ndarray, " batch"], starts: Integer[ndarray, " batch"]) -> Batch:
        """A piece of each of some sentences as tensors: each word's number and letters, each word's tag."""
        places = [(int(row), slice(start, start + self.most)) for row, start in zip(rows, starts.tolist(), strict=True)]
        forms, lengths = padded([part["forms"][row][piece] for row, piece in places])
        target, _ = padded([part["tags"][row][piece] for row, piece in places])
        source = self.narrow(torch.from_numpy(self.forms.table[forms.numpy()]).long())
        return Batch(source, target, lengths, rows=tuple(rows.tolist()), starts=tuple(starts.tolist()))

    def all_of(self, part: Split) -> Iterator[Batch]:
        """All words of a part: a long sentence in pieces."""
        pieces = Pieces.of(part["forms"].lengths(), self.most)
        for some in self.batches(pieces.lengths):
            yield self.pieces_of(part, pieces.rows[some], pieces.starts[some])

    def narrow(self, source: Int[torch.Tensor, "batch time letters"]) -> Int[torch.Tensor, "batch time *letters"]:
        """Only what the model reads: the words alone, or letters up to the longest word's last."""
        if keys(self.experiment.model, TagModel).characters == "none":
            return source[:, :, 0]
        longest = int((source[:, :, 1:] != 0).sum(dim=2).max())
        return source[:, :, : 1 + max(1, longest)]

    def show(self, batch: Batch) -> Iterator[str]:
        part = self.data.splits[TRAIN]
        for row in batch.rows:
            words, tags = self.forms.words(part["forms"][row][: self.most]), part["tags"][row][: self.most]
            yield " ".join(f"{word}/{self.tags[tag]}" for word, tag in zip(words, tags, strict=True))

    def build(self) -> Model:
        part = self.experiment.model
        layers = part.build(part.dim, causal=False)
        size, tags = layers.output_size, len(self.tags)
        smoothing = self.experiment.train.label_smoothing
        own = keys(part, TagModel)
        head: ClassHead = CRF(size, tags) if own.crf else HEADS[own.head](size, tags, smoothing=smoothing)
        return part.initialized(Model(self.stem(), layers, head))

    def stem(self) -> Layer:
        """Words, and their letters beside them if the config says so; both together are `width` wide."""
        part = self.experiment.model
        own = keys(part, TagModel)
        if own.characters == "none":
            return part.tokens(len(self.spellings.words))
        beside, kind = own.character_width, CHARACTER_ENCODERS[own.characters]
        return WordEmbedding(
            len(self.spellings.words),
            part.dim - beside,
            kind(len(self.spellings.letters), min(32, beside), beside),
            scaled=part.scales_embeddings,
            positions=part.position_layer(part.dim),
            dropout=part.stem_dropout,
            word_dropout=part.word_dropout,
        )

    def step(self, model: Model, batch: Batch, state: State | None, done: float) -> StepOutput:
        y, _ = model(batch.source, batch.lengths)
        return StepOutput(model.head.loss(y, batch.target, batch.lengths), None, y)

    def evaluate(self, model: Model, part: str, device: torch.device) -> Evaluation:
        data = self.data.splits[part]
        measured, calibration, worst = Likelihood(), Calibration(), Worst()
        classes, spans, tags = ClassScores(self.tags.names), Spans(), Tags()
        metric_inputs = MetricInputs(keys(self.experiment.train, TagTrain).metrics)
        sentences = Joined[tuple[int, float]](data["forms"].lengths())
        for batch in (each.to(device) for each in self.all_of(data)):
            y, _ = model(batch.source, batch.lengths)
            loss = model.head.loss(y, batch.target, batch.lengths)
            measured.add(loss.total, loss.count)
            p = model.head.probabilities(y, batch.lengths).nan_to_num()  # type: ignore[operator]  # of what diverged, 0
            said = model.head.predict(y, batch.lengths)
            classes.add(batch.target, said)
            calibration.add(p.gather(2, said.clamp(min=0).unsqueeze(2)).squeeze(2), said == batch.target)
            right = p.gather(2, batch.target.unsqueeze(2)).squeeze(2).cpu()
            steps = zip(batch.rows, batch.starts, batch.lengths.tolist(), said.tolist(), right.tolist(), strict=True)  # type: ignore[union-attr]
            for row, start, length, each, sure in steps:
                whole = sentences.add(row, start, list(zip(each[:length], sure[:length], strict=True)))
                if whole is not None:
                    gold, told = [self.tags[tag] for tag in data["tags"][row]], [self.tags[tag] for tag, _ in whole]
                    tags.add(gold, told)
                    metric_inputs.add(told, gold)
                    if self.spans:
                        spans.add(gold, told)
                    self.note_worst(worst, data, row, gold, told, [p for _, p in whole])
        details = {"labels": list(self.tags.names), "confusion": classes.confusion.tolist(), "worst": worst.told()}
        details |= {"per_class": classes.by_class(), **calibration.details()}
        details["baseline"] = baseline(self.usual, self.tags, classes.confusion)
        if self.spans:
            details["per_span"] = spans.by_class()
        scores = {**tags.scores(), **spans.scores(), "macro_f1": classes.scores()["macro_f1"]}
        return Evaluation({**scores, "loss": measured.scores()["loss"], **metric_inputs.scores()}, details)

    def note_worst(
        self, worst: Worst, part: Split, row: int, gold: list[str], said: list[str], right: list[float]
    ) -> None:
        """Sentences with a word whose own tag was thought least likely; of a very long one what stands around it."""
        if gold != said and worst.takes(least := min(right)):
            begin = max(0, right.index(least) - LONGEST // 2)
            seen = slice(begin, begin + LONGEST)
            words = self.forms.words(part["forms"][row][seen])
            worst.add(least, text=words, gold=gold[seen], predicted=said[seen], place=self.place(part, row))

    def predict(self, model: Model, texts: Sequence[str], device: torch.device) -> list[Answer]:
        """A tag for each word; words are what stands between spaces. A long sentence is read in pieces."""
        sentences = [text.split() for text in texts]
        pieces = Pieces.of(np.array([len(words) for words in sentences], dtype=np.int64), self.most)
        tags: list[list[str]] = [[""] * len(words) for words in sentences]
        sure: list[list[float]] = [[0.0] * len(words) for words in sentences]
        for some in self.batches(pieces.lengths):
            places = [(int(pieces.rows[i]), slice(start := int(pieces.starts[i]), start + self.most)) for i in some]
            answers = self.answers(model, [sentences[row][piece] for row, piece in places], device)
            for (row, piece), (best, p) in zip(places, answers, strict=True):
                tags[row][piece], sure[row][piece] = best, p
        told = zip(texts, sentences, tags, sure, strict=True)
        return [{"text": text, "words": words, "tags": best, "probabilities": p} for text, words, best, p in told]

    def answers(
        self, model: Model, sentences: Sequence[list[str]], device: torch.device
    ) -> Iterator[tuple[list[str], list[float]]]:
        """The tags of sentences that are read together, and how likely each tag is."""
        forms: dict[str, int] = {}
        rows = [np.array([forms.setdefault(word, len(forms)) for word in words]) for words in sentences]
        numbers, lengths = padded(rows)
        source = self.narrow(torch.from_numpy(self.spellings.rows(list(forms)))[numbers])
        y, _ = model(source.to(device), lengths)
        best = model.head.predict(y, lengths)
        p = model.head.probabilities(y, lengths).gather(2, best.clamp(min=0).unsqueeze(2)).squeeze(2)  # type: ignore[operator]
        for length, tags, sure in zip(lengths.tolist(), best.tolist(), p.tolist(), strict=True):
            yield [self.tags[tag] for tag in tags[:length]], sure[:length]

    def examples(self, split: str, most: int) -> list[str]:
        part = self.data.splits[split]
        return [" ".join(self.forms.words(part["forms"][row])) for row in range(min(most, len(part)))]


TASK = Tag
