"""What an embedded corpus is made from, and so may differ with."""

import platform
from importlib.metadata import version


def made_with(corpus: str | None) -> dict[str, str]:
    """Versions that decide what a corpus says; random ones depend on the seed alone.

    >>> made_with("copy"), list(made_with("python"))
    ({}, ['python'])
    """
    if corpus == "python":
        return {"python": platform.python_version()}
    return {"num2words": version("num2words")} if corpus == "numbers" else {}
