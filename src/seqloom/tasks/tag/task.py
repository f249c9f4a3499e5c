"""Tagging: a tag for each word of a sentence."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Int, Integer
from numpy import ndarray
from torch import Tensor

from seqloom.core.config.section import keys
from seqloom.data.inputs import Words
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
from seqloom.nn.record import name_tokens
from seqloom.nn.state import State
from seqloom.nn.word_embedding import CHARACTER_ENCODERS, WordEmbedding
from seqloom.tasks.chunking import ChunkJoiner, Chunks
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.label_evaluation import (
    BASELINE_FILE,
    MAX_TEXT,
    HardestExamples,
    baseline_details,
    load_baseline,
    most_frequent,
)
from seqloom.tasks.label_training import count_labels, init_output_bias
from seqloom.tasks.metrics.calibration import Calibration
from seqloom.tasks.metrics.classes import Classes
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.metrics.registry import MetricInputs
from seqloom.tasks.metrics.spans import Spans, Tags, is_span_scheme
from seqloom.tasks.row_task import Rows, RowTask
from seqloom.tasks.tag.config import TagData, TagModel, TagTrain
from seqloom.tasks.tag.data import FORMS, LETTERS_FILE, TAGS_FILE, WORDS_FILE, Forms, Spellings, schema
from seqloom.tasks.task import Answer, Batch, Evaluation, StepOutput, pad_rows


class Tag(RowTask[Model]):
    """p(tag_t | sentence) for each word, one by one or as a chain (CRF).

    Training reads a sentence up to `data.max_length`. Scores and answers cover every word: there a longer sentence is
    read in chunks, each by itself.

    baseline: the most frequent tag of the training split
    prior: how often each tag occurs in the training split
    """

    row_noun: ClassVar[str] = "sentences"
    length_unit: ClassVar[str] = "words"
    length_column: ClassVar[str] = FORMS
    higher_is_better = True
    prior: Integer[ndarray, " tags"] | None = None

    def __init__(
        self, experiment: Experiment, encoders: Encoders, data: Dataset | None = None, source: DataSource | None = None
    ) -> None:
        super().__init__(experiment, encoders, data, source)
        self.tags: Vocabulary = encoders[TAGS_FILE]
        lowercase = keys(experiment.data, TagData).lowercase
        self.spellings = Spellings(encoders[WORDS_FILE], encoders[LETTERS_FILE], lowercase)
        self.spans = is_span_scheme(self.tags.names)
        self.chosen_by = "span_f1" if self.spans else "accuracy"

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        return schema(keys(experiment.data, TagData))

    def learn(self, data: Dataset) -> None:
        self.prior = count_labels(data.splits[TRAIN]["tags"].flat, len(self.tags))
        self.baseline = most_frequent(self.prior, self.tags)

    def load(self, files: Mapping[str, str]) -> None:
        self.baseline = load_baseline(files, self.tags)

    def files(self) -> dict[str, str]:
        return super().files() | {BASELINE_FILE: json.dumps(self.baseline, ensure_ascii=False)}

    @property
    def forms(self) -> Forms:
        return Forms(self.data.folder)

    def describe_encoders(self) -> str:
        return f"{len(self.spellings.words):,} words, {len(self.tags)} tags"

    def truncated_rows(self) -> int:
        train = self.data.splits.get(TRAIN)
        return 0 if train is None else int((train["forms"].lengths() > self.max_length).sum())

    def collate(self, split: Split, rows: Rows) -> Batch:
        return self.collate_chunks(split, rows, np.zeros_like(rows))

    def collate_chunks(self, split: Split, rows: Rows, starts: Rows) -> Batch:
        """A chunk of each of some sentences as tensors: each word's number and letters, each word's tag."""
        slices = [slice(start, start + self.max_length) for start in starts.tolist()]
        forms, lengths = pad_rows([split["forms"][row][chunk] for row, chunk in zip(rows, slices, strict=True)])
        target, _ = pad_rows([split["tags"][row][chunk] for row, chunk in zip(rows, slices, strict=True)])
        source = self.trim_letters(torch.from_numpy(self.forms.table[forms.numpy()]).long())
        return Batch(source, target, lengths, rows=tuple(rows.tolist()), starts=tuple(starts.tolist()))

    def batches(self, split: Split) -> Iterator[Batch]:
        """All words of a split: a long sentence in chunks."""
        chunks = Chunks.cut(split["forms"].lengths(), self.max_length)
        for batch in self.batch_rows(chunks.lengths):
            yield self.collate_chunks(split, chunks.rows[batch], chunks.starts[batch])

    def trim_letters(self, source: Int[Tensor, "batch time letters"]) -> Int[Tensor, "batch time *letters"]:
        """Words only, if the model reads no letters; otherwise letters up to the end of the longest word."""
        if keys(self.experiment.model, TagModel).characters == "none":
            return source[:, :, 0]
        longest = int((source[:, :, 1:] != 0).sum(dim=2).max())
        return source[:, :, : 1 + max(1, longest)]

    def format_batch(self, batch: Batch) -> Iterator[str]:
        split = self.data.splits[TRAIN]
        for row in batch.rows:
            words, tags = (self.forms.words(split["forms"][row][: self.max_length]), split["tags"][row])
            yield " ".join(f"{word}/{self.tags[tag]}" for word, tag in zip(words, tags, strict=False))

    def build(self) -> Model:
        section, smoothing = self.experiment.model, self.experiment.train.label_smoothing
        layers = section.build(section.dim, causal=False)
        size, tags = layers.output_size, len(self.tags)
        config = keys(section, TagModel)
        head: ClassHead = CRF(size, tags) if config.crf else HEADS[config.head](size, tags, smoothing=smoothing)
        model = section.initialized(Model(self.stem(), layers, head))
        init_output_bias(head, section, self.prior)
        return model

    def stem(self) -> Layer:
        """Words, with their letters if the config says so; both together are `width` wide."""
        section, config = self.experiment.model, keys(self.experiment.model, TagModel)
        if config.characters == "none":
            return section.tokens(len(self.spellings.words))
        width, encoder = config.character_width, CHARACTER_ENCODERS[config.characters]
        return WordEmbedding(
            len(self.spellings.words),
            section.dim - width,
            encoder(len(self.spellings.letters), min(32, width), width),
            scaled=section.scales_embeddings,
            positions=section.position_layer(section.dim),
            dropout=section.stem_dropout,
            word_dropout=section.word_dropout,
        )

    def step(self, model: Model, batch: Batch, state: State | None, progress: float) -> StepOutput:
        y, _ = model(batch.source, batch.lengths)
        return StepOutput(model.head.loss(y, batch.target, batch.lengths), None, y)

    def evaluate(self, model: Model, split: str, device: torch.device) -> Evaluation:
        data = self.data.splits[split]
        likelihood, calibration, hardest = Likelihood(), Calibration(), HardestExamples()
        classes, spans, tags = Classes(self.tags.names), Spans(), Tags()
        metric_inputs = MetricInputs(keys(self.experiment.train, TagTrain).metrics)
        sentences = ChunkJoiner[tuple[int, float]](data["forms"].lengths())
        for batch in (batch.to(device) for batch in self.batches(data)):
            y, _ = model(batch.source, batch.lengths)
            loss = model.head.loss(y, batch.target, batch.lengths)
            likelihood.add(loss.total, loss.count)
            p = model.head.probabilities(y, batch.lengths).nan_to_num()  # type: ignore[operator]  # NaN: the model diverged
            best = model.head.predict(y, batch.lengths)
            classes.add(batch.target, best)
            calibration.add(p.gather(2, best.clamp(min=0).unsqueeze(2)).squeeze(2), best == batch.target)
            gold_p = p.gather(2, batch.target.unsqueeze(2)).squeeze(2).cpu()
            chunks = zip(batch.rows, batch.starts, batch.lengths.tolist(), best.tolist(), gold_p.tolist(), strict=True)  # type: ignore[union-attr]
            for row, start, length, row_best, row_p in chunks:
                sentence = sentences.add(row, start, list(zip(row_best[:length], row_p[:length], strict=True)))
                if sentence is not None:
                    gold, predicted = [self.tags[tag] for tag in data["tags"][row]], [self.tags[t] for t, _ in sentence]
                    tags.add(gold, predicted)
                    metric_inputs.add(predicted, gold)
                    if self.spans:
                        spans.add(gold, predicted)
                    self.add_hardest(hardest, data, row, gold, predicted, [p for _, p in sentence])
        details = {"labels": list(self.tags.names), "confusion": classes.confusion.tolist()}
        details |= {"worst": hardest.details(), "per_class": classes.by_class(), **calibration.details()}
        details["baseline"] = baseline_details(self.baseline, self.tags, classes.confusion)
        if self.spans:
            details["per_span"] = spans.by_class()
        scores = {**tags.scores(), **spans.scores(), "macro_f1": classes.scores()["macro_f1"]}
        return Evaluation({**scores, "loss": likelihood.scores()["loss"], **metric_inputs.scores()}, details)

    def add_hardest(
        self, hardest: HardestExamples, split: Split, row: int, gold: list[str], predicted: list[str], p: list[float]
    ) -> None:
        """Add a wrongly tagged sentence, with the lowest probability of its gold tags; of a very long one a window."""
        if gold != predicted and hardest.accepts(least := min(p)):
            start = max(0, p.index(least) - MAX_TEXT // 2)
            window = slice(start, start + MAX_TEXT)
            words = self.forms.words(split["forms"][row][window])
            location = self.location(split, row)
            hardest.add(least, text=words, gold=gold[window], predicted=predicted[window], place=location)

    def predict(self, model: Model, texts: Sequence[str], device: torch.device) -> list[Answer]:
        """A tag for each word; words are separated by spaces. A long sentence is read in chunks."""
        sentences = [list(text.words) if isinstance(text, Words) else text.split() for text in texts]
        chunks = Chunks.cut(np.array([len(words) for words in sentences], dtype=np.int64), self.max_length)
        tags: list[list[str]] = [[""] * len(words) for words in sentences]
        probabilities: list[list[float]] = [[0.0] * len(words) for words in sentences]
        for batch in self.batch_rows(chunks.lengths):
            starts = chunks.starts[batch].tolist()
            slices = [
                (row, slice(i, i + self.max_length)) for row, i in zip(chunks.rows[batch].tolist(), starts, strict=True)
            ]
            answers = self.predict_batch(model, [sentences[row][chunk] for row, chunk in slices], device)
            for (row, chunk), (best, p) in zip(slices, answers, strict=True):
                tags[row][chunk], probabilities[row][chunk] = best, p
        rows = zip(texts, sentences, tags, probabilities, strict=True)
        return [{"text": text, "words": words, "tags": best, "probabilities": p} for text, words, best, p in rows]

    def predict_batch(
        self, model: Model, sentences: Sequence[list[str]], device: torch.device
    ) -> Iterator[tuple[list[str], list[float]]]:
        forms: dict[str, int] = {}
        rows = [np.array([forms.setdefault(word, len(forms)) for word in words]) for words in sentences]
        numbers, lengths = pad_rows(rows)
        source = self.trim_letters(torch.from_numpy(self.spellings.rows(list(forms)))[numbers])
        with name_tokens(lambda _: sentences):
            y, _ = model(source.to(device), lengths)
        best = model.head.predict(y, lengths)
        p = model.head.probabilities(y, lengths).gather(2, best.clamp(min=0).unsqueeze(2)).squeeze(2)  # type: ignore[operator]
        for length, tags, row_p in zip(lengths.tolist(), best.tolist(), p.tolist(), strict=True):
            yield [self.tags[tag] for tag in tags[:length]], row_p[:length]

    def example_inputs(self, split: str, count: int) -> list[str]:
        rows = self.data.splits[split]
        return [" ".join(self.forms.words(rows["forms"][row])) for row in range(min(count, len(rows)))]


TASK = Tag
