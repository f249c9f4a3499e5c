"""The base of tasks that generate a text from a source: translations of texts, captions of images."""

import random
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Int, Integer, Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.core import names
from seqloom.core.config.decode import Decode, DecodeSection
from seqloom.core.config.section import keys
from seqloom.core.problem import KeyName, UserError
from seqloom.core.wording import counted
from seqloom.data.prepare import Dataset, Split
from seqloom.data.schema import Encoders
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN
from seqloom.data.tokenizers import Tokenizer
from seqloom.decoding.decode import decode
from seqloom.decoding.hypothesis import Hypothesis
from seqloom.kernels.linear import PackedWeights
from seqloom.models import encoder_decoder
from seqloom.models.encoder_decoder import EncoderDecoderKeys
from seqloom.models.family import Family
from seqloom.nn.heads.head import Loss
from seqloom.nn.layer import Layer
from seqloom.nn.model import EncoderDecoder
from seqloom.nn.record import name_tokens, record
from seqloom.nn.recording import Recording, attends_to_memory
from seqloom.nn.state import State
from seqloom.nn.stems import TokenEmbedding
from seqloom.nn.vision import ImageStem
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.generation_config import GenerationConfig, GenerationTrain
from seqloom.tasks.generation_report import SHOWN
from seqloom.tasks.generation_training import doubly_stochastic, sample_inputs
from seqloom.tasks.known_characters import KnownCharacters, find_characters, is_all_unknown
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.metrics.registry import MetricInputs
from seqloom.tasks.metrics.text_overlap import TextOverlap
from seqloom.tasks.row_task import Rows, RowTask
from seqloom.tasks.task import Answer, Batch, Details, Evaluation, StepOutput, pad_rows

SOURCE_FILE, TARGET_FILE = "source.json", "target.json"
EXAMPLES, ERRORS = 12, 12  # in a report: the first examples, and more that differ from their references
END_SIGN = "</s>"  # how the end token is shown
LOSS_MARGIN = 0.5  # nats per token; long nonsense can overlap more with short references than the first real texts do
READABLE = 12  # tokens of a source whose attention is easy to read


class SourceBatch(NamedTuple):
    """Sources as a model reads them; images have no lengths, as they have no padding."""

    source: Shaped[Tensor, "batch *rest"]
    lengths: Int[Tensor, " batch"] | None


