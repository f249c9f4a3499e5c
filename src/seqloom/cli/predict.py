"""`seqloom predict`: the answers of a run to texts."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import rich_click as click
from rich.text import Text

from seqloom.cli.console import print_item, print_labeled, show_spinner, stderr, stdout
from seqloom.cli.decode_options import decode_option, decode_options, decode_values
from seqloom.cli.file_options import FileCommand, file_values
from seqloom.core.problem import DataError, KeyName, TextError, UserError, format_problem
from seqloom.core.wording import counted
from seqloom.views.format import shorten

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.data.inputs import Inputs, LocatedText
    from seqloom.data.spec import DataSpec
    from seqloom.nn.model import GenerativeModel
    from seqloom.runs.run import Run
    from seqloom.tasks.experiment import Help
    from seqloom.tasks.task import Task

MAX_UNKNOWN = 20  # characters or words that the warning names
BATCH = 64  # texts
OPTIONS = (
    *("beam_size", "n_best", "length_penalty", "max_length", "min_length", "no_repeat_ngram", "prompt"),
    *("temperature", "top_k", "top_p", "min_p", "seed"),
)
FILE_HELP = "A file to read, as above (repeatable). For --file and for TEXT, - is standard input, a text per line."


@click.command(cls=FileCommand, short_help="Predict with a run: labels, tags, translations, captions.")
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
    **options: Any,
) -> None:
    """Predict with a run. A classifier gives each text a label, a tagger each word a tag (words are separated by
    spaces), a translator its translation, a language model its probability and likely continuations. A captioner
    takes image files. A TEXT that is the name of a file is read as that file; to predict a name itself, pass it on
    standard input.

    \b
    Files:
      .csv .tsv .jsonl  the column that the run was trained on: texts, sources or
                        image paths; the other columns may be missing
      .conllu .conll    the words of each sentence, for a tagger
      a folder          the texts of its files, for a classifier (with --file,
                        or as a path such as ./folder)
      any other name    a text per line, for a language model too; for a
                        captioner an image path per line (with --file)

    \b
    Examples:
      $ seqloom predict runs/reviews "A fine film." "A bore."
      $ seqloom predict runs/reviews new-reviews.csv --json > labels.jsonl
      $ seqloom predict runs/reviews --file reviews.txt
      $ head reviews.txt | seqloom predict runs/reviews
      $ seqloom predict runs/translator "They are watching ." --beam 5 --n-best 3 --show attention
      $ seqloom predict runs/captions photo.jpg
    """
    from seqloom import api
    from seqloom.cli.errors import dotted_option, keys_as_options
    from seqloom.models.family import Use
    from seqloom.tasks.registry import TASKS

    loaded, data, values = api.load(run, device), file_values(options), decode_values(options)
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
    if not texts and not files:
        if sys.stdin.isatty():
            advice = f'Give a text (`seqloom predict {run} "a text"`), a --file, or standard input'
            raise UserError("nothing to read", advice, code="no-input")
        files = ("-",)
    with keys_as_options(lambda key: decode_option(key) or dotted_option(key)):  # errors before torch is imported
        sources = find_sources(loaded, texts, files, data)
    console = stdout()
    with show_spinner(console, "starting torch …"):
        from seqloom.training.events import jsonable
        from seqloom.views.alignment import alignment

        _ = loaded.model  # a run without weights is an error before any text is read
    answer_lines, unknown = TASKS[task].report.answer_lines, UnknownSymbols(loaded.task)
    inputs = chain.from_iterable(sources)
    while True:
        with keys_as_options(dotted_option):
            batch = list(islice(inputs, BATCH))
        if not batch:
            break
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


def find_sources(
    run: "Run", texts: Sequence[str], files: Sequence[str], data: Mapping[str, Any]
) -> list[Iterable["LocatedText"]]:
    """The texts of the command line, of the files that are named there or in --file, and of standard input (-)."""
    from seqloom.data.inputs import refuse_pairs
    from seqloom.data.paths import expand

    spec, task_help = run.experiment.data_spec, run.experiment.help
    sources: list[Iterable[LocatedText]] = []
    for number, text in enumerate(texts, 1):
        if not text.strip():
            raise UserError(f"text {number} is empty", task_help.input_advice, code="empty-input")
        if text == "-":
            sources.append(standard_input(task_help))
        elif names_file(text, spec):
            sources += [InputFile(path, is_option=False) for path in files_of_text(text)]
        else:
            sources.append([(f"text {number}", text)])
    for file in files:
        if file == "-":
            sources.append(standard_input(task_help))
        else:
            sources += [InputFile(path, is_option=True) for path in expand([file])]
    input_files = [source for source in sources if isinstance(source, InputFile)]
    if data and not input_files:
        name = KeyName(f"data.{next(iter(data))}")
        raise UserError(f"{name} has no effect, because no file is read", "Name a file", code="option-without-file")
    refuse_pairs([file.path for file in input_files], spec, data.get("format", run.experiment.data.format))
    for input_file in input_files:
        input_file.open(run, data)
    for input_file in input_files:  # once none is refused
        input_file.print_description()
    return sources


def names_file(text: str, spec: "DataSpec") -> bool:
    """Whether a text of the command line is the name of a file to read, or the path of a folder.

    It is if there is such a file, or if it has the suffix of one and no space: then it is probably misspelled. If
    inputs are files themselves, such as images, only a table is read.
    """
    from seqloom.data.inputs import has_input_suffix, is_table

    try:
        if Path(text).is_dir():
            return os.sep in text  # a lone word stays a text
        is_file = Path(text).exists()
    except (OSError, ValueError):  # too long for a name
        return False
    if spec.roles and spec.roles[0].is_path:
        return is_file and is_table(text, spec)
    return is_file or (not any(map(str.isspace, text)) and has_input_suffix(text, spec))


def files_of_text(text: str) -> list[Path]:
    from seqloom.data.paths import expand

    try:
        return expand([text])
    except DataError as error:
        message = f"{error.template.message}; to predict the words themselves, pass them on standard input"
        error.template = replace(error.template, message=message)
        raise


class InputFile(Iterable["LocatedText"]):
    """The inputs of a file; after them, a warning if lines were skipped.

    is_option: whether --file names it
    """

    inputs: "Inputs"

    def __init__(self, path: Path, *, is_option: bool) -> None:
        self.path, self.is_option = path, is_option

    def open(self, run: "Run", data: Mapping[str, Any]) -> None:
        self.inputs = run.read_inputs(self.path, data)

    def print_description(self) -> None:
        """Print how the file is read, unless it is named by --file and has a text per line."""
        if self.inputs.description or not self.is_option:
            print_labeled(stderr(), "reading", f"{self.path}: {self.inputs.description or 'a text per line'}")

    def __iter__(self) -> Iterator["LocatedText"]:
        from seqloom.cli.errors import dotted_option, key_formatter

        yield from self.inputs.texts
        if count := self.inputs.skipped.count:
            first = replace(self.inputs.skipped.errors[0].template, advice="")  # which is to skip such lines
            message = f"{counted(count, 'bad line')} of {self.path} skipped; the first is "
            message += format_problem(first, key_formatter(dotted_option))
            stderr().print(Text.assemble(("warning ", "bold yellow"), message))


def standard_input(task_help: "Help") -> Iterator["LocatedText"]:
    """A text per line."""
    from seqloom.data.inputs import refuse_blank_lines
    from seqloom.data.text_io import stream_lines

    name, stream = "standard input", cast(BufferedReader, sys.stdin.buffer)
    yield from refuse_blank_lines(name, stream_lines(stream, name), task_help.file_advice)
