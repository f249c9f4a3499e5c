"""`--code FILE.py`, on every command: user-defined parts are registered before anything else of the line is read."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text
from rich_click import RichCommand, RichOption

from seqloom.cli.console import CODE, errors
from seqloom.cli.errors import usual_option
from seqloom.core.code_file import load_code
from seqloom.core.config.migration import migrate, older_names
from seqloom.core.config.section import merged
from seqloom.core.config.toml import line_of, placed, read_values, text_of
from seqloom.core.did_you_mean import closest_name
from seqloom.core.plurals import join_words
from seqloom.core.problem import ConfigError, PartWarning, Problem, UserError
from seqloom.tasks.config_keys import Key, all_keys, sized_keys
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, experiment

if TYPE_CHECKING:
    import click


class CodeCommand(RichCommand):
    """A command that runs the code files that it is given before it parses its options."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: "click.Context | None" = None, **extra: object
    ) -> "click.Context":
        """Names, options and help depend on what the code files register."""
        files = list(code_files(args))
        for file in files:
            load_code(file)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[CODE] = files
        return context

    def invoke(self, ctx: "click.Context") -> object:
        """A part that is not as it was in the run is a line on standard error."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", PartWarning)
            warnings.showwarning = partial(show_warning, warnings.showwarning)
            return super().invoke(ctx)

    def get_params(self, ctx: "click.Context") -> "list[click.Parameter]":
        """Its own options, --code and --help."""
        params = super().get_params(ctx)
        ends = [param for param in params if "--help" in param.opts]
        return [*(param for param in params if param not in ends), code_option(), *ends]


@cache
def code_option(panel: str | None = None) -> RichOption:
    """Only for the help and for click: when it parses the option, the files are loaded."""
    summary = "Run this Python file first: it registers your own parts (repeatable)."
    return RichOption([CODE], metavar="FILE.py", multiple=True, expose_value=False, help=summary, panel=panel)


def code_files(words: Sequence[str]) -> Iterator[str]:
    """The values of --code among the words of a command line.

    >>> list(code_files(["train", "--code", "a.py", "--code=b.py", "--", "--code", "c.py"]))
    ['a.py', 'b.py']
    """
    options = list(takewhile(lambda word: word != "--", words))
    for word, after in zip_longest(options, options[1:]):
        if word == CODE and after is not None:
            yield after
        elif word.startswith(f"{CODE}="):
            yield word.removeprefix(f"{CODE}=")


def show_warning(others: Callable[..., None], message: Warning | str, category: type[Warning], *where: object) -> None:
    """Python's own way of showing is for `others`."""
    if issubclass(category, PartWarning):
        errors().print(Text.assemble(("warning ", "bold yellow"), str(message)))
    else:
        others(message, category, *where)


Values = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """A task, files and options; what the config file says under them, if one was named."""

    words: tuple[str, ...]  # the task and the files, or the files alone where the config names the task
    options: Values  # nested, as in a config
    config: Path | None

    @staticmethod
    def of(params: Mapping[str, Any]) -> "Request":
        """From the values that click has parsed, a name of `key_options.parameter` each."""
        options: Values = {}
        for dotted, key in all_keys().items():
            value = params.get(dotted.replace(".", "__"))
            if value is not None and value != ():
                options.setdefault(key.part, {})[key.name] = typed(key, value)
        if params.get("seed") is not None:
            options["seed"] = params["seed"]
        config = params.get("config")
        return Request(tuple(params.get("words") or ()), options, Path(config) if config else None)

    def experiment(self) -> Experiment:
        """All of it, resolved and checked."""
        file = self.file()
        task, files = self.split(file)
        options = merged(self.options, {"task": task})
        if files:
            named = self.options.get("data", {}).get("train", ())
            options = merged(options, {"data": {"train": [*named, *files]}})
        try:
            return experiment(without_overruled(file, options), over=options)
        except ConfigError as wrong:
            raise self.located(wrong) from None

    def file(self) -> Values:
        """The values of the config file; none without one."""
        if self.config is None:
            return {}
        try:
            return migrate(read_values(self.config))
        except ConfigError as wrong:
            raise placed(wrong, self.config) from None

    def split(self, file: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        """The task, and the files to learn from."""
        if self.words and self.words[0] in TASKS:
            return self.words[0], self.words[1:]
        if "task" in file:
            return str(file["task"]), self.words
        if not self.words:
            advice = f"Name one: {join_words(tuple(TASKS), 'or')} (seqloom list tasks says what each does)"
            raise UserError("no task is named", advice, code="no-task")
        raise UserError.of(not_a_task(self.words[0]))

    def located(self, wrong: ConfigError) -> ConfigError:
        """With the line of the config file, if what is wrong stands there and not on the command line."""
        key = wrong.template.key
        if self.config is None or (key is not None and self.has_typed(key)):
            return wrong
        names = [key, *older_names(key)] if key else []
        in_file = key is None or any(line_of(text_of(self.config), name) for name in names)
        return placed(wrong, self.config) if in_file else wrong

    def has_typed(self, key: str) -> bool:
        """Whether a key was given on the command line."""
        part, _, name = key.rpartition(".")
        return name in (self.options.get(part, {}) if part else self.options)

    def option(self, key: str) -> str | None:
        """The option of a key; None for one that is the config file's."""
        if self.config is not None and not self.has_typed(key):
            return None
        return usual_option(key)


def typed(key: Key, value: Any) -> Any:
    """A word from the command line as a config has it: `none` unsets a key that may be unset."""
    if key.optional and isinstance(value, str) and value.lower() == "none" and "none" not in key.choices:
        return None
    return list(value) if isinstance(value, tuple) else value


def without_overruled(file: Values, options: Values) -> Values:
    """What the file says, less what an option makes void: files instead of a corpus, another size's widths."""
    data, model = dict(file.get("data") or {}), dict(file.get("model") or {})
    if options.get("data", {}).get("train"):
        data.pop("corpus", None)
    if options.get("data", {}).get("corpus"):
        data.pop("train", None)
    if "size" in options.get("model", {}):
        for name in sized_keys():
            model.pop(name, None)
    train = dict(file.get("train") or {})
    for one, other in (("batch_size", "batch_tokens"), ("batch_tokens", "batch_size")):
        if one in options.get("train", {}):
            train.pop(other, None)
    changed = {name: part for name, part in (("data", data), ("model", model), ("train", train)) if name in file}
    return {**file, **changed}


def not_a_task(word: str) -> Problem:
    """The first word should have been a task."""
    close, values = closest_name(word, TASKS), {"value": word, "choices": list(TASKS)}
    if not close and Path(word).exists():
        advice = f"Name it before the file: {join_words(tuple(TASKS), 'or')}"
        return Problem("file-without-task", f"no task is named for {word}", advice, values=values)
    meant = f"Did you mean {close}? " if close else ""
    advice = f"{meant}There are {join_words(tuple(TASKS))} (seqloom list tasks says what each does)"
    return Problem("unknown-task", f"unknown task {word!r}", advice, values=values)