class GenerationTask(RowTask[EncoderDecoder]):
    """p(target | source) = Π_t p(token_t | tokens before it, source); the loss is −log p per token, the end included.

    A subclass defines what its source is: a text or an image.

    metrics: the scores of generated texts
    source_ends: how many positions of a source are not its own: the end token of a text
    target: the tokenizer of the generated text
    known: the characters of the training texts
    """

    length_unit: ClassVar[str] = "tokens"
    length_column: ClassVar[str] = "target"
    metrics: ClassVar[type[TextOverlap]]
    source_ends: ClassVar[int] = 0
    known = KnownCharacters()
    higher_is_better = True

    def __init__(
        self, experiment: Experiment, encoders: Encoders, data: Dataset | None = None, source: DataSource | None = None
    ) -> None:
        super().__init__(experiment, encoders, data, source)
        self.target: Tokenizer = encoders[TARGET_FILE if TARGET_FILE in encoders else SOURCE_FILE]
        if self.has_likelihood:
            self.loss_margin = LOSS_MARGIN

    def learn(self, data: Dataset) -> None:
        self.known = KnownCharacters(target=find_characters(data.splits[TRAIN]["target_texts"], self.target))

    def load(self, files: Mapping[str, str]) -> None:
        self.known = KnownCharacters.from_files(files)

    # The source ------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def max_source_length(self) -> int:
        """The most positions of a source that the model is built for."""

    @abstractmethod
    def stems(self, model: Family) -> tuple[Layer | ImageStem, TokenEmbedding]:
        """The layers that embed the source and the target."""

    @abstractmethod
    def source_lengths(self, split: Split) -> Integer[ndarray, " rows"]:
        """The length of each row's source."""

    @abstractmethod
    def source_batch(self, split: Split, rows: Rows) -> SourceBatch:
        """The sources of some rows."""

    @abstractmethod
    def distinct_rows(self, split: Split) -> Rows:
        """One row for each source that is to be decoded once."""

    def first_rows(self, split: Split, count: int) -> Rows:
        """The first rows with distinct sources, in order, to be shown as examples."""
        return np.sort(self.distinct_rows(split)[:count])

    @abstractmethod
    def references(self, split: Split, row: int) -> list[str]:
        """All targets of a row's source."""

    @abstractmethod
    def source_details(self, split: Split, row: int) -> dict[str, str]:
        """A row's source in a report."""

    @abstractmethod
    def source_positions(self, split: Split, row: int) -> Answer:
        """What attention to a row's source is over: its tokens, or the shape of its grid of regions."""

    @abstractmethod
    def encode_inputs(self, inputs: Sequence[str]) -> tuple[SourceBatch, list[Answer]]:
        """The inputs of a user as a batch, and what an answer says of each; a `UserError` if one can't be used."""

    # Data ------------------------------------------------------------------------------------------------------

    @property
    def answer_key(self) -> str:
        """What a generated text is called in an answer."""
        return keys(self.experiment, GenerationConfig).answer

    @property
    def decode_options(self) -> Decode:
        return keys(self.experiment.decode, Decode)

    @property
    def end(self) -> int:
        """The token that begins and ends a text."""
        return len(self.target)

    def files(self) -> dict[str, str]:
        return super().files() | self.known.files()

    def lengths(self, split: Split) -> Integer[ndarray, "rows 2"]:
        return np.stack([self.source_lengths(split), split["target"].lengths() + 1], axis=1)

    def collate(self, split: Split, rows: Rows) -> Batch:
        source, lengths = self.source_batch(split, rows)
        target, target_lengths = pad_rows([with_end(split["target"][row], self.target) for row in rows])
        decoder_input = torch.cat([torch.full((len(rows), 1), self.end), target[:, :-1]], dim=1)
        indices = tuple(rows.tolist())
        return Batch(source, target, lengths, rows=indices, decoder_input=decoder_input, target_lengths=target_lengths)

    def format_batch(self, batch: Batch) -> Iterator[str]:
        split = self.data.splits[TRAIN]
        for row in batch.rows:
            source = next(iter(self.source_details(split, row).values()))
            yield f"{source} -> {self.target.decode(split['target'][row].tolist())}"

    # Model -----------------------------------------------------------------------------------------------------

    @property
    def has_likelihood(self) -> bool:
        """Whether the loss is −log p, in nats."""
        return keys(self.experiment.model, EncoderDecoderKeys).head in names.LIKELIHOODS

    def build(self) -> EncoderDecoder:
        section, smoothing = self.experiment.model, self.experiment.train.label_smoothing
        stem, target = self.stems(section)
        longest = self.max_source_length
        model = encoder_decoder.build(section, stem, target, max_length=longest, smoothing=smoothing)
        if self._data is not None:  # before training: invalid decoding options are an error now
            self.forced_prefix(model, self.decode_options)
        return section.initialized(model)

    def step(self, model: EncoderDecoder, batch: Batch, state: State | None, progress: float) -> StepOutput:
        train, decoder_input = keys(self.experiment.train, GenerationTrain), batch.decoder_input
        if train.scheduled_sampling and decoder_input is not None:
            with torch.no_grad():
                y, _ = model(batch.source, decoder_input, batch.lengths, batch.target_lengths)
                decoder_input = sample_inputs(decoder_input, model.head(y), train.scheduled_sampling * progress)
        recorder: AbstractContextManager[Recording | None]
        recorder = record("attention") if train.doubly_stochastic else nullcontext()
        with recorder as recording:
            y, _ = model(batch.source, decoder_input, batch.lengths, batch.target_lengths)
        loss = model.head.loss(y, batch.target, batch.target_lengths)
        calls = {} if recording is None else recording["attention"]
        if weights := [call["weights"] for name, call in calls.items() if attends_to_memory(name)]:
            penalty = doubly_stochastic(weights, batch.target_lengths, batch.lengths)
            loss = Loss(loss.total + train.doubly_stochastic * penalty, loss.count)
        return StepOutput(loss, None, y, batch.target_lengths)

    # Scores ----------------------------------------------------------------------------------------------------

    def validate(self, model: EncoderDecoder, split: str, device: torch.device) -> Evaluation:
        options = self.decode_options.model_copy(update={"beam_size": 1, "n_best": 1, "temperature": 0.0})
        return self.score(model, split, options, device)

    def evaluate(self, model: EncoderDecoder, split: str, device: torch.device) -> Evaluation:
        options = self.decode_options.model_copy(update={"n_best": 1})
        evaluation = self.score(model, split, options, device)
        attention = self.example_attention(model, split, options, device)
        return Evaluation(evaluation.scores, {**evaluation.details, **attention})

    def score(self, model: EncoderDecoder, name: str, options: DecodeSection, device: torch.device) -> Evaluation:
        """The likelihood of the targets, and the overlap of generated texts with them."""
        split = self.data.splits[name]
        likelihood = self.likelihood(model, split, device)
        overlap = self.metrics(lowercase=self.target.lowercase, normalize=self.target.respace)
        metric_inputs = MetricInputs(keys(self.experiment.train, GenerationTrain).metrics)
        lengths = self.source_lengths(split) - self.source_ends
        first = set(self.first_rows(split, EXAMPLES).tolist())
        examples, errors, cut, by_length = [], [], 0, False
        with PackedWeights():  # for all batches
            for rows in self.decoding_batches(split, options):
                batch = self.source_batch(split, rows)
                by_length = batch.lengths is not None  # images are all of one size
                decoded = self.decode(model, batch, options, device)
                for row, (best, *_) in zip(rows.tolist(), decoded, strict=True):
                    text, references = self.target.decode(best.tokens).strip(), self.references(split, row)
                    metric_inputs.add(text, references)
                    exact = overlap.add(text, references, int(lengths[row]))
                    cut += not best.ended
                    if row in first:
                        examples.append((row, text, references, exact))
                    elif not exact:
                        errors.append((row, text, references, exact))
                errors = sorted(errors)[:ERRORS]
        details = {
            "signatures": overlap.signatures(),
            "cut": cut,  # answers that did not end
            "by_length": overlap.by_length() if by_length else [],
            "examples": [self.example_details(split, *example) for example in [*sorted(examples), *errors]],
        }
        return Evaluation({**overlap.scores(), **likelihood, **metric_inputs.scores()}, details)

    def likelihood(self, model: EncoderDecoder, split: Split, device: torch.device) -> dict[str, float]:
        """Loss, perplexity and token accuracy, with the target's own tokens as the decoder's input."""
        likelihood, correct, count = Likelihood(exact=self.has_likelihood), 0, 0
        for batch in (batch.to(device) for batch in self.batches(split)):
            y, _ = model(batch.source, batch.decoder_input, batch.lengths, batch.target_lengths)
            loss = model.head.loss(y, batch.target, batch.target_lengths)
            likelihood.add(loss.total, loss.count)
            correct += int((model.head.predict(y, batch.target_lengths) == batch.target).sum())
            count += int(loss.count)
        return {**likelihood.scores(), "token_accuracy": correct / max(1, count)}

    def decoding_batches(self, split: Split, options: DecodeSection) -> Iterator[Rows]:
        rows = self.distinct_rows(split)
        for batch in self.batch_rows(self.source_lengths(split)[rows], share=options.beam_size):
            yield rows[batch]

    def example_details(self, split: Split, row: int, text: str, references: list[str], exact: bool) -> Details:
        details = {**self.source_details(split, row), "references": references, self.answer_key: text, "right": exact}
        return {**details, "place": self.location(split, row)}

    def example_attention(
        self, model: EncoderDecoder, name: str, options: DecodeSection, device: torch.device
    ) -> Details:
        """The attention weights of one of the examples that the terminal shows, if the model has any."""
        split = self.data.splits[name]
        rows = self.first_rows(split, SHOWN)
        row = int(rows[np.abs(self.source_lengths(split)[rows] - READABLE).argmin()])
        batch = self.source_batch(split, np.array([row]))
        best = self.decode(model, batch, options, device, attention=True)[0][0]
        source = {**self.source_positions(split, row), **self.source_details(split, row)}
        details = self.as_answer(best, source, attention=True)
        return {"attention": {**source, **details}} if "attention" in details else {}

    # Answers ---------------------------------------------------------------------------------------------------

    def decode(
        self,
        model: EncoderDecoder,
        batch: SourceBatch,
        options: DecodeSection,
        device: torch.device,
        *,
        seed: int = 0,
        attention: bool = False,
    ) -> list[list[Hypothesis]]:
        source, lengths = batch
        rows = source.shape[0]
        prefix = self.forced_prefix(model, options)
        return decode(
            model,
            source.to(device),
            lengths,
            prompts=[[self.end]] * rows,
            end=self.end,
            options=options,
            seed=seed,
            prefixes=[prefix] * rows if prefix else None,
            banned=[] if self.target.unknown is None else [self.target.unknown],
            attention=attention,
        )

    def forced_prefix(self, model: EncoderDecoder, options: DecodeSection) -> list[int]:
        """The tokens of `decode.prompt`, which begin every answer; an error for options that can't be followed."""
        positions = model.max_length
        if positions is not None and options.min_length >= positions:
            allowed = f"the model can generate at most {counted(positions - 1, 'token')}"
            message = f"{KeyName('decode.min_length')} is {options.min_length:,}, and {allowed}"
            longer = KeyName("data.max_length", options.min_length)
            raise UserError(message, f"Make it smaller, or train with {longer}", code="decode-limit")
        prompt, name, advice = options.prompt, KeyName("decode.prompt"), "Change it, or leave it out"
        if not prompt:
            return []
        if unknown := self.target.unknown_in(prompt):
            message = f"{name} has {unknown[0][:40]!r}, which is not in the run's output vocabulary"
            raise UserError(message, advice, code="unknown-prompt")
        if is_all_unknown(prompt, self.target, self.known.target):
            message = f"{name} is {prompt[:40]!r}, none of whose characters occurs in the target texts of the run"
            raise UserError(message, advice, code="unknown-prompt")
        tokens = [int(token) for token in self.target.encode(prompt)]
        most = options.max_length if positions is None else min(options.max_length, positions)
        if len(tokens) > most:
            message = f"{name} has {len(tokens):,} tokens, but an output may have at most {most:,}"
            raise UserError(
                message, f"Raise {KeyName('decode.max_length')}, or shorten the prompt", code="decode-limit"
            )
        return tokens

    def predict(self, model: EncoderDecoder, texts: Sequence[str], device: torch.device) -> list[Answer]:
        return self.generate(model, texts, self.decode_options, device)

    def generate(
        self,
        model: EncoderDecoder,
        texts: Sequence[str],
        options: DecodeSection,
        device: torch.device,
        *,
        attention: bool = False,
    ) -> list[Answer]:
        batch, sources = self.encode_inputs(texts)
        seed = options.seed if options.seed is not None else random.randrange(1 << 32)
        source_tokens = [source["source_tokens"] for source in sources if "source_tokens" in source]
        with name_tokens(self.token_names, lambda _: source_tokens):
            decoded = self.decode(model, batch, options, device, seed=seed, attention=attention)
        answers = []
        for source, hypotheses in zip(sources, decoded, strict=True):
            best = [
                {**self.as_answer(hypothesis, source, attention), **cut_reason(hypothesis, options, model.max_length)}
                for hypothesis in hypotheses
            ]
            answers.append({**source, **best[0], **({"n_best": best} if options.answers > 1 else {})})
        return answers

    def token_names(self, rows: Sequence[Sequence[int]]) -> list[list[str]]:
        """The texts of target tokens, the end among them."""
        return [[END_SIGN if id == self.end else self.target.tokens([id])[0] for id in row] for row in rows]

    def as_answer(self, hypothesis: Hypothesis, source: Answer, attention: bool) -> Answer:
        answer: Answer = {
            self.answer_key: self.target.decode(hypothesis.tokens).strip(),
            "score": hypothesis.score,
            "log_prob": hypothesis.total,
            "tokens": self.target.tokens(hypothesis.tokens),
            "log_probs": list(hypothesis.log_probs),
            "ended": hypothesis.ended,
        }
        if attention and (weights := hypothesis.alignment) is not None:
            width = len(source["source_tokens"]) if "source_tokens" in source else weights.shape[1]
            answer["attention"] = weights[:, :width].tolist()
        return answer


def with_end(row: Integer[ndarray, " time"], tokenizer: Tokenizer) -> Integer[ndarray, " time+1"]:
    """A text's tokens and the end token, whose number follows all others."""
    return np.append(row, len(tokenizer)).astype(np.int64)


def cut_reason(hypothesis: Hypothesis, options: DecodeSection, max_length: int | None) -> dict[str, str]:
    """Why a text was cut: the limit of the options, the positions of the model, or rules that leave no token."""
    steps = len(hypothesis.log_probs)
    if hypothesis.ended:
        return {}
    if steps == max_length:
        return {"cut_by": "positions"}
    return {"cut_by": "length" if steps == options.max_length else "rules"}
