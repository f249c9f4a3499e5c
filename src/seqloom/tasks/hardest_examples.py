"""The examples that went most wrong: to be read first."""

import heapq
from itertools import count

KEPT = 20
LONGEST = 2000  # characters of a text that are kept


class Worst:
    """Examples by the probability that their right answer was given, the least likely ones kept.

    >>> worst = Worst(kept=1)
    >>> worst.add(0.3, text="a", gold="x", predicted="y")
    >>> worst.add(0.1, text="b", gold="x", predicted="y")
    >>> worst.told()
    [{'text': 'b', 'gold': 'x', 'predicted': 'y', 'probability': 0.1}]
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.kept = kept
        self._number = count()
        self._heap: list[tuple[float, int, dict[str, object]]] = []

    def takes(self, probability: float) -> bool:
        """Whether such an example would be kept."""
        return len(self._heap) < self.kept or -probability > self._heap[0][0]

    def add(self, probability: float, *, text: str | list[str], **more: object) -> None:
        """One example; what is said of it is for the report."""
        if self.takes(probability):
            told = {"text": text[:LONGEST], **more, "probability": probability}
            heapq.heappush(self._heap, (-probability, -next(self._number), told))
            if len(self._heap) > self.kept:
                heapq.heappop(self._heap)

    def told(self) -> list[dict[str, object]]:
        """The least likely first."""
        return [each for _, _, each in sorted(self._heap, key=lambda item: (-item[0], -item[1]))]
