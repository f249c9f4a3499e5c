"""A command on a task: its options are the keys of the config, and its help is that of the task and architecture."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import click
from rich_click import RichArgument, RichOption

from seqloom.cli.code_command import code_option
from seqloom.cli.help_text import Command
from seqloom.cli.teaching import taught
from seqloom.cli.unknown import SEEN
from seqloom.tasks.registry import TASKS

if TYPE_CHECKING:
    from rich_click import RichContext, RichHelpFormatter

    from seqloom.cli.request import Request

EVERY_PART = ("", "data", "model", "train", "decode")
HELPS = "seqloom.cli.helps"  # in a context: the help is shown, whose defaults take a resolved config
Work = Callable[["Request", Mapping[str, Any]], int | None]


class TaskCommand(Command):
    """`seqloom NAME TASK FILE… --any.key value`, in any order.

    work: does it, given the request and the values of the command's own options
    parts: of the config that change what the command does ("" is the seed); the options of others are taken too, so
        that the words of one command fit another, but the help does not offer them
    """

    def __init__(
        self, name: str, summary: str, work: Work, own: Sequence[RichOption], parts: tuple[str, ...] = EVERY_PART
    ) -> None:
        super().__init__(
            name=name,
            help=summary,
            short_help=summary,
            context_settings={"token_normalize_func": with_dashes},
            options_metavar="[--OPTION VALUE]...",
        )
        self.work, self.own, self.parts = work, tuple(own), parts
        self.given = RichArgument(["words"], nargs=-1, metavar="TASK [FILE]...", required=False)
        self.config = RichOption(
            ["--config"],
            metavar="FILE.toml",
            help="Read the experiment from here; options win over it.",
            panel="Common options",
        )
        for option in self.own:
            option.panel = "Common options"

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All keys are options; which of them the help shows depends on what the command line has said."""
        from seqloom.cli.key_options import key_options

        keys = key_options(self.parts, *(ctx.meta[SEEN] if HELPS in ctx.meta else (None, None, None)))
        common = [option for option in keys if option.panel == "Common options"]
        rest = [option for option in keys if option.panel != "Common options"]
        help_option = self.get_help_option(ctx)  # type: ignore[arg-type]
        if help_option is not None:
            help_option.panel = "Common options"  # type: ignore[attr-defined]
        ends = [help_option] if help_option is not None else []
        return [self.given, *common, self.config, code_option("Common options"), *self.own, *ends, *rest]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look at the task, model and size first, wherever they stand: the help depends on them."""
        try:
            seen, _, _ = self.make_parser(ctx).parse_args(list(args))
        except click.UsageError as wrong:
            wrong.ctx = wrong.ctx or ctx  # so that the sentence names this command, and its task
            ctx.meta[SEEN] = (next((word for word in args if word in TASKS), None), None, None)
            raise
        words = seen.get("words")  # what was not given has a sentinel of click's
        task = words[0] if isinstance(words, list | tuple) and words else None
        ctx.meta[SEEN] = tuple(
            word if isinstance(word, str) else None for word in (task, seen.get("model__arch"), seen.get("model__size"))
        )
        return super().parse_args(ctx, args)

    def format_help(self, ctx: "RichContext", formatter: "RichHelpFormatter") -> None:  # type: ignore[override]
        """What the task is, examples that work, then the options."""
        shown = copy(self)
        ctx.meta.setdefault(SEEN, (None, None, None))
        ctx.meta[HELPS] = True
        shown.help = taught(str(self.name), ctx.meta[SEEN][0], self.help or "")
        super(TaskCommand, shown).format_help(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse, call."""
        from seqloom.cli.naming import naming_options
        from seqloom.cli.request import Request

        own = {str(option.name): ctx.params[str(option.name)] for option in self.own}
        request = Request.of(ctx.params)
        with naming_options(request.option):
            return self.work(request, own)


def with_dashes(word: str) -> str:
    """--data.on_bad_line is --data.on-bad-line."""
    return word.replace("_", "-")
