"""`seqloom generate`: generate text with a language model."""

import json
import sys

import rich_click as click
from rich.text import Text

from seqloom.cli.console import show_spinner, stderr, stdout
from seqloom.cli.decode_options import decode_option, decode_options, decode_values
from seqloom.cli.help import Command
from seqloom.core.problem import UserError

OPTIONS = (
    *("temperature", "top_k", "top_p", "min_p", "seed", "max_length", "min_length", "no_repeat_ngram"),
    *("beam_size", "length_penalty"),
)


@click.command(cls=Command, short_help="Generate text with a language model.")
@click.argument("run", metavar="RUN")
@click.option("--prompt", metavar="TEXT", help="The text to continue.")
@decode_options(
    OPTIONS,
    temperature="The sampling temperature: below 1 is less random, above 1 is more random, 0 takes the most "
    "probable token. [from the run, or 0.8]",
    max_length="The maximum number of tokens to generate. [from the run, or 400]",
    seed="The same seed generates the same text; without one, a random seed is used and printed.",
    beam_size="Beam search with N hypotheses, instead of sampling.",
)
@click.option("--device", metavar="WORD", default="cpu", help="The device to compute on: auto, cpu, cuda or mps. [cpu]")
@click.option("--json", "as_json", is_flag=True, help="Print prompt, text and seed as one JSON object.")
def generate(run: str, prompt: str | None, device: str, as_json: bool, **options: str | None) -> None:
    """Generate text in the style of the training data of a language model, and print it token by token.

    \b
    Examples:
      $ seqloom generate runs/python
      $ seqloom generate runs/python --prompt "def " --temperature 0.5 --seed 1
    """
    from seqloom import api
    from seqloom.cli.errors import keys_as_options
    from seqloom.models.family import Use

    loaded, console = api.load(run, device), stdout()
    if loaded.experiment.use is not Use.GENERATE:
        message = f"`generate` needs a language model; the task of this run is {loaded.manifest.task}"
        raise UserError(message, f"Use `seqloom predict {run}`", location=run)
    values = decode_values(options)
    with keys_as_options(decode_option):
        decode = loaded.decode_options(values)
    with show_spinner(console, "starting torch …"):
        from seqloom.cli.predict import UnknownSymbols
        from seqloom.views.format import show_controls

        _ = loaded.model  # a run without weights is an error before anything is printed
    if decode.seed is not None:
        values["seed"] = decode.seed
    prompt = prompt if prompt is not None else decode.prompt
    unknown = UnknownSymbols(loaded.task)
    unknown.add([prompt])
    unknown.warn(stderr())
    tokens = loaded.stream(prompt, **values)
    if as_json:
        result: dict[str, object] = {"prompt": prompt, "text": "".join(tokens)}
        result |= {"seed": decode.seed} if decode.seed is not None else {}
        click.echo(json.dumps(result, ensure_ascii=False))
        return
    first = next(tokens, "")  # an error is raised before anything is printed
    escape = show_controls if console.is_terminal else str  # control characters
    console.print(Text(escape(prompt), "bold"), end="", soft_wrap=True)
    sys.stdout.write(escape(first))
    for token in tokens:
        sys.stdout.write(escape(token))
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()
    if decode.seed is not None and options["seed"] is None:
        stderr().print(Text(f"seed {decode.seed}", "dim"))
