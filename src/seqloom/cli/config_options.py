"""Every key of the config as an option of the command line, made from the schema."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text
from rich_click import RichArgument, RichOption

from seqloom.cli.errors import SEEN, SHORT
from seqloom.cli.help import Command, taught
from seqloom.cli.resolve import code_option
from seqloom.core.config.migration import BRITISH
from seqloom.core.names import SIZES
from seqloom.core.registry import Names
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.config_keys import Key, all_keys, keys_of
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, experiment

if TYPE_CHECKING:
    from rich_click import RichContext, RichHelpFormatter
    from rich_click.rich_help_rendering import RichPanelRow
    from rich_click.rich_panel import RichOptionPanel

    from seqloom.cli.resolve import Request


SEED = Key("", "seed", "Decides weights, order and dropout (--data.seed: splits and corpora).", (), int, False)
METAVARS: dict[type, str] = {int: "N", float: "X", tuple: "FILE", str: "TEXT"}
SPECIAL = {"model.arch": "NAME", "data.languages": "CODES"}
MANY = 8  # words: more than these are not all listed


class KeyOption(RichOption):
    """A key of the config. Its value stays a word: the schema says what is wrong with it, as it does for a file."""

    def __init__(self, key: Key, default: object, *, hidden: bool) -> None:
        names = [SHORT[key.dotted], key.option] if key.dotted in SHORT else [key.option]
        names += [f"--{alias}" for alias, dotted in BRITISH.items() if dotted == key.dotted]
        several, on_off = key.kind is tuple, key.kind is bool
        super().__init__(
            [parameter(key), "/".join([names[0], f"--no-{names[0][2:]}"]) if on_off else names[0], *names[1:]],
            default=None,
            multiple=several,
            type=bool if on_off else str,
            metavar=metavar(key),
            help=described(key),
            hidden=hidden,
            panel=panel_of(key),
        )
        self.key, self.told = key, told(default)

    def get_rich_table_row(
        self, ctx: "RichContext", formatter: "RichHelpFormatter", panel: "RichOptionPanel | None" = None
    ) -> "RichPanelRow":
        """The option, what it is, which words it takes, and what it is unless said."""
        name = self.opts[0]
        left = Text(f"--[no-]{name[2:]}" if self.key.kind is bool else name, "bold cyan")
        if self.key.kind is not bool:
            left.append(f" <{self.metavar}>", "yellow")
        right = Text(self.help or "")
        if self.key.choices:
            right.append(f" {words_of(self.key)}", "yellow")
        if self.told:
            right.append(f" [{self.told}]", "dim")
        return [left, right]


def parameter(key: Key) -> str:
    """An identifier, as click wants it."""
    return key.dotted.replace(".", "__")


def panel_of(key: Key) -> str:
    """The heading under which a key stands."""
    return "Common options" if key.dotted in SHORT or not key.part else f"{key.part.capitalize()} options"


def metavar(key: Key) -> str:
    """What stands after the option."""
    if key.dotted in SPECIAL:
        return SPECIAL[key.dotted]
    return "WORD" if key.choices else METAVARS.get(key.kind, "TEXT")


def words_of(key: Key) -> str:
    """The words that a key takes, in brief."""
    if key.dotted == "model.arch":
        return "(seqloom list models)"
    if len(key.choices) <= MANY + 1:
        return f"({', '.join(key.choices)})"
    own = [name for name in key.choices if any(names.origin(name) for names in Names.all)]
    first = [name for name in key.choices if name not in own]
    return f"({', '.join([*first[:MANY], '…', *own])})"


def described(key: Key) -> str:
    """A key's sentence."""
    return "What learns: lstm, transformer, conv, …" if key.dotted == "model.arch" else key.description


def told(default: object) -> str:
    """A default as it is typed."""
    if default is None or default == () or default == "":
        return ""
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return f"{default:g}".replace("e-0", "e-") if isinstance(default, float) else str(default)


def key_options(parts: tuple[str, ...], task: str | None, arch: str | None, size: str | None) -> tuple[KeyOption, ...]:
    """An option for each key; those of other parts, and those that this task and architecture do not have, are there
    but not shown."""
    return options_after(Names.changes, parts, task, arch, size)


@cache
def options_after(
    _changes: int, parts: tuple[str, ...], task: str | None, arch: str | None, size: str | None
) -> tuple[KeyOption, ...]:
    """The same, as long as no name is registered or forgotten."""
    known = task in TASKS and (arch is None or arch in ARCHITECTURES) and (size is None or size in SIZES)
    resolved = defaults(str(task), arch, size) if known else None
    return tuple(option_of(key, resolved, key.part in parts) for key in listed())


def listed() -> Iterator[Key]:
    """The keys, the common ones (those with a short name) first."""
    keys = all_keys()
    for dotted in SHORT:
        yield keys[dotted]
    yield SEED
    yield from (key for dotted, key in keys.items() if dotted not in SHORT)


def option_of(key: Key, resolved: Experiment | None, acts: bool) -> KeyOption:
    """The option of a key, with the default that it has here; not shown where it does not act."""
    if resolved is None:
        common = key.dotted in SHORT or not key.part
        return KeyOption(key, None, hidden=not (acts and common))
    if not key.part:
        return KeyOption(key, getattr(resolved, key.name), hidden=not acts)
    section: Any = getattr(resolved, key.part)
    if section is None or key.name not in type(section).model_fields or not acts:
        return KeyOption(key, None, hidden=True)
    mine = next(each for each in keys_of(key.part, type(section), type(resolved)) if each.name == key.name)
    return KeyOption(mine, getattr(section, key.name), hidden=False)


def defaults(task: str, arch: str | None, size: str | None) -> Experiment:
    """What everything is unless said, for this task and architecture."""
    given: Mapping[str, str | None] = {"arch": arch, "size": size}
    return experiment({"task": task, "model": {name: value for name, value in given.items() if value}})


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
        from seqloom.cli.errors import naming_options
        from seqloom.cli.resolve import Request

        own = {str(option.name): ctx.params[str(option.name)] for option in self.own}
        request = Request.of(ctx.params)
        with naming_options(request.option):
            return self.work(request, own)


def with_dashes(word: str) -> str:
    """--data.on_bad_line is --data.on-bad-line."""
    return word.replace("_", "-")
