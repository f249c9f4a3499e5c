"""Errors on the command line: one sentence with the names of options, and an exit code."""

import errno
import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import click

from seqloom.cli.decode_options import decode_option
from seqloom.core.problem import (
    ArgumentError,
    KeyFormatter,
    SeqloomError,
    UnavailableBackend,
    UnknownName,
    UserError,
    as_key,
    format_problem,
    is_out_of_memory,
    render,
)
from seqloom.core.wording import describe_exception

TASK_MODEL_SIZE = "seqloom.cli.task_model_size"  # key of `ctx.meta`: the task, model and size on the command line
INVALID_INPUT, INTERNAL_ERROR, INTERRUPTED, BROKEN_PIPE = 2, 1, 130, 141
INPUT_ERRORS = (UserError, ArgumentError, UnknownName, UnavailableBackend)

# Keys with a short option.
SHORT = {
    "model.arch": "--model",
    "model.size": "--size",
    "data.valid": "--valid",
    "data.test": "--test",
    "train.device": "--device",
}
# Options that are not config keys, and that Python functions have as parameters.
ARGUMENTS = {"out": "--out", "data": "--data", "device": "--device"}


class Failure(NamedTuple):
    """The sentence for standard error (None if nobody reads it) and the exit code."""

    sentence: str | None
    code: int


def failure(error: BaseException) -> Failure:
    """Exit code 2 for invalid input, 1 for internal errors and failures of the machine, 128 + n for signal n.

    >>> failure(UserError("there is no such file", location="reviews.csv"))
    Failure(sentence='reviews.csv: there is no such file.', code=2)
    """
    match error:
        case click.exceptions.Abort() | KeyboardInterrupt():
            return Failure("interrupted.", INTERRUPTED)
        case click.ClickException():
            return Failure(render(usage_sentence(error)), INVALID_INPUT)
        case BrokenPipeError():
            return Failure(None, BROKEN_PIPE)
        case SeqloomError():
            sentence, code = format_problem(error.template, error.format_key or as_option), INTERNAL_ERROR
            if isinstance(error, INPUT_ERRORS):
                show_traceback(error.__cause__)
                code = INVALID_INPUT
            elif isinstance(signal := getattr(error, "number", None), int):  # of `Stopped`, without importing training
                code = 128 + signal
            return Failure(sentence, code)
        case OSError() if error.strerror and error.filename:
            return Failure(render(f"{error.filename}: {error.strerror.lower()}."), INVALID_INPUT)
        case OSError() if error.errno == errno.ENOSPC:
            return Failure("no space left on the device. Make room and run again.", INTERNAL_ERROR)
        case _ if is_out_of_memory(error):
            advice = "Lower --train.batch-tokens (or --train.batch-size), or pass a smaller --size"
            return Failure(f"out of memory. {advice}.", INTERNAL_ERROR)
    show_traceback(error)
    advice = "Run again with SEQLOOM_DEBUG=1 for the traceback, and report it"
    return Failure(render(f"internal error: {describe_exception(error)}. {advice}."), INTERNAL_ERROR)


def show_traceback(error: BaseException | None) -> None:
    if error is not None and os.environ.get("SEQLOOM_DEBUG"):
        traceback.print_exception(error)


# Names of keys --------------------------------------------------------------------------------------------------


@contextmanager
def keys_as_options(option: Callable[[str], str | None]) -> Iterator[None]:
    """Errors that the block raises name options, not config keys (see `key_formatter`)."""
    try:
        yield
    except SeqloomError as error:
        error.format_key = error.format_key or key_formatter(option)
        raise


def key_formatter(option: Callable[[str], str | None]) -> KeyFormatter:
    """A function that formats a config key as the option that `option` returns, or as the key if that is None.

    >>> format_key = key_formatter(preferred_option)
    >>> format_key("data.on_bad_line", "skip")
    '--data.on-bad-line skip'
    >>> format_key("train.carry_state", "true"), format_key("train.carry_state", "false")
    ('--train.carry-state', '--no-train.carry-state')
    >>> format_key("out", "another/folder"), format_key("train.learning_rat", None)
    ('--out another/folder', 'train.learning_rat')
    """

    def format_key(dotted: str, value: str | None) -> str:
        from seqloom.tasks.config_keys import all_keys  # imports the configs of all tasks

        key = all_keys().get(dotted)
        typed = option(dotted) if key is not None or dotted == "seed" else ARGUMENTS.get(dotted)
        if typed is None:
            return as_key(dotted, value)
        if key is not None and key.kind is bool and value in ("true", "false"):
            return typed if value == "true" else f"--no-{typed[2:]}"
        return typed if value is None else f"{typed} {value}"

    return format_key


