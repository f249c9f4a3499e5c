"""The options of files that differ from those of training, for commands that read files with a run."""

from typing import TYPE_CHECKING

import rich_click as click

from seqloom.cli.help import Command

if TYPE_CHECKING:
    from seqloom.cli.config_options import KeyOption


class FileCommand(Command):
    """A command with an option for each config key that describes files, of every task, registered ones included."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *file_options()]


def file_options() -> list["KeyOption"]:
    from seqloom.cli.config_options import KeyOption
    from seqloom.tasks.config_keys import all_keys

    options = [KeyOption(key, None, hidden=False) for key in all_keys().values() if key.of_file]
    for option in options:
        option.panel = "Data format, if it differs from training"
    return options


def file_values(options: dict[str, object]) -> dict[str, object]:
    """The values of these options that were typed, which are removed from `options`."""
    values = {option.key.name: options.pop(str(option.name), None) for option in file_options()}
    return {name: value for name, value in values.items() if value is not None}
