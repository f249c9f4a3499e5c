"""`seqloom evaluate`: how good a run is on other files."""

import json

import rich_click as click
from rich.text import Text

from seqloom.cli.console import output, say, waiting
from seqloom.cli.help_text import Command

CLASSES = 40  # shown; all of them are in --json


@click.command(cls=Command, short_help="Measure a run on other files.")
@click.argument("run", metavar="RUN")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--device", metavar="WORD", default="auto", help="Where to compute: auto, cpu, cuda or mps. [auto]")
@click.option("--json", "as_json", is_flag=True, help="Scores and details as one JSON object.")
def evaluate(run: str, files: tuple[str, ...], device: str, as_json: bool) -> None:
    """Measure a run on files of the kind that it was trained on.

    \b
    Examples:
      $ seqloom evaluate runs/reviews test.csv
      $ seqloom evaluate runs/tagger test.conllu --json
    """
    console = output()
    with waiting(console, "starting torch …"):
        from seqloom.cli.opening import opened
        from seqloom.lens.report_figures import readable
        from seqloom.training.events import plain
        from seqloom.views.figure import Table
        from seqloom.views.terminal import characters, draw
    opened_run = opened(run, device)
    with waiting(console, f"measuring on {files[0]} …"):
        found = opened_run.evaluate(files)
    if as_json:
        told = {"run": run, "files": list(files), "scores": found.scores, "details": found.details}
        click.echo(json.dumps(plain(told), ensure_ascii=False))
        return
    using, width = characters(console.encoding), min(console.width, 100)
    say(console, "run", f"{run}, on {', '.join(files)}")
    scores = Table("", ("score", "value"), tuple((readable(name), value) for name, value in found.scores.items()))
    classes = list(found.details.get("per_span", found.details.get("per_class", {})).items())
    kind = "span" if "per_span" in found.details else "tag" if opened_run.experiment.task == "tag" else "label"
    header = (kind, "precision", "recall", "F1", "support")
    rows = tuple((name, *(each.get(key) for key in ("precision", "recall", "f1", "support"))) for name, each in classes)
    for table in (scores, Table("", header, rows[:CLASSES])):
        if table.rows:
            for line in draw(table, width, using=using):
                console.print(Text(line), soft_wrap=True)
    if len(rows) > CLASSES:
        console.print(Text(f"and {len(rows) - CLASSES:,} more, with --json", "dim"))
