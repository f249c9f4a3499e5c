"""Tags that know their neighbours: the linear-chain conditional random field."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.nn.checks import check_count
from seqloom.nn.heads.chain import Chain
from seqloom.nn.heads.head import ClassHead, pad_beyond, real_steps
from seqloom.nn.heads.loss import Loss
from seqloom.nn.heads.targets import class_target


class CRF(ClassHead):
    """One tag at each step, chosen together (Lafferty et al. 2001; Collobert et al. 2011), on emissions W y_t + b.

        log p(z | y) = score(z | y) − log Z(y)                see `Chain`
        loss = Σ_rows −log p(target | y)                      exact; count: real steps

    The count is of steps, not of rows: the mean is then in the unit of `PerPosition` (the same number where the chain's
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
