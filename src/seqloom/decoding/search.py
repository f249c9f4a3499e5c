"""The loop of greedy search, sampling and beam search."""

import math
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, Integer, Shaped
from numpy import ndarray
from torch import Tensor

from seqloom.core.config.decode import DecodeSection
from seqloom.core.problem import ArgumentError
from seqloom.decoding.beam import Beams, Extension, PartialHypothesis, rank_extensions, to_host, top_tokens
from seqloom.decoding.constraints import Constraints
from seqloom.decoding.hypothesis import Candidate, Hypothesis, SearchTree, Status
from seqloom.decoding.sampling import check_finite, sample_tokens, uniform_noise
from seqloom.decoding.stepper import Logits, Stepper
from seqloom.kernels.linear import PackedWeights


class Search:
    """The hypotheses of all sources, from one step to the next.

    With options.temperature above 0 each source has options.answers samples, otherwise options.beam_size beams.

    limits: the step limit of each source, the end included
    prefixes: for each source, tokens that its hypotheses start with
    sample_numbers: the number of the first sample of each source; the others follow it
    trees: the kept and pruned candidates of each source, if `trees` is true
    """

    def __init__(
        self,
        stepper: Stepper,
        options: DecodeSection,
        *,
        end: int | None,
        seed: int,
        limits: Sequence[int],
        prefixes: Sequence[Sequence[int]],
        sample_numbers: Sequence[int],
        banned: Collection[int],
        trees: bool = False,
    ) -> None:
        self.stepper, self.options, self.end, self.seed = stepper, options, end, seed
        self.prefixes, self.sample_numbers = prefixes, sample_numbers
        end_tokens = () if end is None else (end,)
        self.constraints = Constraints(tuple(banned), end_tokens, options.min_length, options.no_repeat_ngram)
        self.samples = options.answers if options.temperature > 0 else 1
        size = options.answers if options.temperature > 0 else options.beam_size
        self.beams = [Beams(size, options.answers, limit, options.length_penalty) for limit in limits]
        self.trees = [SearchTree() for _ in limits] if trees else None

    def steps(
        self, source: Shaped[Tensor, "batch *rest"] | None, lengths: Int[Tensor, " batch"] | None
    ) -> Iterator[list[PartialHypothesis]]:
        """Read the source and the prompts, then yield after each step the hypotheses that gained a token.

        A hypothesis that ends at a step is not among them.
        """
        packed = PackedWeights.current()
        live = [
            PartialHypothesis(source, first + sample, rank=sample, row=source * self.samples + sample)
            for source, first in enumerate(self.sample_numbers)
            for sample in range(self.samples)
        ]
        with torch.no_grad(), packed:
            logits = self.stepper.start(source, lengths, live)
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
        pruned = 0 if self.trees is None else self.beams[0].size
        extended: dict[int, list[PartialHypothesis]] = {}
        for extension in rank_extensions(live, values, tokens, free, pruned):
            child = self.child(live[extension.row], extension)
            if extension.kept and child.token == self.end:
                self.beams[child.source].ended.append(child)
            elif extension.kept:
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
        log_p = logits.log_softmax(dim=1)  # the model's own, before tokens are excluded
        options = self.options
        generated = (
            np.array([hypothesis.tokens() for hypothesis in live], np.int64) if options.no_repeat_ngram else None
        )
        forced = {
            row: self.prefixes[hypothesis.source][step]
            for row, hypothesis in enumerate(live)
            if step < len(self.prefixes[hypothesis.source])
        }
        self.constraints.apply(log_p, step, generated, forced)
        if options.temperature == 0:
            return top_tokens(log_p, options.beam_size * (1 if self.trees is None else 2))
        noise = uniform_noise(self.seed, [hypothesis.sample for hypothesis in live], step)
        sampled = sample_tokens(
            log_p,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            min_p=options.min_p,
            noise=noise,
        ).unsqueeze(1)
        invalid = log_p.amax(dim=1, keepdim=True).isnan()  # whichever token was sampled
        return to_host(log_p.gather(1, sampled).masked_fill(invalid, math.nan), sampled)

    def child(self, parent: PartialHypothesis, extension: Extension) -> PartialHypothesis:
        """The hypothesis extended by one token, also added to the tree."""
        child = PartialHypothesis(
            parent.source,
            parent.sample,
            parent=parent,
            token=extension.token,
            log_prob=extension.log_prob,
            total=extension.total,
            steps=parent.steps + 1,
            row=extension.row,
            tokens_read=parent.tokens_read,
        )
        if self.trees is not None:
            ended = extension.token == self.end
            status: Status = "pruned" if not extension.kept else "ended" if ended else "kept"
            candidates = self.trees[parent.source].candidates
            child.candidate = len(candidates)
            values = (extension.token, extension.log_prob, extension.total)
            candidates.append(Candidate(parent.steps, parent.candidate, *values, status))
        return child

    def results(self, lengths: Sequence[int | None]) -> list[list[Hypothesis]]:
        """The best hypotheses of each source. lengths: of the sources"""
        return [
            [self.hypothesis(best, beams.score(best), length) for best in beams.best()]
            for beams, length in zip(self.beams, lengths, strict=True)
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
