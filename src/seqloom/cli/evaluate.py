"""`seqloom evaluate`: evaluate a run on other files."""

import json
from typing import Any

import rich_click as click

from seqloom.cli.console import print_item, print_labeled, show_spinner, stdout
from seqloom.cli.decode_options import decode_option, decode_options, decode_values
from seqloom.cli.file_options import FileCommand, file_values

OPTIONS = ("beam_size", "length_penalty", "max_length", "min_length", "no_repeat_ngram")


@click.command(cls=FileCommand, short_help="Evaluate a run on other files.")
@click.argument("run", metavar="RUN")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--device", metavar="WORD", default="auto", help="The device to compute on: auto, cpu, cuda or mps. [auto]"
)
@click.option("--json", "as_json", is_flag=True, help="Print scores and details as one JSON object.")
@decode_options(OPTIONS)
def evaluate(run: str, files: tuple[str, ...], device: str, as_json: bool, **options: Any) -> None:
    """Evaluate a run on other files. They are read like the training files, unless an option changes that.

    \b
    Examples:
      $ seqloom evaluate runs/reviews test.csv
      $ seqloom evaluate runs/reviews test.txt --data.format tsv --data.label 1
      $ seqloom evaluate runs/tagger test.conllu --json
      $ seqloom evaluate runs/translator test.en test.de --beam 5
    """
    from seqloom import api
    from seqloom.cli.errors import dotted_option, keys_as_options
    from seqloom.data.paths import expand

    loaded, console = api.load(run, device), stdout()
    expand(files)  # a missing file is an error before torch is imported
    with show_spinner(console, "starting torch …"):
        from seqloom.tasks.metrics.registry import readable
        from seqloom.tasks.registry import TASKS
        from seqloom.training.events import jsonable
        from seqloom.views.figure import Table

        _ = loaded.model  # a run without weights is an error before the files are read
    data = file_values(options)
    with (
        keys_as_options(lambda key: decode_option(key) or dotted_option(key)),
        show_spinner(console, f"evaluating on {files[0]} …"),
    ):
        evaluation = loaded.evaluate(files, data=data, decode=decode_values(options))
    scores, details = jsonable(evaluation.scores), jsonable(evaluation.details)
    if as_json:
        click.echo(json.dumps({"run": run, "files": files, "scores": scores, "details": details}, ensure_ascii=False))
        return
    print_labeled(console, "run", f"{run}, on {', '.join(files)}")
    print_labeled(console, "data", str(evaluation.details["data"]))
    rows = tuple((readable(name), value) for name, value in evaluation.scores.items())
    report = TASKS[loaded.manifest.task].report(scores, details)
    for item in (Table("", ("score", "value"), rows), *report.evaluation_lines()):
        print_item(console, item, max_width=100)
