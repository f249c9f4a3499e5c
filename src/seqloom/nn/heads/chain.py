"""A chain of tags, each with its likely successors: its score, the sum over all chains, the best, each tag's share."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.kernels.lengths import last, real, zero_beyond

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
        final = last(self.end[tags].unsqueeze(2), lengths, otherwise=emissions.new_zeros(len(lengths), 1)).squeeze(1)
        begun = self.start[tags[:, 0]].masked_fill(lengths == 0, 0)
        inner = zero_beyond(moved, (lengths - 1).clamp(min=0)).sum(dim=1)
        return begun + zero_beyond(emitted, lengths).sum(dim=1) + inner + final

    def log_partition(self, emissions: Emissions, lengths: Lengths) -> Float[Tensor, " batch"]:
        """log Z = logsumexp_j(α_n(j) + end_j)"""
        return (self._forwards(emissions, lengths)[-1] + self.end).logsumexp(dim=1).masked_fill(lengths == 0, 0)

    def marginals(self, emissions: Emissions, lengths: Lengths) -> Emissions:
        """p(z_t = j | x) = exp(α_t(j) + β_t(j) − log Z); zero beyond a row's length"""
        ahead = torch.stack(self._forwards(emissions, lengths), dim=1)
        back = torch.stack(self._backwards(emissions, lengths), dim=1)
        return zero_beyond((ahead + back).softmax(dim=2), lengths)  # Σ_j exp(α_t(j) + β_t(j)) = Z at every t

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
        going = real(lengths, emissions.shape[1]).unsqueeze(2)
        return list(zip(emissions.unbind(1)[1:], going.unbind(1)[1:], strict=True))
