"""`seqloom evaluate`: how good a run is on other files."""

import json
from pathlib import Path

import rich_click as click

from seqloom.cli.console import output, say, show, waiting
from seqloom.cli.help_text import Command
from seqloom.cli.writing_options import option_of, said, writing_options

WIDEST = 100  # columns of a table
OPTIONS = ("beam", "length_penalty", "length", "min_length", "no_repeat")
HOW = "How to read the files, where that differs from training"


@click.command(cls=Command, short_help="Measure a run on other files.")
@click.argument("run", metavar="RUN")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--device", metavar="WORD", default="auto", help="Where to compute: auto, cpu, cuda or mps. [auto]")
@click.option("--json", "as_json", is_flag=True, help="Scores and details as one JSON object.")
@click.option(
    "--data.format", "form", metavar="WORD", panel=HOW, help="csv, tsv, jsonl, folder, conllu, conll or text."
)
@click.option(
    "--data.text", "text", metavar="TEXT", panel=HOW, help="The column of the text: a name, or a number from 1."
)
@click.option("--data.label", "label", metavar="TEXT", panel=HOW, help="The column of the label, likewise.")
@click.option("--data.tag", "tag", metavar="TEXT", panel=HOW, help="The column of the tag, likewise.")
@click.option(
    "--data.header/--no-data.header", "header", default=None, panel=HOW, help="Whether the first row names the columns."
)
@click.option(
    "--data.label-separator",
    "separator",
    metavar="TEXT",
    panel=HOW,
    help="What stands between several labels of a row.",
)
@click.option("--data.source", "source", metavar="TEXT", panel=HOW, help="The column of the source, likewise.")
@click.option("--data.target", "target", metavar="TEXT", panel=HOW, help="The column of the target, likewise.")
@click.option("--data.on-bad-line", "on_bad_line", metavar="WORD", panel=HOW, help="refuse, or skip it.")
@click.option("--data.on-bad-image", "on_bad_image", metavar="WORD", panel=HOW, help="refuse, or skip it.")
@click.option(
    "--data.max-characters", "max_characters", metavar="N", panel=HOW, help="The most characters that a line may have."
)
@writing_options(OPTIONS)
def evaluate(
    run: str,
    files: tuple[str, ...],
    device: str,
    as_json: bool,
    form: str | None,
    text: str | None,
    label: str | None,
    tag: str | None,
    header: bool | None,
    separator: str | None,
    source: str | None,
    target: str | None,
    on_bad_line: str | None,
    on_bad_image: str | None,
    max_characters: str | None,
    **options: str | None,
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
    from seqloom.cli.early import refuse_device
    from seqloom.cli.naming import dotted_option, naming_options
    from seqloom.data.paths import expand
    from seqloom.spec.folder import check

    check(Path(run))
    refuse_device(device)
    expand(files)  # a file that is missing is told at once
    console = output()
    with waiting(console, "starting torch …"):
        from seqloom.cli.opening import opened
        from seqloom.tasks.metrics.score_names import readable
        from seqloom.tasks.registry import TASKS
        from seqloom.training.events import plain
        from seqloom.views.figure import Table
    told = {"format": form, "text": text, "label": label, "tag": tag, "header": header, "label_separator": separator}
    told |= {"source": source, "target": target, "max_characters": max_characters}
    told |= {"on_bad_line": on_bad_line, "on_bad_image": on_bad_image}
    data = {name: value for name, value in told.items() if value is not None}
    opened_run = opened(run, device)
    with (
        naming_options(lambda key: option_of(key) or dotted_option(key)),
        waiting(console, f"measuring on {files[0]} …"),
    ):
        found = opened_run.evaluate(files, data=data, decode=said(options))
    if as_json:
        result = {"run": run, "files": list(files), "scores": found.scores, "details": found.details}
        click.echo(json.dumps(plain(result), ensure_ascii=False))
        return
    say(console, "run", f"{run}, on {', '.join(files)}")
    say(console, "data", found.details["data"])
    rows = tuple((readable(name), value) for name, value in found.scores.items())
    details = TASKS[opened_run.experiment.task].report(plain(found.scores), plain(found.details))
    for shown in (Table("", ("score", "value"), rows), *details.evaluation()):
        show(console, shown, WIDEST)
