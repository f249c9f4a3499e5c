"""What a key of the config is called on the command line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seqloom.spec.errors import SeqloomError
from seqloom.spec.problem import Naming, as_key

# The short names of the keys that most commands are about.
SHORT = {
    "model.arch": "--model",
    "model.size": "--size",
    "data.valid": "--valid",
    "data.test": "--test",
    "train.device": "--device",
}
ARGUMENTS = {
    "out": "--out",
    "data": "--data",
    "device": "--device",
}  # of a command and of its function in Python, but not of a config


@contextmanager
def naming_options(option: Callable[[str], str | None]) -> Iterator[None]:
    """Within: an error names the options of the command line; `option` says which, or None where a key stays."""
    try:
        yield
    except SeqloomError as wrong:
        wrong.naming = wrong.naming or naming_by(option)
        raise


def dotted_option(key: str) -> str:
    """The option that every key has.

    >>> dotted_option("data.on_bad_line"), dotted_option("seed")
    ('--data.on-bad-line', '--seed')
    """
    from seqloom.tasks.keys import all_keys

    return "--seed" if key == "seed" else all_keys()[key].option


def usual_option(key: str) -> str:
    """The option that the help shows.

    >>> usual_option("model.arch"), usual_option("train.lr")
    ('--model', '--train.lr')
    """
    return SHORT.get(key) or dotted_option(key)


def naming_by(option: Callable[[str], str | None]) -> Naming:
    """What the reader of a command line calls a key.

    >>> name = naming_by(usual_option)
    >>> name("data.on_bad_line", "skip"), name("train.carry", "true"), name("train.carry", "false")
    ('--data.on-bad-line skip', '--train.carry', '--no-train.carry')
    >>> name("out", "another/folder"), name("train.learning_rat", None)
    ('--out another/folder', 'train.learning_rat')
    """

    def name(dotted: str, value: str | None) -> str:
        from seqloom.tasks.keys import all_keys  # which imports the configs of all tasks

        known = all_keys().get(dotted)
        found = option(dotted) if known is not None or dotted == "seed" else ARGUMENTS.get(dotted)
        if found is None:
            return as_key(dotted, value)
        if known is not None and known.kind is bool and value in ("true", "false"):
            return found if value == "true" else f"--no-{found[2:]}"
        return found if value is None else f"{found} {value}"

    return name


usual_naming = naming_by(usual_option)
