"""What an evaluation of labels reports besides its scores: the majority baseline, and the hardest examples."""

import json
from bisect import insort
from collections.abc import Mapping
from operator import itemgetter

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.problem import RunError
from seqloom.data.vocabulary import Vocabulary
from seqloom.tasks.metrics.counts import ratio

BASELINE_FILE = "usual.json"  # saved with the vocabularies: a run is evaluated long after its training data are gone
MAX_EXAMPLES = 20
MAX_TEXT = 2000  # characters of the text of an example


# Baseline ------------------------------------------------------------------------------------------------------------


def most_frequent(counts: Integer[ndarray, " labels"], vocabulary: Vocabulary) -> str:
    """The most frequent label, which the baseline always predicts; the first of equally frequent ones.

    >>> most_frequent(np.array([0, 1, 2]), Vocabulary(["DET", "NOUN", "VERB"]))
    'VERB'
    """
    return vocabulary[int(np.argmax(counts))]


def load_baseline(files: Mapping[str, str], vocabulary: Vocabulary) -> str:
    try:
        label = json.loads(files[BASELINE_FILE])
    except (ValueError, RecursionError):
        label = None
    if not isinstance(label, str) or label not in vocabulary:
        message = "not one of the run's answers, so it is damaged"
        raise RunError(message, "Restore the file from a copy", location=BASELINE_FILE)
    return label


def baseline_details(
    label: str, vocabulary: Vocabulary, confusion: Integer[ndarray, "gold predicted"]
) -> dict[str, str | float]:
    """The label that the baseline predicts, and its accuracy on the gold labels of a confusion matrix.

    >>> baseline_details("b", Vocabulary(["a", "b"]), np.array([[2, 1], [0, 1]]))
    {'says': 'b', 'accuracy': 0.25}
    """
    gold = confusion.sum(axis=1)
    return {"says": label, "accuracy": ratio(int(gold[vocabulary.names.index(label)]), int(gold.sum()))}


# Hardest examples ----------------------------------------------------------------------------------------------------


class HardestExamples:
    """Keeps the examples whose gold answer has the lowest probability; of equally likely ones the first.

    >>> hardest = HardestExamples(max_examples=1)
    >>> hardest.add(0.3, text="a", gold="x", predicted="y")
    >>> hardest.add(0.1, text="b", gold="x", predicted="y")
    >>> hardest.details()
    [{'text': 'b', 'gold': 'x', 'predicted': 'y', 'probability': 0.1}]
    """

    def __init__(self, max_examples: int = MAX_EXAMPLES) -> None:
        self.max_examples = max_examples
        self._examples: list[tuple[float, dict[str, object]]] = []

    def accepts(self, probability: float) -> bool:
        return len(self._examples) < self.max_examples or probability < self._examples[-1][0]

    def add(self, probability: float, *, text: str | list[str], **details: object) -> None:
        if self.accepts(probability):
            example = {"text": text[:MAX_TEXT], **details, "probability": probability}
            insort(self._examples, (probability, example), key=itemgetter(0))
            del self._examples[self.max_examples :]

    def details(self) -> list[dict[str, object]]:
        return [example for _, example in self._examples]
