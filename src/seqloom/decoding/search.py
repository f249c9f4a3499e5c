"""The loop of greedy search, sampling and beam search."""

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

import numpy as np
import torch
from jaxtyping import Float, Int, Integer, Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.core.config.decode import DecodeSection
from seqloom.core.problem import ArgumentError
from seqloom.decoding.beam import Beams, PartialHypothesis, rank_extensions, to_host, top_tokens
from seqloom.decoding.constraints import exclude_tokens
from seqloom.decoding.hypothesis import Candidate, Hypothesis, SearchTree, Status
from seqloom.decoding.sampling import check_finite, sample_tokens, uniform_noise
from seqloom.decoding.stepper import Logits, Stepper
from seqloom.kernels.linear import PackedWeights
from seqloom.nn.model import GenerativeModel


class Search:
    """The hypotheses of all sources, from one step to the next. The arguments are those of `decode`.

    With options.temperature above 0 each source has options.answers samples, otherwise options.beam_size beams.
    """

    def __init__(
        self,
        model: GenerativeModel,
        source: Shaped[Tensor, "batch *rest"] | None,
        lengths: Int[Tensor, " batch"] | None,
        prompts: Sequence[Sequence[int]],
        options: DecodeSection,
        *,
        end: int | None,
        seed: int,
        banned: Collection[int],
        sample_numbers: Sequence[int],
        context: int | None,
        prefixes: Sequence[Sequence[int]] | None = None,
        attention: bool = False,
        record_trees: bool = False,
    ) -> None:
        prefixes = [()] * len(prompts) if prefixes is None else prefixes
        check_arguments(prompts, prefixes, sample_numbers, context, options)
        self.source, self.lengths, self.end, self.options = source, lengths, end, options
        self.seed, self.prefixes, self.banned, self.sample_numbers = seed, prefixes, banned, sample_numbers
        # A language model can continue from a fresh state. With a source the prompt and all tokens but the last one
        # have to fit into what the model can read.
        window, limits = None, [options.max_length] * len(prompts)
        if source is None:
            window = min((bound for bound in (context, model.max_length) if bound is not None), default=None)
        elif model.max_length is not None:
            limits = [min(options.max_length, model.max_length - len(prompt) + 1) for prompt in prompts]
        self.stepper = Stepper(model, prompts, window, attention=attention)
        self.samples = options.answers if options.temperature > 0 else 1  # of each source
        size = options.answers if options.temperature > 0 else options.beam_size
        self.beams = [Beams(size, options.answers, limit, options.length_penalty) for limit in limits]
        self.trees = [SearchTree() for _ in prompts] if record_trees else []

    def steps(self) -> Iterator[list[PartialHypothesis]]:
        """Read the source and the prompts, then yield after each step the hypotheses that gained a token.

        A hypothesis that ends at a step is not among them.
        """
        if not self.beams:
            return
        packed = PackedWeights.current()
        live = [
            PartialHypothesis(source, first + sample, rank=sample, row=source * self.samples + sample)
            for source, first in enumerate(self.sample_numbers)
            for sample in range(self.samples)
        ]
        with torch.no_grad(), packed:
            logits = self.stepper.start(self.source, self.lengths, live)
        self._check_prefixes(logits.shape[1])
        while True:
            with torch.no_grad():
                extended, continuing = self.extend(live, logits)
            yield extended
            if not continuing:
                return
            with torch.no_grad(), packed:
                live, logits = self.stepper.advance(live, continuing)

    def extend(
        self, live: Sequence[PartialHypothesis], logits: Logits
    ) -> tuple[list[PartialHypothesis], list[PartialHypothesis]]:
        """The hypotheses that gained a token other than the end, and those of them that continue."""
        step = live[0].steps
        values, tokens = self.top_extensions(live, logits, step)
        check_finite("decode", values[:, 0].tolist())
        for row in (values[:, 0] == -np.inf).nonzero()[0]:  # every token is excluded
            self.beams[live[row].source].cut.append(live[row])
        free = np.array([beams.free for beams in self.beams])
        pruned = self.beams[0].size if self.trees else 0
        extended: dict[int, list[PartialHypothesis]] = {}
        for child, is_kept in rank_extensions(live, values, tokens, free, pruned):
            has_ended = child.token == self.end
            if self.trees:
                candidates, parent = self.trees[child.source].candidates, live[child.row].candidate
                child.candidate = len(candidates)
                status: Status = "pruned" if not is_kept else "ended" if has_ended else "kept"
                candidates.append(Candidate(step, parent, child.token, child.log_prob, child.total, status))
            if is_kept and has_ended:
                self.beams[child.source].ended.append(child)
            elif is_kept:
                extended.setdefault(child.source, []).append(child)
        continuing: list[PartialHypothesis] = []
        for source, hypotheses in extended.items():
            for rank, hypothesis in enumerate(hypotheses):
                hypothesis.rank = rank
            if step + 1 == self.beams[source].max_steps:
                self.beams[source].cut += hypotheses
            elif not self.beams[source].is_done(hypotheses):
                continuing += keep_rows(hypotheses, len(continuing))
        return [hypothesis for hypotheses in extended.values() for hypothesis in hypotheses], continuing

    def top_extensions(
        self, live: Sequence[PartialHypothesis], logits: Logits, step: int
    ) -> tuple[Float[ndarray, "rows k"], Integer[ndarray, "rows k"]]:
        """log p and ids of the most likely next tokens of each hypothesis; when sampling, of the sampled token."""
        options = self.options
        log_p = logits.log_softmax(dim=1)  # the model's own, before tokens are excluded
        excluded = [*self.banned, *([self.end] if self.end is not None and step < options.min_length else [])]
        generated = (
            np.array([hypothesis.tokens() for hypothesis in live], np.int64) if options.no_repeat_ngram else None
        )
        prefixes = [self.prefixes[hypothesis.source] for hypothesis in live]
        forced = {row: prefix[step] for row, prefix in enumerate(prefixes) if step < len(prefix)}
        exclude_tokens(log_p, excluded, generated, options.no_repeat_ngram, forced)
        if options.temperature == 0:
            return top_tokens(log_p, options.beam_size * (2 if self.trees else 1))
        noise = uniform_noise(self.seed, [hypothesis.sample for hypothesis in live], step)
        sampled = sample_tokens(
            log_p,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            min_p=options.min_p,
            noise=noise,
        ).unsqueeze(1)
        invalid = log_p.amax(dim=1, keepdim=True).isnan()  # a NaN in the row is an error, whichever token was sampled
        return to_host(log_p.gather(1, sampled).masked_fill(invalid, math.nan), sampled)

    def results(self) -> list[list[Hypothesis]]:
        """The best hypotheses of each source."""
        lengths = [None] * len(self.beams) if self.lengths is None else self.lengths.tolist()
        best = [beams.best() for beams in self.beams]
        self.stepper.keep_recorded(chain.from_iterable(best))
        return [
            [self.hypothesis(last, beams.score(last), length) for last in hypotheses]
            for hypotheses, beams, length in zip(best, self.beams, lengths, strict=True)
        ]

    def hypothesis(self, last: PartialHypothesis, score: float, length: int | None) -> Hypothesis:
        path, ended = last.path(), last.token == self.end
        tokens = [step.token for step in path[: len(path) - ended]]
        attention = self.stepper.path_attention(path, length)
        return Hypothesis(tokens, [step.log_prob for step in path], ended, score, attention)

    def _check_prefixes(self, vocabulary: int) -> None:
        """Refuse a prefix that exceeds the step limit, has an unknown token, or continues after the end."""
        for i, (prefix, beams) in enumerate(zip(self.prefixes, self.beams, strict=True)):
            name = f"prefixes[{i}]"
            if len(prefix) > beams.max_steps:
                expected = f"at most {beams.max_steps}, the most steps of a text"
                raise ArgumentError("decode", name, f"{len(prefix)} tokens", expected)
            for token in prefix:
                if not 0 <= token < vocabulary:
                    raise ArgumentError("decode", name, f"the token {token}", f"0 to {vocabulary - 1}")
            if self.end is not None and self.end in prefix[:-1]:
                actual = f"the end, {self.end}, before its last token"
                raise ArgumentError("decode", name, actual, "nothing after the end")