def dotted_option(key: str) -> str:
    """
    >>> dotted_option("data.on_bad_line"), dotted_option("seed")
    ('--data.on-bad-line', '--seed')
    """
    from seqloom.tasks.config_keys import all_keys

    return "--seed" if key == "seed" else all_keys()[key].option


def preferred_option(key: str) -> str:
    """The option under which the help lists a key.

    >>> preferred_option("model.arch"), preferred_option("train.lr")
    ('--model', '--train.lr')
    """
    return SHORT.get(key) or dotted_option(key)


as_option = key_formatter(preferred_option)


# Usage errors ---------------------------------------------------------------------------------------------------


def usage_sentence(error: click.ClickException) -> str:
    """The sentence for an error of click; it names the command whose help lists the options."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    words = [ctx.command_path, ctx.meta.get(TASK_MODEL_SIZE, (None,))[0]] if ctx is not None else ["seqloom"]
    path = " ".join(word for word in words if word)
    advice = f"({path} --help lists all)"
    match error:
        case click.NoSuchOption():
            params = ctx.command.get_params(ctx) if ctx is not None else []
            options = [name for param in params for name in (*param.opts, *param.secondary_opts) if name[:1] == "-"]
            if renamed := renamed_option(error.option_name, options):
                return f"{error.option_name} is now called {renamed}. {advice}"
            nearest = nearest_option(error.option_name, options)
            return f"unknown option {error.option_name}.{f' Did you mean {nearest}?' if nearest else ''} {advice}"
        case click.MissingParameter(param=click.Parameter() as param):
            return f"{written_name(param, ctx)} is missing. ({path} --help says what goes there)"
        case click.BadParameter(param=click.Parameter() as param):
            return f"{written_name(param, ctx)}: {as_clause(error.message)} {advice}"
    return f"{as_clause(error.format_message())} {advice}"


def as_clause(message: str) -> str:
    """A message of click as a clause that can follow a colon.

    >>> as_clause("Option '--out' requires an argument"), as_clause("No such command 'rn'. Did you mean 'runs'?")
    ("option '--out' requires an argument.", "no such command 'rn'. Did you mean 'runs'?")
    """
    return f"{message[:1].lower()}{message[1:].rstrip('.')}{'' if message.endswith('?') else '.'}"


def written_name(param: click.Parameter, ctx: click.Context | None) -> str:
    """A parameter as it is written on the command line."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(ctx).strip("[].") if ctx is not None else str(param.name)


def renamed_option(word: str, options: Iterable[str]) -> str:
    """The new names of an option that was renamed; empty for any other option.

    >>> renamed_option("--train.batch", ["--train.batch-size", "--train.batch-tokens"])
    '--train.batch-tokens or --train.batch-size'
    >>> renamed_option("--no-repeat", ["--no-repeat-ngram"])
    '--no-repeat-ngram'
    >>> renamed_option("--beam", ["--decode.beam-size"])
    ''
    """
    from seqloom.core.config.migration import RENAMED

    no = "--no-" if word.startswith("--no-") and "." in word else "--"
    name = word.removeprefix(no).replace("-", "_")
    if "." in name:
        new = [no + key.replace("_", "-") for key in RENAMED.get(name, ())]
    else:  # the options of `decode` have short names
        new = [str(decode_option(key)) for key in RENAMED.get(f"decode.{name}", ())]
    return " or ".join(option for option in new if option in set(options))


def nearest_option(word: str, options: Iterable[str]) -> str | None:
    """The option that was probably meant: one of a similar name, or the equivalent of another program's option.

    >>> nearest_option("--dry-rum", ["--dry-run", "--out"])
    '--dry-run'
    """
    from seqloom.core.did_you_mean import closest_name
    from seqloom.tasks.config_keys import all_keys, nearest_key

    options = list(options)
    if match := closest_name(word, options):
        return match
    name = word.lstrip("-").lower()
    dotted = nearest_key(name.removeprefix("no-").replace("-", "_"))
    key = all_keys()[dotted] if dotted is not None else None
    if key is None or key.option not in options:
        return None
    return f"--no-{key.option[2:]}" if name.startswith("no-") and key.kind is bool else key.option
