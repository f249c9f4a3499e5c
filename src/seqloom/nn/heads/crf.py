"""Linear-chain conditional random field: the score of a tag sequence, log Z, marginals and the best sequence."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.kernels.masks import last_step, mask_padding, sequence_mask
from seqloom.nn.heads.head import ClassHead, Loss, Scores, count_steps, pad_predictions
from seqloom.nn.heads.head import Lengths as MaybeLengths
from seqloom.nn.validation import check_count

Emissions = Float[Tensor, "batch time tags"]
Tags = Int[Tensor, "batch time"]
Lengths = Int[Tensor, " batch"]


class Chain(nn.Module):
    """score(z | x) = start_{z_1} + Σ_t emission_t(z_t) + Σ_t transition_{z_{t−1}, z_t} + end_{z_n}

    p(z | x) = exp(score(z | x)) / Z(x), Z the sum over all K^n sequences. Time is at least 1; a row of length 0 has one
    sequence, the empty one, whose score is 0. All three parameters start at zero, where tags are independent.
    """

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(tags))
        self.transition = nn.Parameter(torch.zeros(tags, tags))  # from, to
        self.end = nn.Parameter(torch.zeros(tags))

    def score(self, emissions: Emissions, tags: Tags, lengths: Lengths) -> Float[Tensor, " batch"]:
        """score(z | x)"""
        start = self.start[tags[:, 0]].masked_fill(lengths == 0, 0)
        emitted = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)
        transitions = self.transition[tags[:, :-1], tags[:, 1:]]
        no_end = emissions.new_zeros(len(lengths), 1)
        end = last_step(self.end[tags].unsqueeze(2), lengths, default=no_end).squeeze(1)
        inner = mask_padding(transitions, (lengths - 1).clamp(min=0)).sum(dim=1)
        return start + mask_padding(emitted, lengths).sum(dim=1) + inner + end

    def log_partition(self, emissions: Emissions, lengths: Lengths) -> Float[Tensor, " batch"]:
        """log Z = logsumexp_j(α_n(j) + end_j)"""
        return (self._forward(emissions, lengths)[-1] + self.end).logsumexp(dim=1).masked_fill(lengths == 0, 0)

    def marginals(self, emissions: Emissions, lengths: Lengths) -> Emissions:
        """p(z_t = j | x) = exp(α_t(j) + β_t(j) − log Z); zero beyond a row's length"""
        alpha = torch.stack(self._forward(emissions, lengths), dim=1)
        beta = torch.stack(self._backward(emissions, lengths), dim=1)
        return mask_padding((alpha + beta).softmax(dim=2), lengths)  # Σ_j exp(α_t(j) + β_t(j)) = Z at every t

    def best(self, emissions: Emissions, lengths: Lengths) -> Tags:
        """argmax_z score(z | x) (Viterbi 1967); beyond a row's length its last tag is repeated.

        δ_1 = start + emission_1
        δ_t(j) = emission_t(j) + max_i(δ_{t−1}(i) + transition_ij)
        z_n = argmax_j(δ_n(j) + end_j),   z_{t−1} = the i of that maximum
        """
        same = torch.arange(emissions.shape[2], device=emissions.device)
        delta, pointers = self.start + emissions[:, 0], []
        for emission, inside in self._after_first(emissions, lengths):
            best, previous = (delta.unsqueeze(2) + self.transition).max(dim=1)
            delta = torch.where(inside, emission + best, delta)
            pointers.append(torch.where(inside, previous, same))
        path = [(delta + self.end).argmax(dim=1, keepdim=True)]
        for previous in reversed(pointers):
            path.append(previous.gather(1, path[-1]))
        return torch.cat(path[::-1], dim=1)

    def _forward(self, emissions: Emissions, lengths: Lengths) -> list[Float[Tensor, "batch tags"]]:
        """α_1 = start + emission_1;   α_t(j) = emission_t(j) + logsumexp_i(α_{t−1}(i) + transition_ij)"""
        alphas = [self.start + emissions[:, 0]]
        for emission, inside in self._after_first(emissions, lengths):
            alpha = emission + (alphas[-1].unsqueeze(2) + self.transition).logsumexp(dim=1)
            alphas.append(torch.where(inside, alpha, alphas[-1]))
        return alphas

    def _backward(self, emissions: Emissions, lengths: Lengths) -> list[Float[Tensor, "batch tags"]]:
        """β_n = end;   β_{t−1}(i) = logsumexp_j(transition_ij + emission_t(j) + β_t(j))"""
        betas = [self.end.expand(emissions[:, 0].shape)]
        for emission, inside in reversed(self._after_first(emissions, lengths)):
            beta = (self.transition + (emission + betas[-1]).unsqueeze(1)).logsumexp(dim=2)
            betas.append(torch.where(inside, beta, betas[-1]))
        return betas[::-1]

    def _after_first(self, emissions: Emissions, lengths: Lengths) -> list[tuple[Tensor, Tensor]]:
        """The emissions of each step after the first, and which rows have this step."""
        inside = sequence_mask(lengths, emissions.shape[1]).unsqueeze(2)
        return list(zip(emissions.unbind(1)[1:], inside.unbind(1)[1:], strict=True))


class CRF(ClassHead):
    """Tags chosen jointly (Lafferty et al. 2001; Collobert et al. 2011), on emissions W y_t + b.

        log p(z | y) = score(z | y) − log Z(y)                see `Chain`
        loss = Σ_rows −log p(target | y)                      exact; count: valid steps

    The count is of steps, not of rows: the mean is in the unit of `PerToken` (the same number where the chain's
    parameters are zero), and neither it nor an optimizer's step grows with the length of sentences.

    `init_bias_from_prior` sets b_k = log p(k): while the chain's parameters are zero, tags are independent, and the
    initial loss is the entropy of the tags, as that of `PerToken`.

    `predict` returns the best sequence (not the sequence of best tags), and PADDING (−1) beyond a row's length;
    `probabilities` returns the marginals p(z_t = k | y).

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

    def loss_from_scores(self, scores: Scores, target: Tags, lengths: MaybeLengths) -> Loss:
        if scores.shape[1] == 0:
            return Loss(scores.sum(), count_steps(scores, lengths))
        all_lengths = _lengths(scores, lengths)
        log_p = self.chain.score(scores, target, all_lengths) - self.chain.log_partition(scores, all_lengths)
        return Loss(-log_p.sum(), count_steps(scores, lengths))

    def predict_from_scores(self, scores: Scores, lengths: MaybeLengths) -> Tags:
        if scores.shape[1] == 0:
            return scores.new_zeros(scores.shape[:2], dtype=torch.int64)
        return pad_predictions(self.chain.best(scores, _lengths(scores, lengths)), lengths)

    def probabilities_from_scores(self, scores: Scores, lengths: MaybeLengths) -> Float[Tensor, "batch time tags"]:
        return self.chain.marginals(scores, _lengths(scores, lengths)) if scores.shape[1] else scores


def _lengths(scores: Tensor, lengths: MaybeLengths) -> Lengths:
    """The lengths; if they are None, every row has all steps."""
    if lengths is not None:
        return lengths
    rows, time = scores.shape[:2]
    return torch.full((rows,), time, dtype=torch.int64, device=scores.device)
