"""The options of files that differ from those of training, for commands that read files with a run."""

from typing import TYPE_CHECKING

import rich_click as click

from seqloom.cli.help import Command

if TYPE_CHECKING:
    from seqloom.cli.config_options import KeyOption

HAS_FILE_OPTIONS = "seqloom.cli.has_file_options"  # key of `ctx.meta`


class FileCommand(Command):
    """A command with an option for each config key that describes files, of every task, registered ones included.

    It has them only if the command line has one of them, an unknown option or --help, since they import the config of
    every task (0.05 s).
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for param in super().get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        known = {"-", *own} - set(ctx.help_option_names)
        ctx.meta[HAS_FILE_OPTIONS] = any(word[:1] == "-" and word.partition("=")[0] not in known for word in args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        return [*params, *file_options()] if ctx.meta.get(HAS_FILE_OPTIONS, True) else params


def file_options() -> list["KeyOption"]:
    from seqloom.cli.config_options import KeyOption
    from seqloom.tasks.config_keys import all_keys

    options = [KeyOption(key, None, hidden=False) for key in all_keys().values() if key.of_file]
    for option in options:
        option.panel = "Data format, if it differs from training"
    return options


def file_values(options: dict[str, object]) -> dict[str, object]:
    """The values of these options that were typed, which are removed from `options`."""
    names = [name for name in options if name.startswith("data__")]  # `parameter_name` of the keys
    values = {name.removeprefix("data__"): options.pop(name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
