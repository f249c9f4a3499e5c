"""`seqloom init`: a config to edit."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich_click import RichOption

from seqloom.cli.config_options import TaskCommand
from seqloom.cli.console import command, print_unwrapped, stdout

if TYPE_CHECKING:
    from seqloom.cli.resolve import Request


def run(request: "Request", options: Mapping[str, Any]) -> None:
    from seqloom import api

    path, console = options["out"], stdout()
    api.write_config(request.experiment(), path)
    print_unwrapped(console, "wrote", path)
    print_unwrapped(console, "next", command("train", "--config", path))


init = TaskCommand(
    "init",
    "Write a commented experiment.toml to edit.",
    run,
    [RichOption(["--out"], metavar="FILE", default="experiment.toml", help="The file to write. [experiment.toml]")],
)
