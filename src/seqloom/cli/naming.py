"""What a key of the config is called on the command line."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from seqloom.spec.errors import SeqloomError
from seqloom.tasks.keys import all_keys

# The short names of the keys that most commands are about.
SHORT = {
    "model.arch": "--model",
    "model.size": "--size",
    "data.valid": "--valid",
    "data.test": "--test",
    "train.device": "--device",
}

# A key within a sentence, and what it is set to; not a part of an option, a path or a longer name.
KEY = re.compile(r"(?<![\w./-])((?:data|model|train|decode)\.[a-z]\w*)( true| false)?(?![\w:/-]|\.\w)")


@contextmanager
def naming_options(option: Callable[[str], str | None]) -> Iterator[None]:
    """Within: an error names the options of the command line, as the person does (see `with_options`)."""
    try:
        yield
    except SeqloomError as wrong:
        problem = wrong.problem
        message, advice = with_options(problem.message, option), with_options(problem.advice, option)
        wrong.problem = replace(problem, message=message, advice=advice)
        raise


def dotted_option(key: str) -> str:
    """The option that every key has.

    >>> dotted_option("data.on_bad_line")
    '--data.on-bad-line'
    """
    return all_keys()[key].option


def with_options(sentence: str, option: Callable[[str], str | None]) -> str:
    """A sentence with the options in the place of the keys; `option` says which, or None where a key stays.

    >>> names = {"train.lr": "--train.lr", "train.carry": "--train.carry"}
    >>> with_options("train.lr is 'x'; expected a number.", names.get)
    "--train.lr is 'x'; expected a number."
    >>> with_options("Leave it out, or give train.carry true.", names.get)
    'Leave it out, or give --train.carry.'
    """

    def named(found: re.Match[str]) -> str:
        key, said = found[1], found[2] or ""
        if key not in all_keys() or (name := option(key)) is None:
            return found[0]
        if all_keys()[key].kind is bool and said:
            return name if said == " true" else f"--no-{name[2:]}"
        return f"{name}{said}"

    return KEY.sub(named, sentence)
