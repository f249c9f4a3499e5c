"""Calibration: whether a model that is 80% confident is correct 80% of the time."""

from dataclasses import asdict, dataclass

import numpy as np

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.classes import Values, as_array, check_same_shape
from seqloom.tasks.metrics.counts import ratio


@dataclass(frozen=True)
class Bin:
    """Items whose confidence is above `low`, up to `high`: their number, mean confidence and accuracy (0 if empty)."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


class Calibration:
    """Confidence against accuracy, in bins of equal width (Guo et al. 2017, https://arxiv.org/abs/1706.04599).

        confidence = max_k p(k | x)
        expected calibration error = Σ_b count_b / items · |accuracy_b − confidence_b|

    >>> calibration = Calibration(bins=2)
    >>> calibration.add(confidence=[0.5, 0.75, 1.0, 1.0], correct=[True, False, True, True])
    >>> calibration.bins()
    [Bin(low=0.0, high=0.5, count=1, confidence=0.5, accuracy=1.0),
     Bin(low=0.5, high=1.0, count=3, confidence=0.916..., accuracy=0.666...)]
    >>> calibration.scores()
    {'calibration_error': 0.3125}
    """

    def __init__(self, bins: int = 15) -> None:
        if bins < 1:
            raise ArgumentError("Calibration", "bins", str(bins), "at least 1", verb="is")
        self.count, self.correct = np.zeros((2, bins), np.int64)
        self.confidence = np.zeros(bins)

    def add(self, confidence: Values, correct: Values) -> None:
        """Add a batch of any shape: the probability of each item's answer, and whether the answer is correct.

        Items of probability 0 are not counted: a head returns 0 at padding.
        """
        p, is_correct = as_array(confidence).astype(np.float64), as_array(correct).astype(bool)
        check_same_shape("Calibration", "correct", is_correct, p)
        p, is_correct = p[p != 0], is_correct[p != 0]
        if not ((p > 0) & (p <= 1.001)).all():  # rounding may carry a probability a little past 1
            raise ArgumentError("Calibration", "confidence", "a value outside 0 to 1", "probabilities")
        bins = len(self.count)
        bin_of = np.clip(np.ceil(p * bins).astype(np.int64) - 1, 0, bins - 1)
        self.count += np.bincount(bin_of, minlength=bins)
        self.correct += np.bincount(bin_of[is_correct], minlength=bins)
        self.confidence += np.bincount(bin_of, weights=p, minlength=bins)

    def bins(self) -> list[Bin]:
        bins = len(self.count)
        sums = zip(self.count.tolist(), self.confidence.tolist(), self.correct.tolist(), strict=True)
        return [
            Bin(i / bins, (i + 1) / bins, count, ratio(confidence, count), ratio(correct, count))
            for i, (count, confidence, correct) in enumerate(sums)
        ]

    def scores(self) -> dict[str, float]:
        """calibration_error; nothing if nothing was counted."""
        items = int(self.count.sum())
        if not items:
            return {}
        return {"calibration_error": sum(b.count * abs(b.accuracy - b.confidence) for b in self.bins()) / items}

    def details(self) -> dict[str, object]:
        """The bins that are not empty, and the error, for a report."""
        bins = [asdict(b) for b in self.bins() if b.count]
        return {"calibration": bins, "ece": self.scores().get("calibration_error", 0.0)}
