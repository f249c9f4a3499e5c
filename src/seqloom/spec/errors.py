"""Mistakes that one sentence explains: what is wrong, where, what to do."""


class SeqloomError(Exception):
    """Any error that seqloom raises on purpose; its text is one sentence for a person."""


class UserError(SeqloomError, ValueError):
    """A mistake in what a person gave: a file, an option, a folder. The command line ends with exit code 2."""


class DataError(UserError):
    """Something in a file that can't be used: where, what, what to do.

    >>> str(DataError("train.tsv:7366", "3 fields, expected 2", "Remove the tab, or pass --data.on-bad-line skip"))
    'train.tsv:7366: 3 fields, expected 2. Remove the tab, or pass --data.on-bad-line skip.'
    """

    def __init__(self, place: object, what: str, do: str) -> None:
        super().__init__(f"{place}: {what}. {do}.")
        self.place, self.what, self.do = str(place), what, do


class TextError(DataError):
    """A text among several that can't be used; `number` says which, from 1.

    >>> str(TextError(2, "no word that the model knows", "Give another"))
    'text 2: no word that the model knows. Give another.'
    """

    def __init__(self, number: int, what: str, do: str) -> None:
        super().__init__(f"text {number}", what, do)
        self.number = number

    def after(self, others: int) -> "TextError":
        """The same, where so many texts came before."""
        return TextError(others + self.number, self.what, self.do)


class ConfigError(UserError):
    """A key of the config that does not exist, or a value that it can't have; `key` is its dotted name, if it is one's
    fault."""

    def __init__(self, what: str, key: str | None = None) -> None:
        super().__init__(what)
        self.key = key


class RunError(UserError):
    """A folder that is not a run, or not one that can be used as asked."""


class ArgumentError(SeqloomError, ValueError):
    """An argument that can't be used.

    >>> str(ArgumentError("Recurrent", "x", "width 5", "width 3 (input_size)"))
    'Recurrent: x has width 5; expected width 3 (input_size).'
    """

    def __init__(self, where: str, argument: str, came: str, expected: str, verb: str = "has") -> None:
        end = "" if expected.endswith("?") else "."
        super().__init__(f"{where}: {argument} {verb} {came}; expected {expected}{end}")
        self.argument = argument


class NotFinite(ArgumentError):
    """Scores of a model that are no numbers: in training it may yet recover."""


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
