"""Every key of the config as an option of the command line; the commands `seqloom NAME TASK FILE...`."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text
from rich_click import RichArgument, RichOption

from seqloom.cli.errors import SHORT, TASK_MODEL_SIZE
from seqloom.cli.help import Command, task_help
from seqloom.cli.resolve import code_option, parameter_name
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

SEED_HELP = "The random seed of weights, data order and dropout (--data.seed: splits and corpora)."
SEED = Key("", "seed", SEED_HELP, (), int, False)
METAVARS: dict[type, str] = {int: "N", float: "X", tuple: "FILE", str: "TEXT"}
MAX_CHOICES = 8  # a longer list is cut
COMMON = "Common options"
ALL_SECTIONS = ("", "data", "model", "train", "decode")
FOR_HELP = "seqloom.cli.for_help"  # key of `ctx.meta`, set while the help is formatted, which shows defaults


class KeyOption(RichOption):
    """The option of a config key. Its value stays a string: the config validates it, as it does for a file."""

    def __init__(self, key: Key, default: object, *, hidden: bool) -> None:
        names = [SHORT[key.dotted], key.option] if key.dotted in SHORT else [key.option]
        names += [f"--{alias}" for alias, dotted in BRITISH.items() if dotted == key.dotted]
        is_bool, is_arch = key.kind is bool, key.dotted == "model.arch"
        metavar = {"model.arch": "NAME", "data.languages": "CODES"}.get(key.dotted)
        super().__init__(
            [parameter_name(key), f"{names[0]}/--no-{names[0][2:]}" if is_bool else names[0], *names[1:]],
            default=None,
            multiple=key.kind is tuple,
            type=bool if is_bool else str,
            metavar=metavar or ("WORD" if key.choices else METAVARS.get(key.kind, "TEXT")),
            help="The architecture: lstm, transformer, conv, …" if is_arch else key.description,
            hidden=hidden,
            panel=COMMON if key.dotted in SHORT or not key.section else f"{key.section.capitalize()} options",
        )
        self.key, self.default_text = key, format_default(default)

    def get_rich_table_row(
        self, ctx: "RichContext", formatter: "RichHelpFormatter", panel: "RichOptionPanel | None" = None
    ) -> "RichPanelRow":
        """Two cells: the option; its description, choices and default."""
        name, key = self.opts[0], self.key
        left = Text(f"--[no-]{name[2:]}" if key.kind is bool else name, "bold cyan")
        if key.kind is not bool:
            left.append(f" <{self.metavar}>", "yellow")
        right = Text(self.help or "")
        if key.choices:
            right.append(
                " (seqloom list models)" if key.dotted == "model.arch" else f" ({format_choices(key)})", "yellow"
            )
        if self.default_text:
            right.append(f" [{self.default_text}]", "dim")
        return [left, right]


def format_choices(key: Key) -> str:
    """The choices of a key; a long list is cut to its first names and those that the user registered."""
    if len(key.choices) <= MAX_CHOICES + 1:
        return ", ".join(key.choices)
    registered = [name for name in key.choices if any(names.origin(name) for names in Names.all)]
    others = [name for name in key.choices if name not in registered]
    return ", ".join([*others[:MAX_CHOICES], "…", *registered])


def format_default(default: object) -> str:
    """A default as it is typed on the command line; empty if there is none."""
    match default:
        case None | () | "":
            return ""
        case bool():
            return "on" if default else "off"
        case tuple():
            return ",".join(map(str, default))
        case float():
            return f"{default:g}".replace("e-0", "e-")
    return str(default)


@cache
def key_options(
    _changes: int, sections: tuple[str, ...], task: str | None, arch: str | None, size: str | None
) -> tuple[KeyOption, ...]:
    """An option for each key. Keys of other sections, tasks and architectures are accepted, but hidden.

    _changes: the number of changes to registries; a new name makes the cached options out of date
    """
    config = None
    if task in TASKS and (arch is None or arch in ARCHITECTURES) and (size is None or size in SIZES):
        config = experiment({"task": task, "model": {k: v for k, v in (("arch", arch), ("size", size)) if v}})
    keys = all_keys()
    common = [*(keys[dotted] for dotted in SHORT), SEED]
    others = (key for dotted, key in keys.items() if dotted not in SHORT)
    return tuple(make_option(key, config, key.section in sections) for key in (*common, *others))


def make_option(key: Key, config: Experiment | None, shown: bool) -> KeyOption:
    """The option of a key, with its default in this config; hidden if the config does not have the key."""
    if config is None:
        return KeyOption(key, None, hidden=not (shown and (key.dotted in SHORT or not key.section)))
    if not key.section:
        return KeyOption(key, getattr(config, key.name), hidden=not shown)
    section: Any = getattr(config, key.section)
    if section is None or key.name not in type(section).model_fields or not shown:
        return KeyOption(key, None, hidden=True)
    own_key = next(own for own in keys_of(key.section, type(section), type(config)) if own.name == key.name)
    return KeyOption(own_key, getattr(section, key.name), hidden=False)


class TaskCommand(Command):
    """`seqloom NAME TASK FILE… --any.key value`, in any order.

    run: called with the request and the values of `options`
    options: those of this command only
    sections: the config sections that the command uses ("" is the seed). Options of other sections are accepted but
        hidden, so that the same arguments work with every command
    """

    def __init__(
        self,
        name: str,
        summary: str,
        run: Callable[["Request", Mapping[str, Any]], int | None],
        options: Sequence[RichOption],
        sections: tuple[str, ...] = ALL_SECTIONS,
    ) -> None:
        super().__init__(
            name=name,
            help=summary,
            short_help=summary,
            context_settings={"token_normalize_func": lambda word: word.replace("_", "-")},  # --data.on_bad_line
            options_metavar="[--OPTION VALUE]...",
        )
        self.run, self.options, self.sections = run, tuple(options), sections
        self.words = RichArgument(["words"], nargs=-1, metavar="TASK [FILE]...", required=False)
        config_help = "Read the experiment from this file; options override it."
        self.config = RichOption(["--config"], metavar="FILE.toml", help=config_help, panel=COMMON)
        for option in self.options:
            option.panel = COMMON

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All parameters. Which of them the help shows depends on the task, model and size."""
        task_model_size = ctx.meta[TASK_MODEL_SIZE] if FOR_HELP in ctx.meta else (None, None, None)
        keys = key_options(Names.changes, self.sections, *task_model_size)
        common = [option for option in keys if option.panel == COMMON]
        others = [option for option in keys if option.panel != COMMON]
        help_option = self.get_help_option(ctx)  # type: ignore[arg-type]
        assert help_option is not None
        help_option.panel = COMMON  # type: ignore[attr-defined]
        return [self.words, *common, self.config, code_option(COMMON), *self.options, help_option, *others]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find task, model and size first, since the help depends on them."""
        try:
            values, _, _ = self.make_parser(ctx).parse_args(list(args))
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # the message names the command and the task
            ctx.meta[TASK_MODEL_SIZE] = (next((word for word in args if word in TASKS), None), None, None)
            raise
        words = values.get("words")  # click has a sentinel for a missing value
        task = words[0] if isinstance(words, list | tuple) and words else None
        task_model_size = (task, values.get("model__arch"), values.get("model__size"))
        ctx.meta[TASK_MODEL_SIZE] = tuple(word if isinstance(word, str) else None for word in task_model_size)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: "RichContext", formatter: "RichHelpFormatter") -> None:  # type: ignore[override]
        ctx.meta.setdefault(TASK_MODEL_SIZE, (None, None, None))
        ctx.meta[FOR_HELP] = True
        command = copy(self)
        command.help = task_help(str(self.name), ctx.meta[TASK_MODEL_SIZE][0], self.help or "")
        super(TaskCommand, command).format_help(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        from seqloom.cli.errors import keys_as_options
        from seqloom.cli.resolve import Request

        options = {str(option.name): ctx.params[str(option.name)] for option in self.options}
        request = Request.of(ctx.params)
        with keys_as_options(request.option):
            return self.run(request, options)
