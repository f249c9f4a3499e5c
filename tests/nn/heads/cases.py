"""A small head of every kind with random targets, for `test_head`."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seqloom.nn.heads import (
    CRF,
    GaussianLikelihood,
    Head,
    LabelsPerSequence,
    LabelsPerToken,
    PerSequence,
    PerToken,
    Pooled,
    SquaredError,
)
from seqloom.nn.pooling import POOLS

SIZE, CLASSES, OUTPUTS = 4, 5, 2
Target = Callable[[int, int], Tensor]


@dataclass(frozen=True)
class Case:
    """make: a new head. target: a random target for rows and time. pooled: whether it predicts once per row."""

    make: Callable[[], Head]
    target: Target
    pooled: bool = False

    def head(self) -> Head:
        """In float64, with no parameter at zero."""
        head = self.make().double()
        with torch.no_grad():
            for parameter in head.parameters():
                parameter.copy_(torch.randn_like(parameter))
        return head


def classes(*shape: int) -> Tensor:
    return torch.randint(CLASSES, shape)


def labels(*shape: int) -> Tensor:
    return torch.rand(*shape, CLASSES) < 0.4


def values(*shape: int) -> Tensor:
    return torch.randn(*shape, OUTPUTS, dtype=torch.float64)


def per_row(target: Callable[..., Tensor]) -> Target:
    return lambda rows, time: target(rows)


def tied() -> Head:
    """`to` and `double` of the head alone don't convert the embedding, which is the stem's: see `test_tied`."""
    embedding = nn.Embedding(CLASSES, SIZE).double()
    return PerToken(SIZE, CLASSES, tied=embedding)


CASES = {
    "per position": Case(lambda: PerToken(SIZE, CLASSES), classes),
    "per position, smoothed": Case(lambda: PerToken(SIZE, CLASSES, smoothing=0.1), classes),
    "per position, no bias": Case(lambda: PerToken(SIZE, CLASSES, bias=False), classes),
    "per position, tied": Case(tied, classes),
    "labels per position": Case(lambda: LabelsPerToken(SIZE, CLASSES), labels),
    "crf": Case(lambda: CRF(SIZE, CLASSES), classes),
    "squared error": Case(lambda: SquaredError(SIZE, OUTPUTS), values),
    "gaussian": Case(lambda: GaussianLikelihood(SIZE, OUTPUTS), values),
    **{
        f"classes, {pool}": Case(lambda pool=pool: PerSequence(SIZE, CLASSES, pool=pool), per_row(classes), pooled=True)
        for pool in POOLS
    },
    "several labels": Case(lambda: LabelsPerSequence(SIZE, CLASSES), per_row(labels), pooled=True),
    "pooled gaussian": Case(lambda: Pooled("max", GaussianLikelihood(SIZE, OUTPUTS)), per_row(values), pooled=True),
    "pooled squared error": Case(lambda: Pooled("last", SquaredError(SIZE, OUTPUTS)), per_row(values), pooled=True),
    "pooled crf": Case(lambda: Pooled("mean", CRF(SIZE, CLASSES)), per_row(classes), pooled=True),
}
