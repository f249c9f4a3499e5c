"""From what went wrong to one sentence and an exit code."""

import errno
import os
import traceback
from typing import NamedTuple

import click

from seqloom.cli.naming import usual_naming
from seqloom.cli.unknown import usage_sentence
from seqloom.spec.errors import ArgumentError, SeqloomError, UnavailableBackend, UnknownName, UserError, is_memory
from seqloom.spec.problem import describe_exception, format_problem, rendered

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
            return Failure(rendered(usage_sentence(wrong)), MISTAKE)
        case BrokenPipeError():
            return Failure(None, NO_READER)
        case SeqloomError() if isinstance(wrong, FROM_THE_USER):
            show_traceback(wrong.__cause__)
            return Failure(sentence(wrong), MISTAKE)
        case SeqloomError():
            number = getattr(wrong, "number", None)  # a signal's
            return Failure(sentence(wrong), 128 + number if isinstance(number, int) else FAILURE)
        case OSError() if wrong.strerror and wrong.filename:
            return Failure(rendered(f"{wrong.filename}: {wrong.strerror.lower()}."), MISTAKE)
        case OSError() if wrong.errno == errno.ENOSPC:
            return Failure("no space left on the device. Make room and run again.", FAILURE)
        case _ if is_memory(wrong):
            return Failure("out of memory. Lower --train.batch, or take a smaller --size.", FAILURE)
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
    return rendered(f"internal error: {describe_exception(wrong)}. {advice}.")
