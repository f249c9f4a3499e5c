"""The examples whose gold answer the model finds least likely, for a report."""

import heapq
from itertools import count

MOST = 20
MAX_TEXT = 2000  # characters of a text that are kept


class HardestExamples:
    """Keeps the examples whose gold answer has the lowest probability.

    >>> hardest = HardestExamples(most=1)
    >>> hardest.add(0.3, text="a", gold="x", predicted="y")
    >>> hardest.add(0.1, text="b", gold="x", predicted="y")
    >>> hardest.details()
    [{'text': 'b', 'gold': 'x', 'predicted': 'y', 'probability': 0.1}]
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._number = count()
        self._heap: list[tuple[float, int, dict[str, object]]] = []

    def accepts(self, probability: float) -> bool:
        return len(self._heap) < self.most or -probability > self._heap[0][0]

    def add(self, probability: float, *, text: str | list[str], **details: object) -> None:
        if self.accepts(probability):
            example = {"text": text[:MAX_TEXT], **details, "probability": probability}
            heapq.heappush(self._heap, (-probability, -next(self._number), example))
            if len(self._heap) > self.most:
                heapq.heappop(self._heap)

    def details(self) -> list[dict[str, object]]:
        return [example for _, _, example in sorted(self._heap, key=lambda item: (-item[0], -item[1]))]
