"""Language modeling: predicting the next token of a text."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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
from seqloom.data.schema import TokenizerLearner, tokenizer_learner
from seqloom.data.source import DataSource
from seqloom.data.split import TRAIN, VALID
from seqloom.data.text_stream import TOKENIZER_FILE, TokenStreams, prepare_stream, prepare_test_stream
from seqloom.data.tokenizers import Tokenizer
from seqloom.decoding.decode import decode
from seqloom.decoding.stream import Detokenizer, stream
from seqloom.nn.heads.head import ClassHead
from seqloom.nn.heads.per_token import HEADS, PerToken
from seqloom.nn.model import Model
from seqloom.nn.record import name_tokens
from seqloom.nn.state import State
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.language.config import LanguageData, LanguageModel, LanguageTrain
from seqloom.tasks.language.scoring import score_texts
from seqloom.tasks.metrics.likelihood import Likelihood
from seqloom.tasks.task import SPLIT_NAMES, Answer, Batch, Evaluation, StepOutput, Task

UNICODE = 0x110000 - 0x800  # possible characters: all code points but the surrogates


class Language(Task[Model, Chunk]):
    """p(text) = Π_t p(token_t | tokens before it); the loss is −log p per token."""

    chosen_by, higher_is_better = "loss", False

    def __init__(self, experiment: Experiment, tokenizer: Tokenizer, data: TokenStreams | None = None) -> None:
        super().__init__(experiment)
        self.tokenizer, self._data = tokenizer, data

    @property
    def data(self) -> TokenStreams:
        if self._data is None:
            raise UserError("this task was opened for prediction and has not read any data", location="language")
        return self._data

    @property
    def train_config(self) -> LanguageTrain:
        return keys(self.experiment.train, LanguageTrain)

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> "Language":
        data = prepare_stream(source, learner(keys(experiment.data, LanguageData)))
        return cls(experiment, data.tokenizer, data)

    @classmethod
    def from_files(cls, experiment: Experiment, files: Mapping[str, str]) -> "Language":
        return cls(experiment, Tokenizer.from_json(files[TOKENIZER_FILE], TOKENIZER_FILE))

    def files(self) -> dict[str, str]:
        return {TOKENIZER_FILE: self.tokenizer.to_json()}

    def splits(self) -> tuple[str, ...]:
        return tuple(self.data.tokens)

    def read_test_files(self, files: Sequence[str], folder: Path) -> None:
        source = DataSource.for_testing(self.experiment.data, self.experiment.data_spec, files)
        self._data = prepare_test_stream(source, self.tokenizer, folder)

    def describe(self) -> str:
        counts = ", ".join(f"{count:,} {SPLIT_NAMES[split]}" for split, count in self.data.characters.items())
        return f"{counts} (characters; {len(self.tokenizer):,} different {self.tokenizer.kind} tokens)"

    def epoch(self, number: int) -> Sequence[Chunk]:
        train, seed, size = self.train_config, self.experiment.seed, len(self.data.tokens[TRAIN])
        if train.carry_state:
            random = train.bptt_random
            return StreamEpoch(size, train.streams, train.bptt, random_lengths=random, seed=seed, epoch=number)
        return ShuffledEpoch(size, train.streams, train.bptt, seed=seed, epoch=number)

    def batch(self, item: Chunk) -> Batch:
        return collate(self.data.tokens[TRAIN], item)

    def format_batch(self, batch: Batch) -> Iterator[str]:
        for source, target in zip(batch.source.tolist(), batch.target.tolist(), strict=True):
            yield f"{self.tokenizer.decode(source)!r} -> {self.tokenizer.decode(target[-1:])!r}"

    def build(self) -> Model:
        section, smoothing = self.experiment.model, self.experiment.train.label_smoothing
        stem = section.tokens(len(self.tokenizer))
        layers = section.build(section.dim, causal=True)
        if not layers.traits.causal:
            message = (
                f"with these keys of `model`, {section.arch} uses later positions, so it can't generate token by token"
            )
            raise UserError(message, "Leave out these keys of `model`, or use another architecture")
        config, sizes = keys(section, LanguageModel), (layers.output_size, len(self.tokenizer))
        if config.tied:
            head: ClassHead = PerToken(*sizes, tied=stem.embedding, smoothing=smoothing)
        else:
            head = HEADS[config.head](*sizes, smoothing=smoothing)
        return section.initialized(Model(stem, layers, head))

    def step(self, model: Model, batch: Batch, state: State | None, progress: float) -> StepOutput:
        y, state = model(batch.source, batch.lengths, state)
        if self.train_config.loss_at == "last":
            return StepOutput(model.head.loss(y[:, -1:], batch.target[:, -1:]), state, y)
        return StepOutput(model.head.loss(y, batch.target, batch.lengths), state, y)

    # Scores ----------------------------------------------------------------------------------------------------

    def evaluate(self, model: Model, split: str, device: torch.device) -> Evaluation:
        tokens = self.data.tokens[split]
        likelihood, unknown = self.empty_likelihood(), 0
        state: State | None = None
        for chunk in evaluation_chunks(len(tokens), self.train_config):
            batch = collate(tokens, chunk)
            unknown += self.count_unknown(batch.target)
            batch = batch.to(device)
            y, new_state = model(batch.source, None, state if chunk.continues else None)
            state = new_state if self.train_config.carry_state else None
            loss = model.head.loss(y, batch.target)
            likelihood.add(loss.total, loss.count)
        first = len(self.tokenizer.decode(tokens[:1].tolist()))
        return Evaluation(self.scores(likelihood, self.data.characters[split] - first, unknown))

    def scores(self, likelihood: Likelihood, characters: int, unknown: int) -> dict[str, float]:
        """Scores per token; and per character, if the tokens determine the text.

        Words do not determine its spaces, and lower case does not determine its capitals: bits per character would be
        those of another text. An unknown character costs −log p of its token, and log of the number of characters that
        it may be.
        """
        scores = likelihood.scores()
        if likelihood.exact and scores and characters > 0 and self.tokenizer.lossless:
            possible = UNICODE - (len(self.tokenizer) - 1)
            likelihood.add(unknown * math.log(possible), 0, characters=characters)
            scores["bits_per_character"] = likelihood.scores()["bits_per_character"]
        return scores

    def empty_likelihood(self) -> Likelihood:
        return Likelihood(exact=keys(self.experiment.model, LanguageModel).head in names.LIKELIHOODS)

    def count_unknown(self, tokens: Tensor) -> int:
        return 0 if self.tokenizer.unknown is None else int((tokens == self.tokenizer.unknown).sum())

    # Answers ---------------------------------------------------------------------------------------------------

    def predict(self, model: Model, texts: Sequence[str], device: torch.device) -> list[Answer]:
        """How likely each text is, and the likeliest next tokens; a text longer than the context is read in chunks."""
        rows, answers = [self.encode_prompt(text) for text in texts], []
        with name_tokens(self.token_texts):
            scores = score_texts(model, rows, self.experiment.model.length_limit, device)
        for text, row, score in zip(texts, rows, scores, strict=True):
            first, likelihood = score.first_tokens, self.empty_likelihood()
            likelihood.add(score.nats, len(row) - len(first))
            characters = len(text) - sum(len(self.tokenizer.decode([token])) for token in first)
            unknown = self.count_unknown(torch.tensor(row)) - self.count_unknown(torch.tensor(first))
            likely = score.next_logits.softmax(dim=0).topk(min(5, len(self.tokenizer)))
            tokens = zip(likely.values.tolist(), likely.indices.tolist(), strict=True)
            following = [{"token": self.tokenizer.decode([token]), "probability": p} for p, token in tokens]
            answers.append({"text": text, **self.scores(likelihood, characters, unknown), "next": following})
        return answers

    def unknown_tokens(self, text: str) -> list[str]:
        return self.tokenizer.unknown_in(text)

    def encode_prompt(self, text: str) -> list[int]:
        """The tokens of a prompt, which begins with a line end if it is empty; the first token if that has none."""
        return self.tokenizer.encode(text or "\n").tolist() or [0]

    def token_texts(self, rows: Sequence[Sequence[int]]) -> list[list[str]]:
        return [self.tokenizer.tokens(row) for row in rows]

    def decode_arguments(self, options: DecodeSection) -> dict[str, Any]:
        """The arguments that `stream` and `decode` share: the token for unknown ones is banned, as it has no text."""
        banned = [] if self.tokenizer.unknown is None else [self.tokenizer.unknown]
        return {"options": options, "banned": banned, "context": self.experiment.model.length_limit}

    def stream(
        self, model: Model, prompts: Sequence[str], options: DecodeSection, seed: int, device: torch.device
    ) -> Iterator[dict[int, str]]:
        if options.beam_size > 1:
            yield self.search(model, prompts, options)
            return
        rows = [self.encode_prompt(text) for text in prompts]
        detokenizers = [Detokenizer(self.tokenizer) for _ in rows]
        steps = stream(model, rows, seed=seed, **self.decode_arguments(options))
        while True:
            with name_tokens(self.token_texts):  # not around `yield`, since it would last in the caller
                step = next(steps, None)
            if step is None:
                return
            yield {row: detokenizers[row].add(token) for row, token in step.items()}

    def search(self, model: Model, prompts: Sequence[str], options: DecodeSection) -> dict[int, str]:
        """The likeliest continuation of each prompt; a beam search knows it only at the end."""
        rows = [self.encode_prompt(text) for text in prompts]
        with name_tokens(self.token_texts):
            decoded = decode(model, None, prompts=rows, end=None, **self.decode_arguments(options))
        return {row: self.tokenizer.decode(best.tokens) for row, (best, *_) in enumerate(decoded)}

    def example_input(self, folder: Path) -> str:
        """The run's own prompt, or a word of the validation split."""
        if self.experiment.decode is not None and self.experiment.decode.prompt:
            return self.experiment.decode.prompt
        text = self.tokenizer.decode(self.data.tokens[VALID][:200].tolist())
        words = re.findall(r"(?<=\s)[^\W\d_]{2,}", text)  # the split may begin inside a word
        return f"{words[0][:20]} " if words else "the "

    def samples(self, model: Model, device: torch.device) -> Iterator[dict[str, str]]:
        options, count = keys(self.experiment.decode, DecodeSection), self.train_config.samples
        seed = options.seed if options.seed is not None else self.experiment.seed
        prompts, arguments = [self.encode_prompt(options.prompt)], self.decode_arguments(options)
        for number in range(min(count, 1) if options.beam_size > 1 else count):  # a beam search has one result
            try:
                if options.beam_size > 1:
                    text = self.search(model, [options.prompt], options)[0]
                else:
                    steps = stream(model, prompts, seed=seed, sample_numbers=[number], **arguments)
                    text = self.tokenizer.decode([token for step in steps for token in step.values()])
            except NotFinite:
                return
            yield {"prompt": options.prompt, "text": text}


def learner(data: LanguageData) -> TokenizerLearner:
    return tokenizer_learner((0,), data, "character")


def collate(tokens: Integer[ndarray, " n"], chunk: Chunk) -> Batch:
    """The tokens of a chunk, and the token that follows each."""
    rows = np.stack([tokens[start : start + chunk.steps + 1] for start in chunk.starts]).astype(np.int64)
    return Batch(torch.from_numpy(rows[:, :-1]), torch.from_numpy(rows[:, 1:]), continues=chunk.continues)


def evaluation_chunks(tokens: int, train: LanguageTrain) -> Iterator[Chunk]:
    """Chunks that predict every token but the first once: with a carried state, or with a new state for each chunk."""
    k = train.bptt
    if train.carry_state:
        streams = StreamEpoch(tokens, train.streams, k, random_lengths=False, seed=0, epoch=0)
        yield from streams
        done = streams.rows * streams.length
    else:
        full = (tokens - 1) // k
        for start in range(0, full, train.streams):
            yield Chunk(np.arange(start, min(start + train.streams, full)) * k, k, False)
        done = full * k
    for start in range(done, tokens - 1, k):
        yield Chunk(np.array([start]), min(k, tokens - 1 - start), False)


TASK = Language
