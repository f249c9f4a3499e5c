"""Whether a model that is 80% sure is right 80% of the time."""

from typing import NamedTuple

import numpy as np

from seqloom.core.problem import ArgumentError
from seqloom.tasks.metrics.classes import Values, array, check_alike
from seqloom.tasks.metrics.counts import share


class Bin(NamedTuple):
    """Items whose confidence is above `low`, up to `high`: their number, mean confidence and accuracy (0 of none)."""

    low: float
    high: float
    items: int
    confidence: float
    accuracy: float


class Calibration:
    """Confidence against accuracy, in bins of equal width (Guo et al. 2017, https://arxiv.org/abs/1706.04599).

        confidence = max_k p(k | x)
        expected calibration error = Σ_b items_b / items · |accuracy_b − confidence_b|

    >>> sure = Calibration(bins=2)
    >>> sure.add(confidence=[0.5, 0.75, 1.0, 1.0], right=[True, False, True, True])
    >>> sure.bins()
    [Bin(low=0.0, high=0.5, items=1, confidence=0.5, accuracy=1.0),
     Bin(low=0.5, high=1.0, items=3, confidence=0.916..., accuracy=0.666...)]
    >>> sure.scores()
    {'calibration_error': 0.3125}
    """

    def __init__(self, bins: int = 15) -> None:
        if bins < 1:
            raise ArgumentError("Calibration", "bins", str(bins), "at least 1", verb="is")
        self.items = np.zeros(bins, np.int64)
        self.right = np.zeros(bins, np.int64)
        self.confidence = np.zeros(bins)

    def add(self, confidence: Values, right: Values) -> None:
        """A batch, of any one shape: the probability of each item's answer, and whether the answer is right.

        Where the probability is 0, which is what a head gives where there is no step, nothing is counted.
        """
        sure, correct = array(confidence).astype(np.float64), array(right).astype(bool)
        check_alike("Calibration", "right", correct, sure)
        sure, correct = sure[sure != 0], correct[sure != 0]
        if not ((sure > 0) & (sure <= 1.001)).all():  # rounding may carry a probability a little past 1
            raise ArgumentError("Calibration", "confidence", "a value outside 0 to 1", "probabilities")
        bins = len(self.items)
        bin_of = np.clip(np.ceil(sure * bins).astype(np.int64) - 1, 0, bins - 1)
        self.items += np.bincount(bin_of, minlength=bins)
        self.right += np.bincount(bin_of[correct], minlength=bins)
        self.confidence += np.bincount(bin_of, weights=sure, minlength=bins)

    def bins(self) -> list[Bin]:
        """From the least sure to the surest."""
        number = len(self.items)
        sums = zip(self.items.tolist(), self.confidence.tolist(), self.right.tolist(), strict=True)
        return [
            Bin(place / number, (place + 1) / number, items, share(confidence, items), share(right, items))
            for place, (items, confidence, right) in enumerate(sums)
        ]

    def scores(self) -> dict[str, float]:
        """calibration_error; nothing if nothing was counted."""
        items = int(self.items.sum())
        if not items:
            return {}
        gaps = (each.items * abs(each.accuracy - each.confidence) for each in self.bins())
        return {"calibration_error": sum(gaps) / items}

    def told(self) -> dict[str, object]:
        """The bins that hold anything, and the error, for a report."""
        bins = [
            {"low": b.low, "high": b.high, "count": b.items, "confidence": b.confidence, "accuracy": b.accuracy}
            for b in self.bins()
            if b.items
        ]
        return {"calibration": bins, "ece": self.scores().get("calibration_error", 0.0)}
