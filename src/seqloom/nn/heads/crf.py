"""A chain of tags, each with its likely successors: its score, the sum over all chains, the best, each tag's share."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.kernels.masks import last_step, mask_padding, sequence_mask
from seqloom.nn.heads.head import ClassHead, Loss, class_target, pad_beyond, real_steps
from seqloom.nn.validation import check_count

Emissions = Float[Tensor, "batch time tags"]
Tags = Int[Tensor, "batch time"]
Lengths = Int[Tensor, " batch"]


class Chain(nn.Module):
    """score(z | x) = start_{z_1} + Σ_t emission_t(z_t) + Σ_t transition_{z_{t−1}, z_t} + end_{z_n}

    p(z | x) = exp(score(z | x)) / Z(x), Z the sum over all K^n chains. Time is at least 1; a row of length 0 has one
    chain, the empty one, which scores 0. All three parameters start at zero, where tags are independent.
    """

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(tags))
        self.transition = nn.Parameter(torch.zeros(tags, tags))  # from, to
        self.end = nn.Parameter(torch.zeros(tags))

    def score(self, emissions: Emissions, tags: Tags, lengths: Lengths) -> Float[Tensor, " batch"]:
        """score(z | x)"""
        emitted = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)
        moved = self.transition[tags[:, :-1], tags[:, 1:]]
        final = last_step(self.end[tags].unsqueeze(2), lengths, default=emissions.new_zeros(len(lengths), 1)).squeeze(1)
        begun = self.start[tags[:, 0]].masked_fill(lengths == 0, 0)
        inner = mask_padding(moved, (lengths - 1).clamp(min=0)).sum(dim=1)
        return begun + mask_padding(emitted, lengths).sum(dim=1) + inner + final

    def log_partition(self, emissions: Emissions, lengths: Lengths) -> Float[Tensor, " batch"]:
        """log Z = logsumexp_j(α_n(j) + end_j)"""
        return (self._forwards(emissions, lengths)[-1] + self.end).logsumexp(dim=1).masked_fill(lengths == 0, 0)

    def marginals(self, emissions: Emissions, lengths: Lengths) -> Emissions:
        """p(z_t = j | x) = exp(α_t(j) + β_t(j) − log Z); zero beyond a row's length"""
        ahead = torch.stack(self._forwards(emissions, lengths), dim=1)
        back = torch.stack(self._backwards(emissions, lengths), dim=1)
        return mask_padding((ahead + back).softmax(dim=2), lengths)  # Σ_j exp(α_t(j) + β_t(j)) = Z at every t

    def best(self, emissions: Emissions, lengths: Lengths) -> Tags:
        """argmax_z score(z | x) (Viterbi 1967); beyond a row's length its last tag stays.

        δ_1 = start + emission_1
        δ_t(j) = emission_t(j) + max_i(δ_{t−1}(i) + transition_ij),   the best i kept
        z_n = argmax_j(δ_n(j) + end_j), then back along the kept ones
        """
        stay = torch.arange(emissions.shape[2], device=emissions.device)
        delta, kept = self.start + emissions[:, 0], []
        for emission, going in self._later(emissions, lengths):
            highest, came_from = (delta.unsqueeze(2) + self.transition).max(dim=1)
            delta = torch.where(going, emission + highest, delta)
            kept.append(torch.where(going, came_from, stay))
        path = [(delta + self.end).argmax(dim=1, keepdim=True)]
        for came_from in reversed(kept):
            path.append(came_from.gather(1, path[-1]))
        return torch.cat(path[::-1], dim=1)

    def _forwards(self, emissions: Emissions, lengths: Lengths) -> list[Float[Tensor, "batch tags"]]:
        """α_1 = start + emission_1;   α_t(j) = emission_t(j) + logsumexp_i(α_{t−1}(i) + transition_ij)"""
        alphas = [self.start + emissions[:, 0]]
        for emission, going in self._later(emissions, lengths):
            alpha = emission + (alphas[-1].unsqueeze(2) + self.transition).logsumexp(dim=1)
            alphas.append(torch.where(going, alpha, alphas[-1]))
        return alphas

    def _backwards(self, emissions: Emissions, lengths: Lengths) -> list[Float[Tensor, "batch tags"]]:
        """β_n = end;   β_{t−1}(i) = logsumexp_j(transition_ij + emission_t(j) + β_t(j))"""
        betas = [self.end.expand(emissions[:, 0].shape)]
        for emission, going in reversed(self._later(emissions, lengths)):
            beta = (self.transition + (emission + betas[-1]).unsqueeze(1)).logsumexp(dim=2)
            betas.append(torch.where(going, beta, betas[-1]))
        return betas[::-1]

    def _later(self, emissions: Emissions, lengths: Lengths) -> list[tuple[Tensor, Tensor]]:
        """The steps after the first: their emissions, and which rows are still going."""
        going = sequence_mask(lengths, emissions.shape[1]).unsqueeze(2)
        return list(zip(emissions.unbind(1)[1:], going.unbind(1)[1:], strict=True))


