"""Usage errors as sentences: an option that does not exist names the nearest one that does."""

import errno
import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import click

from seqloom.cli.decode_options import option_of
from seqloom.core.problem import (
    ArgumentError,
    Naming,
    SeqloomError,
    UnavailableBackend,
    UnknownName,
    UserError,
    as_key,
    describe_exception,
    format_problem,
    is_out_of_memory,
    render,
)

LISTS_ALL = "({} --help lists all)"
SEEN = "seqloom.cli.seen"  # in a context: which task, model and size the command line names


def usage_sentence(wrong: click.ClickException) -> str:
    """What click found wrong with the words of a command."""
    ctx = wrong.ctx if isinstance(wrong, click.UsageError) else None
    path = ctx.command_path if ctx is not None else "seqloom"
    task = ctx.meta.get(SEEN, (None,))[0] if ctx is not None else None
    path = f"{path} {task}" if task else path
    lists_all = LISTS_ALL.format(path)
    if isinstance(wrong, click.NoSuchOption):
        options = options_of(ctx)
        if renamed := renamed_option(wrong.option_name, options):
            return f"{wrong.option_name} is now called {renamed}. {lists_all}"
        meant = nearest_option(wrong.option_name, options)
        return f"unknown option {wrong.option_name}.{f' Did you mean {meant}?' if meant else ''} {lists_all}"
    if isinstance(wrong, click.MissingParameter) and wrong.param is not None:
        return f"{name_of(wrong.param, ctx)} is missing. ({path} --help says what goes there)"
    if isinstance(wrong, click.BadParameter) and wrong.param is not None:
        return f"{name_of(wrong.param, ctx)}: {lowered(wrong.message)} {lists_all}"
    return f"{lowered(wrong.format_message())} {lists_all}"


def lowered(message: str) -> str:
    """As the middle of a sentence, with its full stop.

    >>> lowered("Option '--out' requires an argument"), lowered("No such command 'rn'. Did you mean 'runs'?")
    ("option '--out' requires an argument.", "no such command 'rn'. Did you mean 'runs'?")
    """
    return f"{message[:1].lower()}{message[1:].rstrip('.')}{'' if message.endswith('?') else '.'}"


