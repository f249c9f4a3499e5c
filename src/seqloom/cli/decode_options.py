"""How a model writes, as options: the keys of `decode` under short names, for every command that lets a run write."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import rich_click as click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

PANEL = "How to write"
HELP = {
    "beam_size": ("N", "Follow the N likeliest texts side by side; 1 follows one."),
    "n_best": ("N", "Give the N best texts that were found, each with its score (see --length-penalty)."),
    "length_penalty": ("X", "With a beam: rank texts by log p / length^X."),
    "max_length": ("N", "The most tokens to write."),
    "min_length": ("N", "The fewest tokens to write."),
    "no_repeat_ngram": ("N", "Write no sequence of N tokens twice."),
    "temperature": ("X", "Draw a text: below 1 is safer, above 1 is bolder; 0 takes the likeliest."),
    "top_k": ("N", "Draw among the N likeliest tokens only."),
    "top_p": ("X", "Draw among the likeliest tokens that together have this probability."),
    "min_p": ("X", "Draw among tokens at least X times as likely as the likeliest."),
    "seed": ("N", "The same seed draws the same text."),
    "prompt": ("TEXT", "How the text begins."),
}


def writing_options(names: Sequence[str], **words: str) -> Callable[[Decorated], Decorated]:
    """These options on a command, in this order; `words` tell some of them otherwise."""

    def add(command: Decorated) -> Decorated:
        for name in reversed(names):
            metavar, told = HELP[name]
            add_one = click.option(
                str(option_of(f"decode.{name}")), name, metavar=metavar, panel=PANEL, help=words.get(name, told)
            )
            command = add_one(command)
        return command

    return add


def option_of(key: str) -> str | None:
    """The short option of a key of `decode`.

    >>> option_of("decode.top_k"), option_of("decode.beam_size"), option_of("train.lr")
    ('--top-k', '--beam', None)
    """
    section, _, name = key.partition(".")
    if section != "decode" or name not in HELP:
        return None
    return "--beam" if name == "beam_size" else f"--{name.replace('_', '-')}"


def said(given: Mapping[str, str | None]) -> dict[str, Any]:
    """What was typed, by key: `none` unsets, as in a config.

    >>> said({"top_k": "none", "beam_size": "5", "seed": None, "prompt": ""})
    {'top_k': None, 'beam_size': '5', 'prompt': ''}
    """
    typed = {name: value for name, value in given.items() if value is not None}
    return {name: None if value == "none" and name != "prompt" else value for name, value in typed.items()}
