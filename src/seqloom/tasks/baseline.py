"""The majority baseline: always the most frequent label of the training split."""

import json
from collections.abc import Mapping

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.problem import RunError
from seqloom.data.vocabulary import Vocabulary
from seqloom.tasks.metrics.counts import ratio

BASELINE_FILE = "usual.json"  # saved with the vocabularies: a run is evaluated long after its training data are gone
CHUNK = 1 << 20  # labels counted together


def most_frequent(labels: Integer[ndarray, " n"], names: Vocabulary) -> str:
    """The name of the most frequent number; the first if several are equally frequent.

    >>> most_frequent(np.array([2, 1, 2]), Vocabulary(["DET", "NOUN", "VERB"]))
    'VERB'
    """
    counts = np.zeros(len(names), dtype=np.int64)
    for start in range(0, len(labels), CHUNK):
        counts += np.bincount(labels[start : start + CHUNK], minlength=len(names))
    return names[int(counts.argmax())]


def load_baseline(files: Mapping[str, str], names: Vocabulary) -> str:
    try:
        label = json.loads(files[BASELINE_FILE])
    except (ValueError, RecursionError):
        label = None
    if not isinstance(label, str) or label not in names:
        message = "not one of the run's answers, so it is damaged"
        raise RunError(message, "Restore the file from a copy", location=BASELINE_FILE)
    return label


def baseline_details(
    label: str, names: Vocabulary, confusion: Integer[ndarray, "gold predicted"]
) -> dict[str, str | float]:
    """The label that the baseline predicts, and its accuracy on the gold labels of a confusion matrix.

    >>> baseline_details("b", Vocabulary(["a", "b"]), np.array([[2, 1], [0, 1]]))
    {'says': 'b', 'accuracy': 0.25}
    """
    gold = confusion.sum(axis=1)
    return {"says": label, "accuracy": ratio(int(gold[names.names.index(label)]), int(gold.sum()))}