def name_of(param: click.Parameter, ctx: click.Context | None) -> str:
    """As it stands on the command line."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(ctx).strip("[].") if ctx is not None else str(param.name)


def options_of(ctx: click.Context | None) -> list[str]:
    """All options of a command."""
    if ctx is None:
        return []
    params = [param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option)]
    return [name for param in params for name in (*param.opts, *param.secondary_opts)]


def renamed_option(wrong: str, options: Iterable[str]) -> str:
    """The present names of an option that was renamed; empty for any other option.

    >>> renamed_option("--train.batch", ["--train.batch-size", "--train.batch-tokens"])
    '--train.batch-tokens or --train.batch-size'
    >>> renamed_option("--no-repeat", ["--no-repeat-ngram"])
    '--no-repeat-ngram'
    """
    from seqloom.core.config.migration import RENAMED

    no = "--no-" if wrong.startswith("--no-") and "." in wrong else "--"
    name = wrong.removeprefix(no).replace("-", "_")
    keys = RENAMED.get(name) or RENAMED.get(f"decode.{name}", ())
    new = (no + key.replace("_", "-") for key in keys)
    short = (option_of(key) for key in keys)
    return " or ".join(option for option in (*new, *short) if option in set(options))


def nearest_option(wrong: str, options: Iterable[str]) -> str | None:
    """The option that was likely meant: one that looks like it, or what its name is called here.

    >>> nearest_option("--dry-rum", ["--dry-run", "--out"])
    '--dry-run'
    """
    from seqloom.core.did_you_mean import closest_name
    from seqloom.tasks.config_keys import all_keys, nearest

    there = list(options)
    if match := closest_name(wrong, there):
        return match
    name = wrong.lstrip("-").lower()
    key = nearest(name.removeprefix("no-").replace("-", "_"))
    meant = all_keys()[key].option if key is not None else None
    if meant is None or key is None or meant not in there:
        return None
    return f"--no-{meant[2:]}" if name.startswith("no-") and all_keys()[key].kind is bool else meant


# The short names of the keys that most commands are about.
SHORT = {
    "model.arch": "--model",
    "model.size": "--size",
    "data.valid": "--valid",
    "data.test": "--test",
    "train.device": "--device",
}
ARGUMENTS = {
    "out": "--out",
    "data": "--data",
    "device": "--device",
}  # of a command and of its function in Python, but not of a config


@contextmanager
def naming_options(option: Callable[[str], str | None]) -> Iterator[None]:
    """Within: an error names the options of the command line; `option` says which, or None where a key stays."""
    try:
        yield
    except SeqloomError as wrong:
        wrong.naming = wrong.naming or naming_by(option)
        raise


def dotted_option(key: str) -> str:
    """The option that every key has.

    >>> dotted_option("data.on_bad_line"), dotted_option("seed")
    ('--data.on-bad-line', '--seed')
    """
    from seqloom.tasks.config_keys import all_keys

    return "--seed" if key == "seed" else all_keys()[key].option


def usual_option(key: str) -> str:
    """The option that the help shows.

    >>> usual_option("model.arch"), usual_option("train.lr")
    ('--model', '--train.lr')
    """
    return SHORT.get(key) or dotted_option(key)


def naming_by(option: Callable[[str], str | None]) -> Naming:
    """What the reader of a command line calls a key.

    >>> name = naming_by(usual_option)
    >>> name("data.on_bad_line", "skip"), name("train.carry_state", "true"), name("train.carry_state", "false")
    ('--data.on-bad-line skip', '--train.carry-state', '--no-train.carry-state')
    >>> name("out", "another/folder"), name("train.learning_rat", None)
    ('--out another/folder', 'train.learning_rat')
    """

    def name(dotted: str, value: str | None) -> str:
        from seqloom.tasks.config_keys import all_keys  # which imports the configs of all tasks

        known = all_keys().get(dotted)
        found = option(dotted) if known is not None or dotted == "seed" else ARGUMENTS.get(dotted)
        if found is None:
            return as_key(dotted, value)
        if known is not None and known.kind is bool and value in ("true", "false"):
            return found if value == "true" else f"--no-{found[2:]}"
        return found if value is None else f"{found} {value}"

    return name


usual_naming = naming_by(usual_option)


MISTAKE, FAILURE, INTERRUPTED, NO_READER = 2, 1, 130, 141
FROM_THE_USER = (UserError, ArgumentError, UnknownName, UnavailableBackend)


class Failure(NamedTuple):
    """What to say on standard error (nothing, if nobody reads it) and the exit code."""

    sentence: str | None
    code: int


def failure(wrong: BaseException) -> Failure:
    """A mistake in what was given is 2, a failure of ours or of the machine 1, a signal 128 and its number.

    >>> failure(UserError("there is no such file", location="reviews.csv"))
    Failure(sentence='reviews.csv: there is no such file.', code=2)
    """
    match wrong:
        case click.exceptions.Abort() | KeyboardInterrupt():
            return Failure("interrupted.", INTERRUPTED)
        case click.ClickException():
            return Failure(render(usage_sentence(wrong)), MISTAKE)
        case BrokenPipeError():
            return Failure(None, NO_READER)
        case SeqloomError() if isinstance(wrong, FROM_THE_USER):
            show_traceback(wrong.__cause__)
            return Failure(sentence(wrong), MISTAKE)
        case SeqloomError():
            number = getattr(wrong, "number", None)  # a signal's
            return Failure(sentence(wrong), 128 + number if isinstance(number, int) else FAILURE)
        case OSError() if wrong.strerror and wrong.filename:
            return Failure(render(f"{wrong.filename}: {wrong.strerror.lower()}."), MISTAKE)
        case OSError() if wrong.errno == errno.ENOSPC:
            return Failure("no space left on the device. Make room and run again.", FAILURE)
        case _ if is_out_of_memory(wrong):
            return Failure(
                "out of memory. Lower --train.batch-tokens (or --train.batch-size), or pass a smaller --size.", FAILURE
            )
    return Failure(internal(wrong), FAILURE)


def sentence(wrong: SeqloomError) -> str:
    """What an error says, with the options of the command line for config keys."""
    return format_problem(wrong.template, wrong.naming or usual_naming)


def show_traceback(error: BaseException | None) -> None:
    """Of an exception that is not ours, for those who ask."""
    if error is not None and os.environ.get("SEQLOOM_DEBUG"):
        traceback.print_exception(error)


def internal(wrong: BaseException) -> str:
    """An error that nobody expected; its traceback only for those who ask."""
    show_traceback(wrong)
    advice = "Run again with SEQLOOM_DEBUG=1 for the traceback, and report it"
    return render(f"internal error: {describe_exception(wrong)}. {advice}.")
