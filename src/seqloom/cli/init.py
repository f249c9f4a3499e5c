"""`seqloom init`: a config to edit."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich_click import RichOption

from seqloom.cli.console import command, output, say_exactly
from seqloom.cli.task_command import TaskCommand

if TYPE_CHECKING:
    from seqloom.cli.request import Request
    from seqloom.tasks.experiment import Experiment

HEADER = """\
# An experiment. Edit it, then: seqloom train --config {path}
# Keys that are commented out are not set; a key that you delete takes its default. Paths of files are relative to the
# folder in which you run the command.

"""


def work(request: "Request", own: Mapping[str, Any]) -> None:
    """Resolve the experiment and write it down with comments."""
    from seqloom.spec import durable
    from seqloom.spec.config.toml import written
    from seqloom.spec.errors import UserError

    path = Path(own["out"])
    if path.exists():
        raise UserError(f"{path} already exists, and is not overwritten. Pass --out another.toml.")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}. Make it, or pass another --out.")
    content = HEADER.format(path=shlex.quote(str(path))) + written(explicit(request.experiment()), comments=True)
    durable.write(path, content)
    console = output()
    say_exactly(console, "wrote", str(path))
    say_exactly(console, "next", command("train", "--config", path))


def explicit(chosen: "Experiment") -> "Experiment":
    """With what would else be chosen in silence: the embedded corpus, the columns that are guessed."""
    from seqloom.data.source import DataSource

    source = DataSource.resolve(chosen.data, chosen.reads)
    data = source.data if source.corpus is None else source.data.model_copy(update={"corpus": source.corpus})
    return chosen.model_copy(update={"data": data})


init = TaskCommand(
    "init",
    "Write a commented experiment.toml to edit.",
    work,
    [RichOption(["--out"], metavar="FILE", default="experiment.toml", help="The file to write. [experiment.toml]")],
)
