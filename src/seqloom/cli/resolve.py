"""Build an experiment from a command line; load `--code` files before anything else."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text
from rich_click import RichCommand, RichOption

from seqloom.cli.console import CODE, stderr
from seqloom.cli.errors import preferred_option
from seqloom.core.code_file import load_code
from seqloom.core.config.migration import older_names
from seqloom.core.config.section import merge_values
from seqloom.core.config.toml import line_of, read_text, with_location
from seqloom.core.did_you_mean import closest_name
from seqloom.core.problem import ConfigError, PartWarning, Problem, UserError
from seqloom.core.wording import join_words
from seqloom.tasks.config_keys import Key, all_keys, sized_keys
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, experiment, read_config

if TYPE_CHECKING:
    import click

Values = dict[str, Any]


class CodeCommand(RichCommand):
    """A command that loads its --code files before it parses its options: names and help depend on them."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: "click.Context | None" = None, **extra: object
    ) -> "click.Context":
        files = list(code_options(args))
        for file in files:
            load_code(file)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[CODE] = files
        return context

    def invoke(self, ctx: "click.Context") -> object:
        """Run the command; a warning about user-defined parts is one line on standard error."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", PartWarning)
            warnings.showwarning = partial(show_warning, warnings.showwarning)
            return super().invoke(ctx)

    def get_params(self, ctx: "click.Context") -> "list[click.Parameter]":
        """Its own options, --code and --help."""
        params = super().get_params(ctx)
        last = [param for param in params if "--help" in param.opts]
        return [*(param for param in params if param not in last), code_option(), *last]


@cache
def code_option(panel: str | None = None) -> RichOption:
    """--code, for the help and the parser; `CodeCommand` has loaded the files."""
    text = "Load this Python file first: it registers your own parts (repeatable)."
    return RichOption([CODE], metavar="FILE.py", multiple=True, expose_value=False, help=text, panel=panel)


def code_options(words: Sequence[str]) -> Iterator[str]:
    """The values of --code in a command line.

    >>> list(code_options(["train", "--code", "a.py", "--code=b.py", "--", "--code", "c.py"]))
    ['a.py', 'b.py']
    """
    options = list(takewhile(lambda word: word != "--", words))
    for word, following in zip_longest(options, options[1:]):
        if word == CODE and following is not None:
            yield following
        elif word.startswith(f"{CODE}="):
            yield word.removeprefix(f"{CODE}=")


def show_warning(
    default: Callable[..., None], message: Warning | str, category: type[Warning], *location: object
) -> None:
    if issubclass(category, PartWarning):
        stderr().print(Text.assemble(("warning ", "bold yellow"), str(message)))
    else:
        default(message, category, *location)


@dataclass(frozen=True)
class Request:
    """What a command line asks for.

    words: the task and the files, or the files alone if the config file has the task
    options: nested, as in a config
    config: the config file; options override it
    """

    words: tuple[str, ...]
    options: Values
    config: Path | None

    @staticmethod
    def of(params: Mapping[str, Any]) -> "Request":
        """The request with the values that click has parsed."""
        options: Values = {}
        for key in all_keys().values():
            value = params.get(parameter_name(key))
            if value is not None and value != ():
                options.setdefault(key.section, {})[key.name] = config_value(key, value)
        if params.get("seed") is not None:
            options["seed"] = params["seed"]
        config = params.get("config")
        return Request(tuple(params.get("words") or ()), options, Path(config) if config else None)

    def experiment(self) -> Experiment:
        """The experiment, resolved and validated."""
        file = self.file()
        task, files = self.split_words(file)
        options = merge_values(self.options, {"task": task})
        if files:
            train = self.options.get("data", {}).get("train", ())
            options = merge_values(options, {"data": {"train": [*train, *files]}})
        try:
            return experiment(without_overruled(file, options), over=options)
        except ConfigError as error:
            raise self.located(error) from None

    def file(self) -> Values:
        """The values of the config file; empty without one."""
        if self.config is None:
            return {}
        try:
            return read_config(self.config)
        except ConfigError as error:
            raise with_location(error, self.config) from None

    def split_words(self, file: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        """The task, and the training files."""
        if self.words and self.words[0] in TASKS:
            return self.words[0], self.words[1:]
        if "task" in file:
            return str(file["task"]), self.words
        if not self.words:
            advice = f"Name one: {join_words(tuple(TASKS), 'or')} (`seqloom list tasks` describes each)"
            raise UserError("no task is named", advice, code="no-task")
        raise UserError.of(not_a_task(self.words[0]))

    def located(self, error: ConfigError) -> ConfigError:
        """The error with its line in the config file, unless the command line caused it."""
        key = error.template.key
        if self.config is None or (key is not None and self.has_option(key)):
            return error
        names = [key, *older_names(key)] if key else []
        in_file = key is None or any(line_of(read_text(self.config), name) for name in names)
        return with_location(error, self.config) if in_file else error

    def has_option(self, key: str) -> bool:
        """Whether the command line has an option for a key."""
        section, _, name = key.rpartition(".")
        return name in self.options.get(section, {}) if section else key == "seed" and "seed" in self.options

    def option(self, key: str) -> str | None:
        """The option of a key; None for a key that the config file sets."""
        return preferred_option(key) if self.config is None or self.has_option(key) else None


def parameter_name(key: Key) -> str:
    """The name of a key's parameter in click."""
    return key.dotted.replace(".", "__")


def config_value(key: Key, value: Any) -> Any:
    """The value of an option as a config has it: `none` unsets an optional key."""
    if key.optional and isinstance(value, str) and value.lower() == "none" and "none" not in key.choices:
        return None
    return list(value) if isinstance(value, tuple) else value


def without_overruled(file: Values, options: Values) -> Values:
    """The values of a file without those that an option replaces: a corpus by files, or dimensions by another size."""
    sections = {name: dict(values) for name, values in file.items() if isinstance(values, Mapping)}
    for section, option, replaced in (
        ("data", "train", "corpus"),
        ("data", "corpus", "train"),
        ("train", "steps", "epochs"),
        ("train", "batch_size", "batch_tokens"),
        ("train", "batch_tokens", "batch_size"),
        *(("model", "size", name) for name in sized_keys()),
    ):
        if options.get(section, {}).get(option) not in (None, (), []):
            sections.get(section, {}).pop(replaced, None)
    return {**file, **sections}


def not_a_task(word: str) -> Problem:
    """The problem of a first word that names no task."""
    closest, values = closest_name(word, TASKS), {"value": word, "choices": list(TASKS)}
    if not closest and Path(word).exists():
        advice = f"Name it before the file: {join_words(tuple(TASKS), 'or')}"
        return Problem("file-without-task", f"no task is named for {word}", advice, values=values)
    advice = f"There are {join_words(tuple(TASKS))} (`seqloom list tasks` describes each)"
    advice = f"Did you mean {closest}? {advice}" if closest else advice
    return Problem("unknown-task", f"unknown task {word!r}", advice, values=values)
