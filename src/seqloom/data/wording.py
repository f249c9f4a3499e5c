"""Numbers in sentences."""


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "text"), counted(1200, "text"), counted(2, "class")
    ('1 text', '1,200 texts', '2 classes')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"
