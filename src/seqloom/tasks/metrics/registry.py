"""Names of scores for a person."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import SupportsFloat

from seqloom.core import names
from seqloom.core.part_checks import as_function, call, misfit
from seqloom.core.part_origin import Origin
from seqloom.core.registry import Registry, shown
from seqloom.tasks.metrics.edit_distance import character_error_rate, word_error_rate

NAMES = {
    "loss": "loss",
    "accuracy": "accuracy",
    "perplexity": "perplexity",
    "bits_per_character": "bits a character",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "span_f1": "span F1",
    "bleu": "BLEU",
    "chrf": "chrF",
}
BLEU_ORDER = re.compile(r"bleu[_-]?(\d)")


def readable(score: str) -> str:
    """A score's name for a person.

    >>> readable("macro_f1"), readable("tag_accuracy"), readable("bleu_4")
    ('macro F1', 'tag accuracy', 'BLEU-4')
    """
    order = BLEU_ORDER.fullmatch(score)
    return f"BLEU-{order[1]}" if order else NAMES.get(score, score.replace("_", " "))


@dataclass(frozen=True)
class Metric:
    """A function of (answers, references), an item of each for each example of the split.

    of: what it compares, if not anything: labels, tags or texts (`Experiment.compared`)
    """

    function: Callable[..., object]
    higher_is_better: bool = True
    of: str = ""

    @property
    def summary(self) -> str:
        """The first line of its docstring, and which way is better where that is not up."""
        line = (self.function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        return line if self.higher_is_better else f"{line} (lower is better)".strip()


METRICS: Registry[Metric] = Registry(
    names.METRICS,
    {
        "word-error-rate": Metric(word_error_rate, higher_is_better=False, of="texts"),
        "character-error-rate": Metric(character_error_rate, higher_is_better=False, of="texts"),
    },
)


def register(name: str, part: object, *, higher_is_better: bool) -> None:
    """Add a user-defined metric."""
    function = as_function("metric", name, part, "answers", "references")
    METRICS.register(name, Metric(function, higher_is_better), Origin.registered(part))


class Compared:
    """The answers to a split and their references, for the metrics of these names; without any, nothing is kept.

    >>> compared = Compared(["word-error-rate"])
    >>> compared.add("a dog", ["a cat", "the cat"])
    >>> compared.scores()
    {'word-error-rate': 0.5}
    """

    def __init__(self, metrics: Sequence[str]) -> None:
        self.metrics = tuple(metrics)
        self.answers: list[object] = []
        self.references: list[object] = []

    def add(self, answer: object, reference: object) -> None:
        """An answer, and what it is compared with: a label, a list of tags, or the texts that would be right."""
        if self.metrics:
            self.answers.append(answer)
            self.references.append(reference)

    def scores(self) -> dict[str, float]:
        """Each metric's number."""
        return {name: self.score(name) for name in self.metrics}

    def score(self, name: str) -> float:
        """One metric's number; an error in a user-defined metric is one sentence, with the line that raised it."""
        function = METRICS[name].function
        value = call("metric", name, function, lambda: function(list(self.answers), list(self.references)))
        if isinstance(value, SupportsFloat) and not isinstance(value, bool):
            with suppress(TypeError, ValueError, RuntimeError, OverflowError):  # of an array of several
                return float(value)
        raise misfit("metric", name, function, f"returned {shown(value)}, not a number", "Return a float")