class CRF(ClassHead):
    """One tag at each step, chosen together (Lafferty et al. 2001; Collobert et al. 2011), on emissions W y_t + b.

        log p(z | y) = score(z | y) − log Z(y)                see `Chain`
        loss = Σ_rows −log p(target | y)                      exact; count: real steps

    The count is of steps, not of rows: the mean is then in the unit of `PerToken` (the same number where the chain's
    parameters are zero), and does not grow with the length of sentences, nor does the step that an optimiser takes.

    `predict` gives the one best sequence (not the sequence of best tags), and PADDING (−1) beyond a row's length;
    `probabilities` gives the marginals p(z_t = k | y).

    >>> head = CRF(4, tags=3)
    >>> y, lengths = torch.randn(2, 5, 4), torch.tensor([5, 2])
    >>> head.loss(y, torch.zeros(2, 5, dtype=torch.int64), lengths).count
    tensor(7)
    >>> head.predict(y, lengths)[1, 2:].tolist()
    [-1, -1, -1]
    """

    def __init__(self, size: int, tags: int) -> None:
        check_count("CRF", "tags", tags)
        super().__init__(nn.Linear(size, tags))
        self.chain = Chain(tags)

    def check_target(
        self, where: str, target: Tensor, scores: Float[Tensor, "*steps tags"], lengths: Int[Tensor, " batch"] | None
    ) -> Int[Tensor, "*steps"]:
        return class_target(where, target, scores, lengths)

    def measure(
        self,
        scores: Float[Tensor, "batch time tags"],
        target: Int[Tensor, "batch time"],
        lengths: Int[Tensor, " batch"] | None,
    ) -> Loss:
        if scores.shape[1] == 0:
            return Loss(scores.sum(), real_steps(scores, lengths))
        known = _known(scores, lengths)
        log_p = self.chain.score(scores, target, known) - self.chain.log_partition(scores, known)
        return Loss(-log_p.sum(), real_steps(scores, lengths))

    def decide(
        self, scores: Float[Tensor, "batch time tags"], lengths: Int[Tensor, " batch"] | None
    ) -> Int[Tensor, "batch time"]:
        if scores.shape[1] == 0:
            return scores.new_zeros(scores.shape[:2], dtype=torch.int64)
        return pad_beyond(self.chain.best(scores, _known(scores, lengths)), lengths)

    def weigh(
        self, scores: Float[Tensor, "batch time tags"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch time tags"]:
        if scores.shape[1] == 0:
            return scores
        return self.chain.marginals(scores, _known(scores, lengths))


def _known(scores: Tensor, lengths: Tensor | None) -> Int[Tensor, " batch"]:
    """The lengths, or all of the time."""
    if lengths is not None:
        return lengths
    rows, time = scores.shape[:2]
    return torch.full((rows,), time, dtype=torch.int64, device=scores.device)
