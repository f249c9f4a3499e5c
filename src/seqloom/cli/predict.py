"""`seqloom predict`: the answers of a run to texts."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BufferedReader
from itertools import chain, islice
from typing import TYPE_CHECKING, cast

import rich_click as click
from rich.text import Text

from seqloom.cli.console import print_item, show_spinner, stderr, stdout
from seqloom.cli.decode_options import decode_option, decode_options, decode_values
from seqloom.cli.help import Command
from seqloom.core.problem import DataError, TextError, UserError
from seqloom.views.format import shorten

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.nn.model import GenerativeModel
    from seqloom.tasks.experiment import Help
    from seqloom.tasks.task import Task

MAX_UNKNOWN = 20  # characters or words that the warning names
BATCH = 64  # texts
LocatedText = tuple[str, str]  # location, text
OPTIONS = (
    *("beam_size", "n_best", "length_penalty", "max_length", "min_length", "no_repeat_ngram", "prompt"),
    *("temperature", "top_k", "top_p", "min_p", "seed"),
)
FILE_HELP = "A file with one text or image path per line (repeatable). For --file and for TEXT, - is standard input."


@click.command(cls=Command, short_help="Predict with a run: labels, tags, translations, captions.")
@click.argument("run", metavar="RUN")
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--file", "files", metavar="FILE", multiple=True, help=FILE_HELP)
@click.option("--device", metavar="WORD", default="cpu", help="The device to compute on: auto, cpu, cuda or mps. [cpu]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line, with all probabilities.")
@click.option("--show", "draw", type=click.Choice(["attention"]), help="Draw the attention for each generated token.")
@decode_options(OPTIONS)
def predict(
    run: str,
    texts: tuple[str, ...],
    files: tuple[str, ...],
    device: str,
    as_json: bool,
    draw: str | None,
    **options: str | None,
) -> None:
    """Predict with a run. A classifier gives each text a label, a tagger each word a tag (words are separated by
    spaces), a translator its translation, a language model its probability and likely continuations. A captioner
    takes image files.

    \b
    Examples:
      $ seqloom predict runs/reviews "A fine film." "A bore."
      $ seqloom predict runs/reviews --file reviews.txt --json > labels.jsonl
      $ head reviews.txt | seqloom predict runs/reviews
      $ seqloom predict runs/translator "They are watching ." --beam 5 --n-best 3 --show attention
      $ seqloom predict runs/captions photo.jpg
    """
    from seqloom import api
    from seqloom.cli.errors import keys_as_options
    from seqloom.data.paths import expand
    from seqloom.models.family import Use
    from seqloom.tasks.registry import TASKS

    loaded, values = api.load(run, device), decode_values(options)
    config, task = loaded.experiment, loaded.manifest.task
    if (values or draw) and config.use is not Use.DECODE:
        option = "--show" if draw else decode_option(f"decode.{next(iter(values))}")
        message = f"{option} is only for tasks whose answers are texts; the task of {run} is {task}"
        raise UserError(message, "Leave it out", code="option-without-use")
    if config.use is Use.DECODE:
        with keys_as_options(decode_option):
            decode = loaded.decode_options(values)
        if decode.seed is not None:
            values["seed"] = decode.seed
    expand(file for file in files if file != "-")  # a missing file is an error before torch is imported
    if not texts and not files:
        if sys.stdin.isatty():
            advice = f'Give a text (`seqloom predict {run} "a text"`), a --file, or standard input'
            raise UserError("nothing to read", advice, code="no-input")
        files = ("-",)
    console = stdout()
    with show_spinner(console, "starting torch …"):
        from seqloom.training.events import jsonable
        from seqloom.views.alignment import alignment

        _ = loaded.model  # a run without weights is an error before any text is read
    answer_lines, unknown = TASKS[task].report.answer_lines, UnknownSymbols(loaded.task)
    inputs = chain(typed_texts(texts, config.help), *(read_texts(file, config.help) for file in files))
    while batch := list(islice(inputs, BATCH)):
        locations, contents = map(list, zip(*batch, strict=True))
        unknown.add(contents)
        try:
            with keys_as_options(decode_option):
                answers = loaded.predict(contents, attention=draw == "attention", **values)
        except TextError as error:
            error.template = replace(error.template, location=locations[error.number - 1])
            raise
        for answer in answers:
            if as_json:
                click.echo(json.dumps(jsonable(answer), ensure_ascii=False))
                continue
            for line in answer_lines(answer, console.width if console.is_terminal else None):
                console.print(line, soft_wrap=True)
            if draw == "attention" and "attention" in answer:
                print_item(console, alignment(answer).figure)
                console.print()
            elif draw == "attention":
                console.print(Text("this model has no attention to show", "yellow"))
        sys.stdout.flush()
    unknown.warn(stderr())
    if "seed" in values and options["seed"] is None:
        stderr().print(Text(f"seed {values['seed']}", "dim"))


class UnknownSymbols:
    """Collects the characters or words of the texts that are not in the vocabulary, for one warning."""

    def __init__(self, task: "Task[GenerativeModel, object]") -> None:
        self.task = task
        self.symbols: dict[str, None] = {}  # in order of appearance
        self.is_cut = False

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            new = [symbol for symbol in self.task.unknown_tokens(text) if symbol not in self.symbols]
            free = MAX_UNKNOWN - len(self.symbols)
            self.is_cut = self.is_cut or len(new) > free
            self.symbols.update(dict.fromkeys(new[:free]))

    def warn(self, console: "Console") -> None:
        if self.symbols:
            names = ", ".join(shorten(symbol, 40) for symbol in self.symbols)
            message = f"out of the model's vocabulary: {names}{' …' * self.is_cut}"
            console.print(Text.assemble(("warning ", "bold yellow"), message))


def typed_texts(texts: Sequence[str], task_help: "Help") -> Iterator[LocatedText]:
    """The texts of the command line; - is standard input."""
    for number, text in enumerate(texts, 1):
        if not text.strip():
            raise UserError(f"text {number} is empty", task_help.input_advice, code="empty-input")
        if text == "-":
            yield from read_texts(text, task_help)
        else:
            yield f"text {number}", text


def read_texts(file: str, task_help: "Help") -> Iterator[LocatedText]:
    """One text per line, from standard input (-) or from the files that a name or pattern matches."""
    from seqloom.data.paths import expand
    from seqloom.data.text_io import read_lines, stream_lines

    if file == "-":
        name, stream = "standard input", cast(BufferedReader, sys.stdin.buffer)
        yield from refuse_blank_lines(name, stream_lines(stream, name), task_help)
        return
    for path in expand([file]):
        yield from refuse_blank_lines(str(path), read_lines(path), task_help)


def refuse_blank_lines(name: str, lines: Iterable[tuple[int, str]], task_help: "Help") -> Iterator[LocatedText]:
    """Lines with their locations. A blank line is an error, since answers would not match lines, except at the end."""
    from seqloom.data.text_io import EmptyFile

    blank, count = 0, 0
    with suppress(EmptyFile):
        for number, line in lines:
            if not line.strip():
                blank = blank or number
                continue
            if blank:
                message, advice = "an empty line", "Remove it, since each line is a text"
                raise DataError(f"{name}:{blank}", message, advice, code="empty-line")
            count += 1
            yield f"{name}:{number}", line
    if not count:
        raise DataError(name, "nothing to read", task_help.file_advice, code="nothing-to-read")
