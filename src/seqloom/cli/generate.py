"""`seqloom generate`: let a language model write."""

import json
import random
import sys
from pathlib import Path

import rich_click as click
from rich.text import Text

from seqloom.cli.console import errors, output, waiting
from seqloom.cli.help_text import Command
from seqloom.spec.errors import UserError

OPTIONS = {
    f"decode.{name}": f"--{name.replace('_', '-')}" for name in ("temperature", "top_k", "top_p", "length", "seed")
}


@click.command(cls=Command, short_help="Let a language model write.")
@click.argument("run", metavar="RUN")
@click.option("--prompt", metavar="TEXT", help="The text to continue.")
@click.option(
    "--temperature", metavar="X", help="Below 1 is safer, above 1 is bolder, 0 takes the likeliest. [as trained: 0.8]"
)
@click.option("--top-k", metavar="N", help="Choose among the N likeliest tokens only.")
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
    """Write text in the style of what a language model has learned from, shown as it comes.

    \b
    Examples:
      $ seqloom generate runs/writer
      $ seqloom generate runs/writer --prompt "def " --temperature 0.5 --seed 1
    """
    from seqloom.cli.early import refuse_device
    from seqloom.cli.naming import naming_options
    from seqloom.spec.config.experiment import experiment
    from seqloom.spec.folder import check

    task = check(Path(run)).task
    if task != "language":
        raise UserError(f"{run}: a run of {task} can't write. Use `seqloom predict {run}`.")
    refuse_device(device)
    given = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "length": length, "seed": seed}
    options: dict[str, object] = {name: None if value == "none" else value for name, value in given.items() if value}
    with naming_options(OPTIONS.get):
        experiment({"task": "language", "decode": options})  # a wrong value is told at once
    console = output()
    with waiting(console, "starting torch …"):
        from seqloom.cli.opening import opened
        from seqloom.cli.unseen import Unseen
        from seqloom.views.text import visible
    asked = opened(run, device)
    base = asked.experiment.decode
    if "seed" not in options:
        options["seed"] = base.seed if base is not None and base.seed is not None else random.randrange(1 << 32)
    beginning = prompt if prompt is not None else base.prompt if base is not None else ""
    unseen = Unseen(asked.task)
    unseen.look([beginning])
    unseen.warn(errors())
    pieces = asked.stream(beginning, **options)
    if as_json:
        told = {"prompt": beginning, "text": "".join(pieces), "seed": int(str(options["seed"]))}
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
    if seed is None:
        errors().print(Text(f"seed {options['seed']}", "dim"))
