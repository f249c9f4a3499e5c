"""What training refuses about labels of texts or tags of words, and what a check says of it."""

from collections.abc import Iterable, Sequence

from seqloom.data.inspection.report import listed
from seqloom.spec.problem import KeyName, Problem

SHOWN = 3  # labels in a message


def subject(noun: str, labels: Sequence[str]) -> str:
    """Labels as the subject of a sentence, with its verb.

    >>> subject("label", ["a"]), subject("tag", ["a", "b"])
    ("label 'a' is", "tags 'a', 'b' are")
    """
    verb, plural = ("is", "") if len(labels) == 1 else ("are", "s")
    return f"{noun}{plural} {listed(labels, SHOWN)} {verb}"


def only_one(noun: str, labels: Iterable[str], advice: str) -> Problem:
    """All examples have the same label, or none has any."""
    message = f"only one {noun}, {next(iter(labels), 'none')!r}, so there is nothing to distinguish"
    return Problem("one-label", message, advice)


def not_in_train(noun: str, labels: Sequence[str], example: str) -> Problem:
    """Labels that only other splits have; `example` is what has one."""
    them = "it" if len(labels) == 1 else "them"
    advice = f"Add {example}s with {them}, or remove {them}"
    return Problem("not-in-train", f"{subject(noun, labels)} not in the training split", advice)


def seen_once(labels: Sequence[str]) -> Problem:
    """Labels of texts with one example."""
    they = "it" if len(labels) == 1 else "they"
    message = f"{subject('label', labels)} seen once, so {they} can't be both learnt and measured"
    return Problem(
        "label-seen-once", message, f"Add examples, or pass {KeyName('data.on_rare_label', 'skip')} (or keep)"
    )
