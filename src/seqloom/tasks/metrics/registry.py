"""The registry of metrics, and the names of scores in reports."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import SupportsFloat

from seqloom.core import names
from seqloom.core.part import Part, register_function
from seqloom.core.registry import Registry
from seqloom.core.wording import short_repr
from seqloom.tasks.metrics.edit_distance import character_error_rate, word_error_rate

NAMES = {
    "bits_per_character": "bits per character", "macro_f1": "macro F1", "micro_f1": "micro F1", "span_f1": "span F1",
    "bleu": "BLEU", "chrf": "chrF",
}  # fmt: skip
BLEU_ORDER = re.compile(r"bleu[_-]?(\d)")


def readable(score: str) -> str:
    """The name of a score in reports and on the terminal.

    >>> readable("macro_f1"), readable("tag_accuracy"), readable("bleu_4")
    ('macro F1', 'tag accuracy', 'BLEU-4')
    """
    order = BLEU_ORDER.fullmatch(score)
    return f"BLEU-{order[1]}" if order else NAMES.get(score, score.replace("_", " "))


@dataclass(frozen=True)
class Metric:
    """A function of (answers, references), one of each per example of the split.

    input: what it compares: labels, tags or texts (`Experiment.metric_input`); any of them if it is empty
    """

    function: Callable[..., float]
    higher_is_better: bool = True
    input: str = ""

    @property
    def summary(self) -> str:
        """The first line of its docstring, and whether lower is better."""
        line = (self.function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        return line if self.higher_is_better else f"{line} (lower is better)".strip()


METRICS: Registry[Metric] = Registry(
    names.METRICS,
    {
        "word-error-rate": Metric(word_error_rate, higher_is_better=False, input="texts"),
        "character-error-rate": Metric(character_error_rate, higher_is_better=False, input="texts"),
    },
)


@register_function("metric")
def register_metric(part: Part, *, higher_is_better: bool = True) -> None:
    """A metric, for `train.metrics`: a function of (answers, references) that returns a number for a whole split.

    It is called with two lists, which have one item per example:

    classify: a label and a label; where a text may have several, a tuple of them
    tag: a list of tags and a list of tags
    translate, caption: a text and a list of the correct texts; translation has one

    @seqloom.register.metric("first-word")
    def first_word(answers, references):
        return sum(a.split()[:1] == r[0].split()[:1] for a, r in zip(answers, references)) / len(answers)
    """
    function = part.as_function("answers, references")

    @wraps(function)
    def checked(answers: list[object], references: list[object]) -> float:
        value = part.call(function, answers, references)
        if isinstance(value, SupportsFloat) and not isinstance(value, bool):
            with suppress(TypeError, ValueError, RuntimeError, OverflowError):  # of an array with several values
                return float(value)
        raise part.misfit(f"returned {short_repr(value)}, not a number", "Return a float")

    METRICS.register(part.name, Metric(checked, higher_is_better), part.origin)


class MetricInputs:
    """Collects the answers to a split and their references, for the metrics with these names; without names, nothing.

    >>> metrics = MetricInputs(["word-error-rate"])
    >>> metrics.add("a dog", ["a cat", "the cat"])
    >>> metrics.scores()
    {'word-error-rate': 0.5}
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.answers: list[object] = []
        self.references: list[object] = []

    def add(self, answer: object, reference: object) -> None:
        """Add an answer and its reference: a label, a list of tags, or all correct texts."""
        if self.names:
            self.answers.append(answer)
            self.references.append(reference)

    def scores(self) -> dict[str, float]:
        """The value of each metric; an error in a user-defined one names the line that raised it."""
        return {name: METRICS[name].function(list(self.answers), list(self.references)) for name in self.names}
