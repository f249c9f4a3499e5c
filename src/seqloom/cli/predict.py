"""What of a text a model has never seen: it can't know better, but the person may."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BufferedReader
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

import rich_click as click
from rich.text import Text

from seqloom.cli.console import errors, output, show, waiting
from seqloom.cli.decode_options import option_of, said, writing_options
from seqloom.cli.help import Command
from seqloom.core.problem import DataError, TextError, UserError
from seqloom.views.format import clip, one_line

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.nn.model import GenerativeModel
    from seqloom.tasks.experiment import Help
    from seqloom.tasks.task import Task


NAMED = 20  # characters or words


class Unseen:
    """Gathers what a task does not know of some texts."""

    def __init__(self, task: "Task[GenerativeModel, object]") -> None:
        self.task = task
        self.found: dict[str, None] = {}  # in the order in which they came
        self.more = False

    def look(self, texts: Iterable[str]) -> None:
        """At some more texts."""
        for text in texts:
            new = [each for each in self.task.unknown(text) if each not in self.found]
            room = NAMED - len(self.found)
            self.more = self.more or len(new) > room
            self.found.update(dict.fromkeys(new[:room]))

    def warn(self, console: "Console") -> None:
        """One line, if there is something to say."""
        if self.found:
            named = ", ".join(clip(one_line(each), 40) for each in self.found)
            told = f"never seen by this model, so it can't know what they mean: {named}{' …' * self.more}"
            console.print(Text.assemble(("warning ", "bold yellow"), told))


TOGETHER = 64  # texts read at once from a file
Placed = tuple[str, str]  # where a text stands, and the text
OPTIONS = (
    *("beam_size", "n_best", "length_penalty", "max_length", "min_length", "no_repeat_ngram", "prompt"),
    *("temperature", "top_k", "top_p", "min_p", "seed"),
)


@click.command(cls=Command, short_help="Ask a run about texts.")
@click.argument("run", metavar="RUN")
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--file",
    "files",
    metavar="FILE",
    multiple=True,
    help="A file with one text, or one image's name, per line (repeatable); - is standard input, for TEXT too.",
)
@click.option("--device", metavar="WORD", default="cpu", help="Where to compute: auto, cpu, cuda or mps. [cpu]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line, with all probabilities.")
@click.option(
    "--show",
    "draw",
    type=click.Choice(["attention"]),
    help="Draw where a translation or description looked, word by word.",
)
@writing_options(OPTIONS)
def predict(
    run: str,
    texts: tuple[str, ...],
    files: tuple[str, ...],
    device: str,
    as_json: bool,
    draw: str | None,
    **options: str | None,
) -> None:
    """Ask a run about texts: a classifier gives each a label, a tagger gives each word a tag (words are separated by
    spaces), a translator translates it, a language model says how likely it is and what may follow it. A run that
    describes pictures is given their files.

    \b
    Examples:
      $ seqloom predict runs/reviews "A fine film." "A bore."
      $ seqloom predict runs/reviews --file reviews.txt --json > labels.jsonl
      $ head reviews.txt | seqloom predict runs/reviews
      $ seqloom predict runs/translator "They are watching ." --beam 5 --n-best 3 --show attention
      $ seqloom predict runs/captions photo.jpg
    """
    from seqloom import api
    from seqloom.cli.errors import naming_options
    from seqloom.data.paths import expand
    from seqloom.models.family import Use
    from seqloom.tasks.registry import TASKS

    asked, chosen = api.load(run, device), said(options)
    config, task = asked.experiment, asked.manifest.task
    if (chosen or draw) and config.use is not Use.DECODE:
        name = "--show" if draw else option_of(f"decode.{next(iter(chosen))}")
        message = f"{name} is for runs that generate their answers, and {run} is one of {task}"
        raise UserError(message, "Leave it out", code="option-without-use")
    if config.use is Use.DECODE:
        with naming_options(option_of):
            how = asked.decode_options(chosen)
        if how.seed is not None:
            chosen["seed"] = how.seed
    expand(file for file in files if file != "-")  # one that is missing is told at once
    if not texts and not files:
        if sys.stdin.isatty():
            advice = f'Give a text (`seqloom predict {run} "a text"`), a --file, or standard input'
            raise UserError("nothing to read", advice, code="no-input")
        files = ("-",)
    console = output()
    with waiting(console, "starting torch …"):
        from seqloom.training.events import jsonable

        _ = asked.model  # a run without weights is refused before anything is read
    answer_lines = TASKS[task].report.answer_lines
    unseen = Unseen(asked.task)
    for places, some in batches(chain(given(texts, config.help), *(lines_of(file, config.help) for file in files))):
        unseen.look(some)
        try:
            with naming_options(option_of):
                answers = asked.predict(some, attention=draw == "attention", **chosen)
        except TextError as wrong:
            wrong.template = replace(wrong.template, location=places[wrong.number - 1])
            raise
        for answer in answers:
            if as_json:
                click.echo(json.dumps(jsonable(answer), ensure_ascii=False))
                continue
            for line in answer_lines(answer, console.width if console.is_terminal else None):
                console.print(line, soft_wrap=True)
            if draw == "attention":
                show_attention(console, answer)
        sys.stdout.flush()
    unseen.warn(errors())
    if "seed" in chosen and options["seed"] is None:
        errors().print(Text(f"seed {chosen['seed']}", "dim"))


def given(texts: Sequence[str], advice: "Help") -> Iterator[Placed]:
    """The texts of the command line."""
    for number, text in enumerate(texts, 1):
        if not text.strip():
            raise UserError(f"text {number} is empty", advice.input_advice, code="empty-input")
        if text == "-":  # as elsewhere
            yield from lines_of(text, advice)
        else:
            yield f"text {number}", text


def lines_of(file: str, advice: "Help") -> Iterator[Placed]:
    """One text per line, of standard input (-) or of the files that a name or pattern stands for."""
    from seqloom.data.paths import expand
    from seqloom.data.text_io import read_lines, stream_lines

    if file == "-":
        name, stream = "standard input", cast(BufferedReader, sys.stdin.buffer)  # which it is, though typed more widely
        yield from without_blank(name, stream_lines(stream, name), advice)
        return
    for path in expand([file]):
        yield from without_blank(str(path), read_lines(path), advice)


def without_blank(name: str, lines: Iterable[tuple[int, str]], advice: "Help") -> Iterator[Placed]:
    """Blank lines are refused, since answers would no longer stand line by line with texts; at the end they may be."""
    from seqloom.data.text_io import EmptyFile

    blank, texts = 0, 0
    with suppress(EmptyFile):
        for number, line in lines:
            if not line.strip():
                blank = blank or number
                continue
            if blank:
                do = "Remove it, since each line is a text"
                raise DataError(f"{name}:{blank}", "an empty line", do, code="empty-line")
            texts += 1
            yield f"{name}:{number}", line
    if not texts:
        raise DataError(name, "nothing to read", advice.file_advice, code="nothing-to-read")


def show_attention(console: "Console", answer: Mapping[str, Any]) -> None:
    """Where the model looked for each token that it wrote, if it looked."""
    from seqloom.views.alignment import alignment

    if "attention" in answer:
        show(console, alignment(answer).figure)
        console.print()
    else:
        console.print(Text("this model has no attention to show", "yellow"))


def batches(texts: Iterator[Placed]) -> Iterator[tuple[list[str], list[str]]]:
    """The places of some texts at a time and the texts, so that a large file is never held as a whole."""
    while some := list(islice(texts, TOGETHER)):
        yield [place for place, _ in some], [text for _, text in some]
