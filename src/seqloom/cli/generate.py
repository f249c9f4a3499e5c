"""`seqloom generate`: let a language model write."""

import json
import random
import sys
from pathlib import Path

import rich_click as click
from rich.text import Text

from seqloom.cli.console import errors, output, waiting
from seqloom.cli.help_text import Command


@click.command(cls=Command, short_help="Let a language model write.")
@click.argument("run", metavar="RUN")
@click.option("--prompt", metavar="TEXT", help="The text to go on from.")
@click.option(
    "--temperature", metavar="X", help="Below 1 is safer, above 1 is bolder, 0 takes the likeliest. [as trained: 0.8]"
)
@click.option("--top-k", metavar="N", help="Choose among the N likeliest tokens alone.")
@click.option("--top-p", metavar="X", help="Choose among the likeliest tokens that together have this probability.")
@click.option("--length", metavar="N", help="The most tokens to write. [as trained: 400]")
@click.option("--seed", metavar="N", help="The same seed writes the same text; without one, the seed is shown.")
@click.option("--device", metavar="WORD", default="cpu", help="Where to compute: auto, cpu, cuda or mps. [cpu]")
@click.option("--json", "as_json", is_flag=True, help="Prompt, text and seed as one JSON object.")
def generate(
    run: str,
    prompt: str | None,
    temperature: str | None,
    top_k: str | None,
    top_p: str | None,
    length: str | None,
    seed: str | None,
    device: str,
    as_json: bool,
) -> None:
    """Text in the manner of what a language model has read, shown as it is written.

    \b
    Examples:
      $ seqloom generate runs/writer
      $ seqloom generate runs/writer --prompt "def " --temperature 0.5 --seed 1
    """
    from seqloom.spec.folder import check

    check(Path(run))
    console = output()
    with waiting(console, "starting torch …"):
        from seqloom.cli.opening import opened
        from seqloom.views.text import visible
    asked = opened(run, device)
    base = asked.experiment.decode
    given = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "length": length, "seed": seed}
    options: dict[str, object] = {name: None if value == "none" else value for name, value in given.items() if value}
    if "seed" not in options:
        options["seed"] = base.seed if base is not None and base.seed is not None else random.randrange(1 << 32)
    beginning = prompt if prompt is not None else base.prompt if base is not None else ""
    pieces = asked.stream(beginning, **options)
    if as_json:
        told = {"prompt": beginning, "text": "".join(pieces), "seed": int(str(options["seed"]))}
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    first = next(pieces, "")  # options are checked before anything is shown
    shown = visible if console.is_terminal else str
    console.print(Text(shown(beginning), "bold"), end="", soft_wrap=True)
    sys.stdout.write(shown(first))
    for piece in pieces:
        sys.stdout.write(shown(piece))
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()
    if seed is None:
        errors().print(Text(f"seed {options['seed']}", "dim"))
