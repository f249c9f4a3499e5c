"""What tasks that generate a text about a source share: translations of texts, captions of images."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
import torch
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core import names
from seqloom.core.config.decode import Decode, DecodeSection
from seqloom.core.config.section import keys
from seqloom.data.prepare import Dataset, Split, prepare
from seqloom.data.schema import Encoders
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN
from seqloom.data.tokenizers import Tokenizer
from seqloom.decoding.decode import decode
from seqloom.decoding.hypothesis import Hypothesis
from seqloom.kernels.linear import PackedWeights
from seqloom.models import encoder_decoder
from seqloom.models.encoder_decoder import EncoderDecoderKeys
from seqloom.nn.heads.head import Loss
from seqloom.nn.model import EncoderDecoder
from seqloom.nn.record import attends_to_memory, record
from seqloom.nn.state import State
from seqloom.tasks.attention_penalty import doubly_stochastic
from seqloom.tasks.decode_limits import beginning, cut_by
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.generation_config import GenerationConfig, GenerationTrain
from seqloom.tasks.generation_report import SHOWN
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.metrics.registry import MetricInputs
from seqloom.tasks.metrics.text_overlap import TextOverlap
from seqloom.tasks.padding import padded
from seqloom.tasks.row_task import RowTask
from seqloom.tasks.scheduled_sampling import mixed
from seqloom.tasks.task import Answer, Batch, Details, Evaluation, StepOutput
from seqloom.tasks.text_source import Read, Source, ended

EXAMPLES, WRONG = 12, 12  # shown in a report: the first ones, and more that are not as the reference is
READABLE = 12  # tokens of a source whose attention is easily seen


class GenerationTask(RowTask[EncoderDecoder]):
    """p(target | source) = Π_t p(token_t | tokens before it, source); the loss is −log p a token, the end included."""

    made_of: ClassVar[str] = "tokens"
    rows: ClassVar[str] = "target"
    sources: ClassVar[type[Source]]  # what is read
    metrics: ClassVar[type[TextOverlap]]
    higher_is_better = True

    def __init__(
        self,
        experiment: Experiment,
        encoders: Encoders,
        data: Dataset | None = None,
        source: DataSource | None = None,
        *,
        reads: Source,
    ) -> None:
        """reads: what is read, a text or an image"""
        super().__init__(experiment, encoders, data, source)
        self.source = reads

    # Data ------------------------------------------------------------------------------------------------------

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> Self:
        experiment = experiment.model_copy(update={"data": source.data})
        data = prepare(source, cls.schema(experiment))
        return cls(experiment, data.encoders, data, source, reads=cls.sources.learned(experiment, data, None))

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> Self:
        encoders = cls.load_encoders(experiment, files)
        return cls(experiment, encoders, reads=cls.sources.from_files(experiment, encoders, files))

    @property
    def answer_key(self) -> str:
        """What a generated text is called in an answer."""
        return keys(self.experiment, GenerationConfig).answer

    @property
    def decode_options(self) -> Decode:
        """How texts are generated, as the config says."""
        return keys(self.experiment.decode, Decode)

    @property
    def target(self) -> Tokenizer:
        """The tokens that are written."""
        return self.source.target

    @property
    def end(self) -> int:
        """The number of the token that begins and ends a text."""
        return len(self.target)

    def files(self) -> dict[str, str]:
        return super().files() | self.source.files()

    def told_in(self) -> str:
        names = self._data_source.names() if self._data_source is not None else []
        return f"{self.source.described()}{self.source.reported(self.data, names)}"

    def lengths(self, part: Split) -> Integer[ndarray, "rows 2"]:
        return np.stack([self.source.lengths(part), part["target"].lengths() + 1], axis=1)

    def collate(self, part: Split, rows: Integer[ndarray, " batch"]) -> Batch:
        source, lengths = self.source.batch(part, rows)
        target, target_lengths = padded([ended(part["target"][row], self.target) for row in rows])
        given = torch.cat([torch.full((len(rows), 1), self.end), target[:, :-1]], dim=1)
        places = tuple(int(row) for row in rows)
        return Batch(source, target, lengths, rows=places, given=given, target_lengths=target_lengths)

    def show(self, batch: Batch) -> Iterator[str]:
        part = self.data.splits[TRAIN]
        for row in batch.rows:
            source = next(iter(self.source.shown(part, row).values()))
            yield f"{source} -> {self.target.decode(part['target'][row].tolist())}"

    # Model -----------------------------------------------------------------------------------------------------

    def build(self) -> EncoderDecoder:
        part, train = self.experiment.model, self.experiment.train
        stem, target = self.source.stems(part)
        longest = self.source.longest()
        model = encoder_decoder.build(part, stem, target, max_length=longest, smoothing=train.label_smoothing)
        if self._data is not None:  # a model that is to learn: a mistake is told before it does
            beginning(self.decode_options, model.max_length, self.source)
        return part.initialized(model)

    def step(self, model: EncoderDecoder, batch: Batch, state: State | None, done: float) -> StepOutput:
        train = keys(self.experiment.train, GenerationTrain)
        given = batch.given
        if train.scheduled_sampling and given is not None:
            with torch.no_grad():
                first, _ = model(batch.source, given, batch.lengths, batch.target_lengths)
                given = mixed(given, model.head(first), train.scheduled_sampling * done)
        if not train.doubly_stochastic:
            y, _ = model(batch.source, given, batch.lengths, batch.target_lengths)
            return StepOutput(model.head.loss(y, batch.target, batch.target_lengths), None, y, batch.target_lengths)
        with record("attention") as seen:
            y, _ = model(batch.source, given, batch.lengths, batch.target_lengths)
        total, count = model.head.loss(y, batch.target, batch.target_lengths)
        looked = [told["weights"] for place, told in seen["attention"].items() if attends_to_memory(place)]
        if looked:
            missed = doubly_stochastic(looked, batch.target_lengths, batch.lengths)
            total = total + train.doubly_stochastic * missed
        return StepOutput(Loss(total, count), None, y, batch.target_lengths)

    # Scores ----------------------------------------------------------------------------------------------------

    def validate(self, model: EncoderDecoder, part: str, device: torch.device) -> Evaluation:
        options = self.decode_options.model_copy(update={"beam_size": 1, "n_best": 1, "temperature": 0.0})
        return self.measure(model, part, options, device)

    def evaluate(self, model: EncoderDecoder, part: str, device: torch.device) -> Evaluation:
        options = self.decode_options.model_copy(update={"n_best": 1})
        found = self.measure(model, part, options, device)
        return Evaluation(found.scores, {**found.details, **self.looked(model, part, options, device)})

    def measure(self, model: EncoderDecoder, name: str, options: DecodeSection, device: torch.device) -> Evaluation:
        """How likely the right answers are, and how good those are that the model writes."""
        part = self.data.splits[name]
        likely = self.likelihood(model, part, device)
        written = self.metrics(lowercase=self.target.lowercase, normalize=self.target.respace)
        sizes = self.source.lengths(part) - self.source.ends
        metric_inputs = MetricInputs(keys(self.experiment.train, GenerationTrain).metrics)
        first = set(self.source.first(part, EXAMPLES).tolist())
        shown, wrong, cut, told_by_length = [], [], 0, False
        with PackedWeights():  # for all batches
            for rows in self.decoding_batches(part, options):
                read = self.source.batch(part, rows)
                told_by_length = read.lengths is not None  # images are all of one size
                found = self.write(model, read, options, device)
                for row, (best, *_) in zip(rows.tolist(), found, strict=True):
                    said = self.target.decode(best.tokens).strip()
                    references = self.source.references(part, row)
                    metric_inputs.add(said, references)
                    right = written.add(said, references, int(sizes[row]))
                    cut += not best.ended
                    if row in first:
                        shown.append((row, said, references, right))
                    elif not right:
                        wrong.append((row, said, references, right))
                wrong = sorted(wrong)[:WRONG]
        details = {
            "signatures": written.signatures(),
            "cut": cut,  # answers that did not end
            "by_length": written.by_length() if told_by_length else [],
            "examples": [self.example(part, *each) for each in [*sorted(shown), *wrong]],
        }
        return Evaluation({**written.scores(), **likely, **metric_inputs.scores()}, details)

    def looked(self, model: EncoderDecoder, name: str, options: DecodeSection, device: torch.device) -> Details:
        """Where the model looked while it wrote one of the answers that the terminal shows, if it can look."""
        part = self.data.splits[name]
        rows = self.source.first(part, SHOWN)
        row = int(rows[np.abs(self.source.lengths(part)[rows] - READABLE).argmin()])
        read = self.source.batch(part, np.array([row]))
        best = self.write(model, read, options, device, attention=True)[0][0]
        about = {**self.source.about(part, row), **self.source.shown(part, row)}
        told = self.told(best, about, attention=True)
        return {"attention": {**about, **told}} if "attention" in told else {}

    def likelihood(self, model: EncoderDecoder, part: Split, device: torch.device) -> dict[str, float]:
        """With the right tokens given: loss, perplexity, and how often the likeliest token is the right one."""
        exact = keys(self.experiment.model, EncoderDecoderKeys).head in names.LIKELIHOODS
        measured, right, count = Likelihood(exact=exact), 0, 0
        for batch in (each.to(device) for each in self.all_of(part)):
            y, _ = model(batch.source, batch.given, batch.lengths, batch.target_lengths)
            loss = model.head.loss(y, batch.target, batch.target_lengths)
            measured.add(loss.total, loss.count)
            right += int((model.head.predict(y, batch.target_lengths) == batch.target).sum())
            count += int(loss.count)
        return {**measured.scores(), "token_accuracy": right / max(1, count)}

    def decoding_batches(self, part: Split, options: DecodeSection) -> Iterator[Integer[ndarray, " batch"]]:
        """The distinct sources of a part, those of like length together."""
        rows = self.source.distinct(part)
        for some in self.batches(self.source.lengths(part)[rows], share=options.beam_size):
            yield rows[some]

    def example(self, part: Split, row: int, said: str, references: list[str], right: bool) -> Details:
        """One answer, for a report."""
        told = {**self.source.shown(part, row), "references": references, self.answer_key: said, "right": right}
        return {**told, "place": self.place(part, row)}

    # Answers ---------------------------------------------------------------------------------------------------

    def write(
        self,
        model: EncoderDecoder,
        read: Read,
        options: DecodeSection,
        device: torch.device,
        *,
        seed: int = 0,
        attention: bool = False,
    ) -> list[list[Hypothesis]]:
        """What the model says of each source, the best first."""
        source, lengths = read
        rows = source.shape[0]
        forced = beginning(options, model.max_length, self.source)
        return decode(
            model,
            source.to(device),
            lengths,
            prompts=[[self.end]] * rows,
            end=self.end,
            options=options,
            seed=seed,
            prefixes=[forced] * rows if forced else None,
            never=[] if self.target.unknown is None else [self.target.unknown],
            attention=attention,
        )

    def unknown(self, text: str) -> list[str]:
        return self.source.unknown(text)

    def predict(self, model: EncoderDecoder, texts: Sequence[str], device: torch.device) -> list[Answer]:
        return self.answer(model, texts, self.decode_options, device)

    def answer(
        self,
        model: EncoderDecoder,
        given: Sequence[str],
        options: DecodeSection,
        device: torch.device,
        *,
        attention: bool = False,
    ) -> list[Answer]:
        """An answer for each source, with all that is known about it."""
        read, told = self.source.read(given)
        seed = options.seed if options.seed is not None else random.randrange(1 << 32)
        found = self.write(model, read, options, device, seed=seed, attention=attention)
        answers = []
        for about, hypotheses in zip(told, found, strict=True):
            each = [
                {**self.told(hypothesis, about, attention), **cut_by(hypothesis, options, model.max_length)}
                for hypothesis in hypotheses
            ]
            answers.append({**about, **each[0], **({"n_best": each} if options.wanted > 1 else {})})
        return answers

    def told(self, hypothesis: Hypothesis, about: Answer, attention: bool) -> Answer:
        """A hypothesis as an answer says it."""
        told: Answer = {
            self.answer_key: self.target.decode(hypothesis.tokens).strip(),
            "score": hypothesis.score,
            "log_prob": hypothesis.total,
            "tokens": self.target.tokens(hypothesis.tokens),
            "log_probs": list(hypothesis.log_probs),
            "ended": hypothesis.ended,
        }
        if attention and (weights := hypothesis.alignment) is not None:
            width = len(about["source_tokens"]) if "source_tokens" in about else weights.shape[1]
            told["attention"] = weights[:, :width].tolist()
        return told
