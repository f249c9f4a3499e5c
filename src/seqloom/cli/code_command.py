"""`--code FILE.py`, on every command: user-defined parts are registered before anything else of the line is read."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import takewhile, zip_longest
from typing import TYPE_CHECKING

from rich.text import Text
from rich_click import RichCommand, RichOption

from seqloom.cli.console import CODE, errors
from seqloom.spec.code import load_code
from seqloom.spec.errors import PartWarning

if TYPE_CHECKING:
    import click


class CodeCommand(RichCommand):
    """A command that runs the code files that it is given before it parses its options."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: "click.Context | None" = None, **extra: object
    ) -> "click.Context":
        """Names, options and help depend on what the code files register."""
        files = list(code_files(args))
        for file in files:
            load_code(file)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[CODE] = files
        return context

    def invoke(self, ctx: "click.Context") -> object:
        """A part that is not as it was in the run is a line on standard error."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", PartWarning)
            warnings.showwarning = partial(show_warning, warnings.showwarning)
            return super().invoke(ctx)

    def get_params(self, ctx: "click.Context") -> "list[click.Parameter]":
        """Its own options, --code and --help."""
        params = super().get_params(ctx)
        ends = [param for param in params if "--help" in param.opts]
        return [*(param for param in params if param not in ends), code_option(), *ends]


@cache
def code_option(panel: str | None = None) -> RichOption:
    """Only for the help and for click: when it parses the option, the files are loaded."""
    summary = "Run this Python file first: it registers your own parts (repeatable)."
    return RichOption([CODE], metavar="FILE.py", multiple=True, expose_value=False, help=summary, panel=panel)


def code_files(words: Sequence[str]) -> Iterator[str]:
    """The values of --code among the words of a command line.

    >>> list(code_files(["train", "--code", "a.py", "--code=b.py", "--", "--code", "c.py"]))
    ['a.py', 'b.py']
    """
    options = list(takewhile(lambda word: word != "--", words))
    for word, after in zip_longest(options, options[1:]):
        if word == CODE and after is not None:
            yield after
        elif word.startswith(f"{CODE}="):
            yield word.removeprefix(f"{CODE}=")


def show_warning(others: Callable[..., None], message: Warning | str, category: type[Warning], *where: object) -> None:
    """Python's own way of showing is for `others`."""
    if issubclass(category, PartWarning):
        errors().print(Text.assemble(("warning ", "bold yellow"), str(message)))
    else:
        others(message, category, *where)
