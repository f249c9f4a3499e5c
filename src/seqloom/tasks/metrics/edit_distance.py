"""Error rates by edit distance: how many words or characters of an answer must change (Levenshtein 1966)."""

from collections.abc import Callable, Sequence


def word_error_rate(answers: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Words to insert, remove or replace, per word of the closest reference.

    >>> word_error_rate(["the cat sat", "a dog"], [["the cat sat down"], ["a dog", "one dog"]])
    0.1666...
    """
    return error_rate(answers, references, str.split)


def character_error_rate(answers: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Characters to insert, remove or replace, per character of the closest reference.

    >>> character_error_rate(["cot"], [["cat"]])
    0.333...
    """
    return error_rate(answers, references, list)


def error_rate(
    answers: Sequence[str], references: Sequence[Sequence[str]], split: Callable[[str], Sequence[str]]
) -> float:
    """Edits per item of the references, over all answers; the number of edits if all references are empty."""
    edits = items = 0
    for answer, texts in zip(answers, references, strict=True):
        fewest, size = min((edit_distance(split(answer), split(text)), len(split(text))) for text in texts)
        edits += fewest
        items += size
    return edits / max(1, items)


def edit_distance(a: Sequence[str], b: Sequence[str]) -> int:
    """The fewest insertions, removals and replacements that turn one sequence into the other.

        d(i, j) = min( d(i − 1, j) + 1,  d(i, j − 1) + 1,  d(i − 1, j − 1) + [a_i ≠ b_j] )

    A row at a time: d(i, j) = min over k ≤ j of c(k) + j − k, where c is the minimum of the other two terms.

    >>> edit_distance("kitten", "sitting")
    3
    """
    import numpy as np  # imported here: the help lists the metrics, and must not import numpy

    numbers = {item: number for number, item in enumerate(dict.fromkeys([*a, *b]))}
    target = np.array([numbers[item] for item in b], dtype=np.int64)
    steps = np.arange(len(b) + 1)
    row = steps
    for i, item in enumerate(a, start=1):
        changed = np.minimum(row[1:] + 1, row[:-1] + (target != numbers[item]))
        row = np.minimum.accumulate(np.concatenate(([i], changed)) - steps) + steps
    return int(row[-1])
