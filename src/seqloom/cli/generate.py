"""`seqloom generate`: let a language model write."""

import json
import sys

import rich_click as click
from rich.text import Text

from seqloom.cli.console import errors, output, waiting
from seqloom.cli.decode_options import option_of, said, writing_options
from seqloom.cli.help import Command
from seqloom.core.problem import UserError

OPTIONS = (
    *("temperature", "top_k", "top_p", "min_p", "seed", "max_length", "min_length", "no_repeat_ngram"),
    *("beam_size", "length_penalty"),
)


@click.command(cls=Command, short_help="Let a language model write.")
@click.argument("run", metavar="RUN")
@click.option("--prompt", metavar="TEXT", help="The text to continue.")
@writing_options(
    OPTIONS,
    temperature="Below 1 is safer, above 1 is bolder, 0 takes the likeliest. [as trained: 0.8]",
    max_length="The most tokens to write. [as trained: 400]",
    seed="The same seed writes the same text; without one, the seed is shown.",
    beam_size="Look for the likeliest text, following N side by side, instead of drawing one.",
)
@click.option("--device", metavar="WORD", default="cpu", help="Where to compute: auto, cpu, cuda or mps. [cpu]")
@click.option("--json", "as_json", is_flag=True, help="Prompt, text and seed as one JSON object.")
def generate(
    run: str,
    prompt: str | None,
    device: str,
    as_json: bool,
    **options: str | None,
) -> None:
    """Write text in the style of what a language model has learned from, shown as it comes.

    \b
    Examples:
      $ seqloom generate runs/writer
      $ seqloom generate runs/writer --prompt "def " --temperature 0.5 --seed 1
    """
    from seqloom import api
    from seqloom.cli.errors import naming_options
    from seqloom.models.family import Use

    asked, console = api.load(run, device), output()
    if asked.experiment.use is not Use.GENERATE:
        advice = f"Use `seqloom predict {run}`"
        raise UserError(f"a run of {asked.manifest.task} can't write", advice, location=run)
    chosen = said(options)
    with naming_options(option_of):
        how = asked.decode_options(chosen)
    with waiting(console, "starting torch …"):
        from seqloom.cli.predict import Unseen
        from seqloom.views.format import visible

        _ = asked.model  # a run without weights is refused before anything is written
    if how.seed is not None:
        chosen["seed"] = how.seed
    beginning = prompt if prompt is not None else how.prompt
    unseen = Unseen(asked.task)
    unseen.look([beginning])
    unseen.warn(errors())
    pieces = asked.stream(beginning, **chosen)
    if as_json:
        told: dict[str, object] = {"prompt": beginning, "text": "".join(pieces)}
        told |= {"seed": how.seed} if how.seed is not None else {}
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    first = next(pieces, "")  # whatever may go wrong does so before anything is shown
    shown = visible if console.is_terminal else str
    console.print(Text(shown(beginning), "bold"), end="", soft_wrap=True)
    sys.stdout.write(shown(first))
    for piece in pieces:
        sys.stdout.write(shown(piece))
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()
    if how.seed is not None and options["seed"] is None:
        errors().print(Text(f"seed {how.seed}", "dim"))
