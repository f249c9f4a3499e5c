"""The registry of metrics, and the name and the range of each score where people read it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from math import inf
from typing import NamedTuple, SupportsFloat

from seqloom.core import names
from seqloom.core.part import Part, register_function
from seqloom.core.registry import Registry
from seqloom.core.wording import short_repr
from seqloom.tasks.metrics.edit_distance import character_error_rate, word_error_rate


class ScoreInfo(NamedTuple):
    """A score for people. Files and options have its key in `SCORE_INFO`.

    low, high: the range of its values
    in_lines: whether the lines of the terminal show it; tables and the report show every score
    """

    name: str
    low: float = 0.0
    high: float = inf
    in_lines: bool = True

    @property
    def range(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def bounded(self) -> bool:
        return self.high < inf


SCORE_INFO = {  # in the order of the lines of the terminal
    "exact_match": ScoreInfo("exact match", high=1),
    "bleu": ScoreInfo("BLEU", high=100),
    "bleu_1": ScoreInfo("BLEU-1", high=100),
    "bleu_2": ScoreInfo("BLEU-2", high=100, in_lines=False),
    "bleu_3": ScoreInfo("BLEU-3", high=100, in_lines=False),
    "bleu_4": ScoreInfo("BLEU-4", high=100),
    "chrf": ScoreInfo("chrF", high=100),
    "accuracy": ScoreInfo("accuracy", high=1),
    "token_accuracy": ScoreInfo("token accuracy", high=1, in_lines=False),
    "sentence_accuracy": ScoreInfo("sentence accuracy", high=1, in_lines=False),
    "span_precision": ScoreInfo("span precision", high=1, in_lines=False),
    "span_recall": ScoreInfo("span recall", high=1, in_lines=False),
    "span_f1": ScoreInfo("span F1", high=1),
    "span_macro_f1": ScoreInfo("span macro F1", high=1, in_lines=False),
    "micro_f1": ScoreInfo("micro F1", high=1),
    "macro_f1": ScoreInfo("macro F1", high=1),
    "perplexity": ScoreInfo("perplexity", low=1),
    "bits_per_character": ScoreInfo("bits per character"),
    "loss": ScoreInfo("loss"),
    "word-error-rate": ScoreInfo("word error rate"),
    "character-error-rate": ScoreInfo("character error rate"),
}


def score_info(key: str) -> ScoreInfo:
    """The score with this key; one of a user-defined metric or task has its own name, and any range.

    >>> score_info("bleu_4").name, score_info("span_macro_f1").name, score_info("my_metric").name
    ('BLEU-4', 'span macro F1', 'my_metric')
    """
    return SCORE_INFO.get(key) or ScoreInfo(key, low=-inf)


def readable(key: str) -> str:
    """The name of a score where people read it."""
    return score_info(key).name


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
