"""Language modelling: which token comes next."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Integer
from numpy import ndarray
from torch import Tensor

from seqloom.core import names
from seqloom.core.config.decode import DecodeSection
from seqloom.core.config.section import keys
from seqloom.core.problem import NotFinite, UserError
from seqloom.data.batches import Chunk, ShuffledEpoch, StreamEpoch
from seqloom.data.source import DataSource
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.data.text_stream import TOKENIZER_FILE, TokenStreams, prepare_stream, prepare_test_stream
from seqloom.data.tokenizers import Tokenizer
from seqloom.decoding.decode import collect, decode, write
from seqloom.decoding.detokenize import reading
from seqloom.nn.heads.per_token import HEADS, PerToken
from seqloom.nn.model import Model
from seqloom.nn.state import State
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.language.config import LanguageData, LanguageModel, LanguageTrain
from seqloom.tasks.language.data import learner
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.scoring import Scored, scored
from seqloom.tasks.task import Answer, Batch, Evaluation, StepOutput, Task

UNICODE = 0x110000 - 0x800  # characters that there can be: all code points but the surrogates


class Language(Task[Model, Chunk]):
    """p(text) = Π_t p(token_t | tokens before it); the loss is −log p a token."""

    chosen_by, higher_is_better = "loss", False

    def __init__(self, experiment: Experiment, tokenizer: Tokenizer, data: TokenStreams | None = None) -> None:
        super().__init__(experiment)
        self.tokenizer, self._data = tokenizer, data

    @property
    def data(self) -> TokenStreams:
        """What was read; a task that only predicts has none."""
        if self._data is None:
            raise UserError("this task was opened to predict, and has read no data", location="language")
        return self._data

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> "Language":
        data = prepare_stream(source, learner(keys(experiment.data, LanguageData)))
        return cls(experiment, data.tokenizer, data)

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> "Language":
        return cls(experiment, Tokenizer.from_json(files[TOKENIZER_FILE], TOKENIZER_FILE))

    def files(self) -> dict[str, str]:
        return {TOKENIZER_FILE: self.tokenizer.to_json()}

    def parts(self) -> tuple[str, ...]:
        return tuple(self.data.tokens)

    def read(self, files: Sequence[str], folder: Path) -> None:
        source = DataSource.for_testing(self.experiment.data, self.experiment.data_spec, files)
        self._data = prepare_test_stream(source, self.tokenizer, folder)

    def describe(self) -> str:
        told = {TRAIN: "to learn from", VALID: "to choose by", TEST: "to test on"}
        counts = ", ".join(f"{n:,} {told[part]}" for part, n in self.data.characters.items())
        return f"{counts} (characters; {len(self.tokenizer):,} different {self.tokenizer.kind} tokens)"

    def epoch(self, number: int) -> Sequence[Chunk]:
        train, seed = keys(self.experiment.train, LanguageTrain), self.experiment.seed
        size, k = len(self.data.tokens[TRAIN]), train.bptt
        if train.carry_state:
            return StreamEpoch(size, train.streams, k, random_lengths=train.bptt_random, seed=seed, epoch=number)
        return ShuffledEpoch(size, train.streams, k, seed=seed, epoch=number)

    def batch(self, item: Chunk) -> Batch:
        return stretch(self.data.tokens[TRAIN], item)

    def show(self, batch: Batch) -> Iterator[str]:
        for row, after in zip(batch.source.tolist(), batch.target.tolist(), strict=True):
            yield f"{self.tokenizer.decode(row)!r} -> {self.tokenizer.decode(after[-1:])!r}"

    def build(self) -> Model:
        part, train = self.experiment.model, self.experiment.train
        stem = part.tokens(len(self.tokenizer))
        layers = part.build(part.dim, causal=True)
        if not layers.traits.causal:
            message = f"with these keys {part.arch} sees later positions too, so it can't write one token after another"
            raise UserError(message, "Leave out what is said of its model, or take another")
        own, size, vocabulary = keys(part, LanguageModel), layers.output_size, len(self.tokenizer)
        head = (
            PerToken(size, vocabulary, tied=stem.embedding, smoothing=train.label_smoothing)
            if own.tied
            else HEADS[own.head](size, vocabulary, smoothing=train.label_smoothing)
        )
        return part.initialized(Model(stem, layers, head))

    def step(self, model: Model, batch: Batch, state: State | None, done: float) -> StepOutput:
        y, after = model(batch.source, batch.lengths, state)
        if keys(self.experiment.train, LanguageTrain).loss_at == "last":
            return StepOutput(model.head.loss(y[:, -1:], batch.target[:, -1:]), after, y)
        return StepOutput(model.head.loss(y, batch.target, batch.lengths), after, y)

    def evaluate(self, model: Model, part: str, device: torch.device) -> Evaluation:
        whole = self.data.tokens[part]
        measured, unknown = self.empty_likelihood(), 0
        state: State | None = None
        for item in evaluation_stretches(len(whole), self.experiment):
            batch = stretch(whole, item)
            unknown += self.unknown_among(batch.target)
            batch = batch.to(device)
            y, after = model(batch.source, None, state if item.continues else None)
            state = after if keys(self.experiment.train, LanguageTrain).carry_state else None
            loss = model.head.loss(y, batch.target)
            measured.add(loss.total, loss.count)
        given = len(self.tokenizer.decode(whole[:1].tolist()))
        return Evaluation(self.scores(measured, self.data.characters[part] - given, unknown))

    def scores(self, measured: Likelihood, characters: int, unknown: int) -> dict[str, float]:
        """Of tokens; and of the text's characters, if its tokens hold all of it.

        Words don't hold its spaces, lower case not its capitals: bits a character would be those of another text. An
        unknown character costs, beside the token that says so, log(how many it may be) nats, to say which.
        """
        told = measured.scores()
        if measured.exact and told and characters > 0 and self.tokenizer.lossless:
            known = len(self.tokenizer) - 1
            measured.add(unknown * math.log(UNICODE - known), 0, characters=characters)
            told["bits_per_character"] = measured.scores()["bits_per_character"]
        return told

    def empty_likelihood(self) -> Likelihood:
        """To measure what the model's head says."""
        return Likelihood(exact=keys(self.experiment.model, LanguageModel).head in names.LIKELIHOODS)

    def unknown_among(self, tokens: Tensor) -> int:
        """How many of these stand for something unknown."""
        return 0 if self.tokenizer.unknown is None else int((tokens == self.tokenizer.unknown).sum())

    def predict(self, model: Model, texts: Sequence[str], device: torch.device) -> list[Answer]:
        """How likely each text is, and what may follow it; a Transformer reads a long one in pieces of its context."""
        rows = [self.prompt(text) for text in texts]
        both = zip(texts, rows, scored(model, rows, self.context(), device), strict=True)
        return [{"text": text, **self.likelihood(text, row, each)} for text, row, each in both]

    def likelihood(self, text: str, row: list[int], told: Scored) -> Answer:
        """The scores of one text, and the tokens that may well follow it."""
        measured = self.empty_likelihood()
        measured.add(told.nats, len(row) - len(told.given))
        characters = len(text) - sum(len(self.tokenizer.decode([token])) for token in told.given)
        unknown = self.unknown_among(torch.tensor(row)) - self.unknown_among(torch.tensor(told.given))
        likely = told.following.softmax(dim=0).topk(min(5, len(self.tokenizer)))
        after = [
            {"token": self.tokenizer.decode([token]), "probability": p}
            for p, token in zip(likely.values.tolist(), likely.indices.tolist(), strict=True)
        ]
        return {**self.scores(measured, characters, unknown), "next": after}

    def context(self) -> int | None:
        """The most tokens that the model reads at once; None for any number."""
        return self.experiment.model.length_limit

    def never(self) -> list[int]:
        """What is not to be written: the token that stands for all unknown ones says nothing."""
        return [] if self.tokenizer.unknown is None else [self.tokenizer.unknown]

    def unknown(self, text: str) -> list[str]:
        return self.tokenizer.unknown_in(text)

    def prompt(self, text: str) -> list[int]:
        """The tokens of a prompt; an empty one is a line's end, or the likeliest beginning that there is."""
        ids = self.tokenizer.encode(text or "\n").tolist()
        return ids or [0]

    def stream(
        self, model: Model, prompts: Sequence[str], options: DecodeSection, seed: int, device: torch.device
    ) -> Iterator[dict[int, str]]:
        if options.beam_size > 1:
            yield self.searched(model, prompts, options)
            return
        ids = [self.prompt(text) for text in prompts]
        readings = [reading(self.tokenizer) for _ in ids]
        for step in write(model, ids, options=options, seed=seed, never=self.never(), context=self.context()):
            yield {row: readings[row].say(token) for row, token in step.items()}

    def searched(self, model: Model, prompts: Sequence[str], options: DecodeSection) -> dict[int, str]:
        """The likeliest text after each prompt, all at once: which one it is shows at the end."""
        ids = [self.prompt(text) for text in prompts]
        found = decode(model, None, prompts=ids, end=None, options=options, never=self.never(), context=self.context())
        return {row: self.tokenizer.decode(best.tokens) for row, (best, *_) in enumerate(found)}

    def example_input(self, folder: Path) -> str:
        """The run's own prompt, or a word of the validation split."""
        if self.experiment.decode is not None and self.experiment.decode.prompt:
            return self.experiment.decode.prompt
        text = self.tokenizer.decode(self.data.tokens[VALID][:200].tolist())
        words = re.findall(r"(?<=\s)[^\W\d_]{2,}", text)  # the split may begin in the middle of one
        return f"{words[0][:20]} " if words else "the "

    def samples(self, model: Model, device: torch.device) -> Iterator[dict[str, str]]:
        options = keys(self.experiment.decode, DecodeSection)
        count = keys(self.experiment.train, LanguageTrain).samples
        for number in range(min(count, 1) if options.beam_size > 1 else count):  # a beam finds one and the same
            try:
                text = self.sample(model, options, number)
            except NotFinite:
                return
            yield {"prompt": options.prompt, "text": text}

    def sample(self, model: Model, options: DecodeSection, number: int) -> str:
        """The text of this number after the prompt of the experiment."""
        if options.beam_size > 1:
            return self.searched(model, [options.prompt], options)[0]
        seed = options.seed if options.seed is not None else self.experiment.seed
        prompts, never, context = [self.prompt(options.prompt)], self.never(), self.context()
        written = write(model, prompts, options=options, seed=seed, never=never, context=context, numbers=[number])
        return self.tokenizer.decode(collect(written, 1)[0])


def stretch(tokens: Integer[ndarray, " n"], item: Chunk) -> Batch:
    """The tokens of a stretch, and those that follow each."""
    rows = np.stack([tokens[start : start + item.steps + 1] for start in item.starts]).astype(np.int64)
    both: Tensor = torch.from_numpy(rows)
    return Batch(both[:, :-1], both[:, 1:], continues=item.continues)


def evaluation_stretches(tokens: int, experiment: Experiment) -> Iterator[Chunk]:
    """Each token but the first, once: with the state carried, or from a fresh one for each stretch."""
    train = keys(experiment.train, LanguageTrain)
    k = train.bptt
    if train.carry_state:
        streams = StreamEpoch(tokens, train.streams, k, random_lengths=False, seed=0, epoch=0)
        yield from streams
        done = streams.rows * streams.length
    else:
        whole = (tokens - 1) // k
        for start in range(0, whole, train.streams):
            yield Chunk(np.arange(start, min(start + train.streams, whole)) * k, k, False)
        done = whole * k
    for start in range(done, tokens - 1, k):
        yield Chunk(np.array([start]), min(k, tokens - 1 - start), False)


TASK = Language
