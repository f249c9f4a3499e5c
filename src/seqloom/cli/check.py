"""`seqloom check`: find problems in data before training."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import rich_click as click
from rich.text import Text
from rich_click import RichOption

from seqloom.cli.config_options import TaskCommand
from seqloom.cli.console import show_spinner, stdout
from seqloom.cli.errors import INVALID_INPUT, key_formatter

if TYPE_CHECKING:
    from seqloom.cli.resolve import Request


def run(request: "Request", options: Mapping[str, Any]) -> int:
    """Print the problems; the exit code says whether training would accept the data."""
    from seqloom.tasks.data_check import check_data

    config, console, format_key = request.experiment(), stdout(), key_formatter(request.option)
    with show_spinner(console, "reading the data …"):
        inspection = check_data(config)
    if options["json"]:
        click.echo(json.dumps(inspection.as_json(format_key), ensure_ascii=False))
    else:
        for line in inspection.lines(format_key):
            text = Text(line)
            text.highlight_regex(r"^error ", "bold red")
            text.highlight_regex(r"^warning ", "bold yellow")
            console.print(text, soft_wrap=True)
    return 0 if inspection.ok else INVALID_INPUT


check = TaskCommand(
    "check",
    "Find problems in your data before training.",
    run,
    [RichOption(["--json"], is_flag=True, help="Print the problems as one JSON object.")],
    sections=("", "data"),
)
