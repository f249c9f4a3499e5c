"""Suggestions for misspelled names; none if no name is close."""

from collections.abc import Iterable

MIN_PREFIX = 4  # letters, at least, that are taken for the beginning of a longer name


def closest_name(word: str, names: Iterable[str]) -> str | None:
    """The name that is one or two edits away, or else the only one that begins with `word`. Case, - and _ are ignored.

    >>> closest_name("gelu_tnah", ["gelu", "gelu-tanh"]), closest_name("bidir", ["bidirectional", "bias"])
    ('gelu-tanh', 'bidirectional')
    >>> closest_name("shuffle", ["score", "schedule"]) is None
    True
    """
    word = fold(word)
    folded = {name: fold(name) for name in names}
    max_edits = 0 if len(word) < 3 else 1 if len(word) < 6 else 2
    lengths_fit = (name for name in folded if abs(len(word) - len(folded[name])) <= max_edits)
    edits = {name: edit_distance(word, folded[name]) for name in lengths_fit}
    close = [name for name, count in edits.items() if count <= max_edits and count < len(folded[name])]
    if close:
        return min(close, key=edits.__getitem__)
    longer = [name for name in folded if len(word) >= MIN_PREFIX and folded[name].startswith(word)]
    return longer[0] if len(longer) == 1 else None


def fold(name: str) -> str:
    return name.lower().replace("-", "_")


def edit_distance(a: str, b: str) -> int:
    """The fewest deletions, insertions, substitutions and swaps of neighboring letters that turn a into b.

    (Optimal string alignment: Damerau 1964, Levenshtein 1966.)

    >>> edit_distance("lsmt", "lstm"), edit_distance("gren", "green"), edit_distance("abc", "abc")
    (1, 1, 0)
    """
    row = list(range(len(b) + 1))
    above = above2 = row
    for i, x in enumerate(a, 1):
        above2, above, row = above, row, [i]
        for j, y in enumerate(b, 1):
            distance = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                distance = min(distance, above2[j - 2] + 1)
            row.append(distance)
    return row[-1]
