"""How many words or characters of an answer must change to make it a reference (Levenshtein 1966)."""

from collections.abc import Callable, Sequence


def word_error_rate(answers: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Words to insert, remove or replace, by words of the reference.

    Of several references the one that needs the fewest edits counts.

    >>> word_error_rate(["the cat sat", "a dog"], [["the cat sat down"], ["a dog", "one dog"]])
    0.1666...
    """
    return error_rate(answers, references, str.split)


def character_error_rate(answers: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Characters to insert, remove or replace, by characters of the reference.

    Of several references the one that needs the fewest edits counts.

    >>> character_error_rate(["cot"], [["cat"]])
    0.333...
    """
    return error_rate(answers, references, list)


def error_rate(
    answers: Sequence[str], references: Sequence[Sequence[str]], split: Callable[[str], Sequence[str]]
) -> float:
    """Edits by items of the references, over all answers; as many as there are edits where the references are empty."""
    edits = items = 0
    for answer, texts in zip(answers, references, strict=True):
        fewest, size = min((edit_distance(split(answer), split(text)), len(split(text))) for text in texts)
        edits += fewest
        items += size
    return edits / max(1, items)


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """The fewest insertions, removals and replacements that make one sequence the other.

        d(i, j) = min( d(i − 1, j) + 1,  d(i, j − 1) + 1,  d(i − 1, j − 1) + [one_i ≠ other_j] )

    A row at a time: d(i, j) = min over k ≤ j of c(k) + j − k, c being the minimum of the other two terms.

    >>> edit_distance("kitten", "sitting")
    3
    """
    import numpy as np  # not for the help, which lists the metrics

    numbers = {item: number for number, item in enumerate(dict.fromkeys([*one, *other]))}
    target = np.array([numbers[item] for item in other], dtype=np.int64)
    steps = np.arange(len(other) + 1)
    row = steps
    for i, item in enumerate(one, start=1):
        changed = np.minimum(row[1:] + 1, row[:-1] + (target != numbers[item]))
        row = np.minimum.accumulate(np.concatenate(([i], changed)) - steps) + steps
    return int(row[-1])
