"""The simplest answer there is, to compare with: always the one that is most frequent in the training part."""

import json
from collections.abc import Mapping

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.problem import RunError
from seqloom.data.vocabulary import Vocabulary
from seqloom.tasks.metrics.counts import ratio

USUAL = "usual.json"  # saved with the vocabularies: a run is measured long after its training data are gone
AT_ONCE = 1 << 20  # answers counted together


def most_frequent(answers: Integer[ndarray, " n"], names: Vocabulary) -> str:
    """The name that most of these numbers stand for; of equals the first.

    >>> most_frequent(np.array([2, 1, 2]), Vocabulary(["DET", "NOUN", "VERB"]))
    'VERB'
    """
    counts = np.zeros(len(names), dtype=np.int64)
    for start in range(0, len(answers), AT_ONCE):
        counts += np.bincount(answers[start : start + AT_ONCE], minlength=len(names))
    return names[int(counts.argmax())]


def saved(usual: str) -> str:
    """As it stands in the run folder."""
    return json.dumps(usual, ensure_ascii=False)


def restored(files: Mapping[str, str], names: Vocabulary) -> str:
    """As it was saved; a sentence if it is none of the names."""
    try:
        usual = json.loads(files[USUAL])
    except (ValueError, RecursionError):
        usual = None
    if not isinstance(usual, str) or usual not in names:
        raise RunError("not one of the run's answers, so it is damaged", "Restore the file from a copy", location=USUAL)
    return usual


def baseline(usual: str, names: Vocabulary, confusion: Integer[ndarray, "gold predicted"]) -> dict[str, str | float]:
    """What always giving the usual answer says, and how often that is right where these answers are the right ones.

    >>> baseline("b", Vocabulary(["a", "b"]), np.array([[2, 1], [0, 1]]))
    {'says': 'b', 'accuracy': 0.25}
    """
    gold = confusion.sum(axis=1)
    return {"says": usual, "accuracy": ratio(int(gold[names.names.index(usual)]), int(gold.sum()))}
