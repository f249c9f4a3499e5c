"""`seqloom evaluate`: how good a run is on other files."""

import json
from typing import TYPE_CHECKING, Any

import rich_click as click

from seqloom.cli.console import output, say, show, waiting
from seqloom.cli.decode_options import option_of, said, writing_options
from seqloom.cli.help import Command

WIDEST = 100  # columns of a table
if TYPE_CHECKING:
    from seqloom.cli.config_options import KeyOption

OPTIONS = ("beam_size", "length_penalty", "max_length", "min_length", "no_repeat_ngram")
HOW = "How to read the files, where that differs from training"


class EvaluateCommand(Command):
    """A command with an option for each key that is about files, of every task."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """They are made when they are asked for: tasks and formats may have been added."""
        return [*super().get_params(ctx), *file_options()]


def file_options() -> list["KeyOption"]:
    """How the files are read, where that differs from training."""
    from seqloom.cli.config_options import KeyOption
    from seqloom.tasks.config_keys import all_keys

    options = [KeyOption(key, None, hidden=False) for key in all_keys().values() if key.of_file]
    for option in options:
        option.panel = HOW
    return options


@click.command(cls=EvaluateCommand, short_help="Measure a run on other files.")
@click.argument("run", metavar="RUN")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--device", metavar="WORD", default="auto", help="Where to compute: auto, cpu, cuda or mps. [auto]")
@click.option("--json", "as_json", is_flag=True, help="Scores and details as one JSON object.")
@writing_options(OPTIONS)
def evaluate(
    run: str,
    files: tuple[str, ...],
    device: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure a run on files that it has not learned from. They are read as the training files were, unless an option
    says otherwise.

    \b
    Examples:
      $ seqloom evaluate runs/reviews test.csv
      $ seqloom evaluate runs/reviews test.txt --data.format tsv --data.label 1
      $ seqloom evaluate runs/tagger test.conllu --json
      $ seqloom evaluate runs/translator test.en test.de --beam 5
    """
    from seqloom import api
    from seqloom.cli.errors import dotted_option, naming_options
    from seqloom.data.paths import expand

    opened, console = api.load(run, device), output()
    expand(files)  # a file that is missing is told at once
    with waiting(console, "starting torch …"):
        from seqloom.tasks.metrics.registry import readable
        from seqloom.tasks.registry import TASKS
        from seqloom.training.events import jsonable
        from seqloom.views.figure import Table

        _ = opened.model  # a run without weights is refused before anything is read
    data = {each.key.name: options.pop(str(each.name), None) for each in file_options()}
    data = {name: value for name, value in data.items() if value is not None}
    with (
        naming_options(lambda key: option_of(key) or dotted_option(key)),
        waiting(console, f"measuring on {files[0]} …"),
    ):
        found = opened.evaluate(files, data=data, decode=said(options))
    if as_json:
        result = {"run": run, "files": list(files), "scores": found.scores, "details": found.details}
        click.echo(json.dumps(jsonable(result), ensure_ascii=False))
        return
    say(console, "run", f"{run}, on {', '.join(files)}")
    say(console, "data", str(found.details["data"]))
    rows = tuple((readable(name), value) for name, value in found.scores.items())
    details = TASKS[opened.manifest.task].report(jsonable(found.scores), jsonable(found.details))
    for shown in (Table("", ("score", "value"), rows), *details.evaluation()):
        show(console, shown, WIDEST)
