"""Options with short names for the keys of `decode`, for every command that generates text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import rich_click as click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

HELP = {
    "beam_size": ("N", "Beam search with N hypotheses; 1 is greedy search."),
    "n_best": ("N", "Print the N best texts, each with its score (see --length-penalty)."),
    "length_penalty": ("X", "Beam search: rank texts by log p / length^X."),
    "max_length": ("N", "The maximum number of tokens to generate."),
    "min_length": ("N", "The minimum number of tokens to generate."),
    "no_repeat_ngram": ("N", "Generate no sequence of N tokens twice."),
    "temperature": (
        "X",
        "The sampling temperature: below 1 is less random, above 1 is more random, 0 takes the most probable token.",
    ),
    "top_k": ("N", "Sample from the N most probable tokens only."),
    "top_p": ("X", "Sample from the most probable tokens whose probabilities sum to X."),
    "min_p": ("X", "Sample from tokens with at least X times the highest probability."),
    "seed": ("N", "The same seed samples the same text."),
    "prompt": ("TEXT", "The text that the output begins with."),
}


def decode_options(names: Sequence[str], **help_texts: str) -> Callable[[Decorated], Decorated]:
    """A decorator that adds these options to a command, in this order; `help_texts` overrides texts of `HELP`."""

    def add(command: Decorated) -> Decorated:
        for name in reversed(names):
            metavar, text = HELP[name]
            option, text = str(decode_option(f"decode.{name}")), help_texts.get(name, text)
            command = click.option(option, name, metavar=metavar, panel="Decoding", help=text)(command)
        return command

    return add


def decode_option(key: str) -> str | None:
    """The option with a short name for a key of `decode`; None for any other key.

    >>> decode_option("decode.top_k"), decode_option("decode.beam_size"), decode_option("train.lr")
    ('--top-k', '--beam', None)
    """
    section, _, name = key.partition(".")
    if section != "decode" or name not in HELP:
        return None
    return "--beam" if name == "beam_size" else f"--{name.replace('_', '-')}"


def decode_values(options: Mapping[str, str | None]) -> dict[str, Any]:
    """The values of the options that were typed; `none` unsets a key, as in a config.

    >>> decode_values({"top_k": "none", "beam_size": "5", "seed": None, "prompt": ""})
    {'top_k': None, 'beam_size': '5', 'prompt': ''}
    """
    typed = {name: value for name, value in options.items() if value is not None}
    return {name: None if value == "none" and name != "prompt" else value for name, value in typed.items()}
