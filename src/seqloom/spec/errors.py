"""Mistakes that one sentence explains: what is wrong, where, what to do."""


class SeqloomError(Exception):
    """Any error that seqloom raises on purpose; its text is one sentence for a person."""


class ArgumentError(SeqloomError, ValueError):
    """An argument that can't be used.

    >>> str(ArgumentError("Recurrent", "x", "width 5", "width 3 (input_size)"))
    'Recurrent: x has width 5; expected width 3 (input_size).'
    """

    def __init__(self, where: str, argument: str, came: str, expected: str, verb: str = "has") -> None:
        end = "" if expected.endswith("?") else "."
        super().__init__(f"{where}: {argument} {verb} {came}; expected {expected}{end}")
        self.argument = argument


class UnknownName(SeqloomError, KeyError):
    """A name that a closed registry does not hold."""

    __str__ = Exception.__str__  # KeyError would show the sentence in quotes


class CannotStep(SeqloomError, TypeError):
    """A layer that reads the whole sequence was asked to go on from a carried state."""


class MissingMemory(SeqloomError, TypeError):
    """A layer that looks at another sequence was called before it was given one."""


class NoEqual(SeqloomError, TypeError):
    """Something that can't be converted, because the other library has nothing that computes the same; and why.

    >>> str(NoEqual("GRU", "torch.nn", "its reset gate comes before the product"))
    'GRU has no equal in torch.nn: its reset gate comes before the product.'
    """

    def __init__(self, what: str, where: str, why: str) -> None:
        super().__init__(f"{what} has no equal in {where}: {why}.")


class UnavailableBackend(SeqloomError, RuntimeError):
    """A backend asked for by name that can't run here, and why."""