def keep_rows(hypotheses: Sequence[PartialHypothesis], first: int) -> list[PartialHypothesis]:
    """The hypotheses of one source in the order of the rows from `first`.

    As many as possible keep the row of the hypothesis that they extend, so that little of the state is copied.
    """
    by_row: dict[int, PartialHypothesis | None] = dict.fromkeys(range(first, first + len(hypotheses)))
    moved = []
    for hypothesis in hypotheses:
        if hypothesis.row in by_row and by_row[hypothesis.row] is None:
            by_row[hypothesis.row] = hypothesis
        else:
            moved.append(hypothesis)
    others = iter(moved)
    return [hypothesis if hypothesis is not None else next(others) for hypothesis in by_row.values()]


def check_arguments(
    prompts: Sequence[Sequence[int]],
    prefixes: Sequence[Sequence[int]],
    sample_numbers: Sequence[int],
    context: int | None,
    options: DecodeSection,
) -> None:
    for i, prompt in enumerate(prompts):
        if not len(prompt):
            expected = "at least one: begin with the token that begins a text"
            raise ArgumentError("decode", f"prompts[{i}]", "no tokens", expected)
    if context is not None and context < 1:
        raise ArgumentError("decode", "context", str(context), "at least 1", verb="is")
    for name, values in (("prefixes", prefixes), ("sample_numbers", sample_numbers)):
        if len(values) != len(prompts):
            raise ArgumentError("decode", name, f"length {len(values)}", f"{len(prompts)}, one per prompt")
    size, n_best, temperature = options.beam_size, options.answers, options.temperature
    if size > 1 and temperature > 0:
        actual = f"a beam of {size} and a temperature of {temperature:g}"
        expected = "temperature 0, since beam search does not sample; or a beam of 1"
        raise ArgumentError("decode", "options", actual, expected)
    if temperature == 0 and n_best > size:
        actual = f"n_best {n_best} and a beam of {size}"
        raise ArgumentError("decode", "options", actual, f"n_best up to the beam: raise the beam to {n_best}")
