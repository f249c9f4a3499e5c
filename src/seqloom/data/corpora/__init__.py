"""Corpora that need no download: made from a seed, or from what Python brings along."""

import platform
from importlib.metadata import version

EDITIONS = {"numbers": 2}  # one more whenever a corpus says something else for the same seed


def made_with(corpus: str | None) -> dict[str, str]:
    """Versions that decide what a corpus says, beside its seed.

    >>> made_with("copy"), list(made_with("python"))
    ({'edition': '1'}, ['edition', 'python'])
    """
    if corpus is None:
        return {}
    made = {"edition": str(EDITIONS.get(corpus, 1))}
    if corpus == "python":
        made["python"] = platform.python_version()
    if corpus == "numbers":
        made["num2words"] = version("num2words")
    return made
