"""The right name that was likely meant by a wrong one; none where that would be a guess."""

from collections.abc import Iterable

SHORTEST_BEGINNING = 4  # letters that may stand for a longer word


def near(wrong: str, known: Iterable[str]) -> str | None:
    """The known name that differs by a slip or two of the fingers, or that begins so; capitals, - and _ don't matter.

    >>> near("gelu_tnah", ["gelu", "gelu-tanh"]), near("bidir", ["bidirectional", "bias"])
    ('gelu-tanh', 'bidirectional')
    >>> near("shuffle", ["score", "schedule"]) is None
    True
    """
    plain = {name: folded(name) for name in known}
    word = folded(wrong)
    most = allowed(word)
    measured = [(slips(word, other), name) for name, other in plain.items() if abs(len(word) - len(other)) <= most]
    close = [(count, name) for count, name in measured if count <= most and count < len(plain[name])]
    if close:
        return min(close, key=lambda found: found[0])[1]
    begun = [name for name, other in plain.items() if len(word) >= SHORTEST_BEGINNING and other.startswith(word)]
    return begun[0] if len(begun) == 1 else None


def folded(name: str) -> str:
    """As it is compared."""
    return name.lower().replace("-", "_")


def allowed(word: str) -> int:
    """How many slips a word of this length may have and still be the same word."""
    return 0 if len(word) < 3 else 1 if len(word) < 6 else 2


def slips(one: str, other: str) -> int:
    """The fewest letters left out, put in, changed, or swapped with the next, that turn one word into the other.

    (Optimal string alignment: Damerau 1964, Levenshtein 1966.)

    >>> slips("lsmt", "lstm"), slips("gren", "green"), slips("abc", "abc")
    (1, 1, 0)
    """
    before, row = list(range(len(other) + 1)), list(range(len(other) + 1))
    earlier = row
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, earlier[j - 2] + 1)
            row.append(best)
    return row[-1]
