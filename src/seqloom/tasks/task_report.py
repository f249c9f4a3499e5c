"""The interface of a task's report: sections of the HTML page, and lines of the terminal."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from rich.text import Text

from seqloom.views.figure import Drawing, Figure
from seqloom.views.format import one_line, rounded
from seqloom.views.html import Block, PageSection
from seqloom.views.terminal import fit

Answer: TypeAlias = Mapping[str, Any]  # of `Task.predict`


class Remark(NamedTuple):
    """A line of the terminal: a label at its left, in a style, and a text."""

    label: str
    text: str | Text
    style: str = "bold cyan"


TerminalItem: TypeAlias = Remark | Text | Figure
"""What the terminal shows: a remark, a line without a label, or a figure."""


class TaskReport:
    """The report of an evaluation, and of answers. By default: no more than the scores, and answers by key.

    The evaluation may come from a run folder that anyone may have written: nothing in it is trusted. What is missing
    or makes no sense is left out (`seqloom.views.lenient`). Nothing here needs torch.

    scores: by name, of the split that the details are about
    details: what `Evaluation.details` held
    """

    def __init__(self, scores: Mapping[str, object], details: Mapping[str, object]) -> None:
        self.scores, self.details = scores, details

    def score_notes(self) -> tuple[Block, ...]:
        """On the page, below the scores: what to compare them with."""
        return ()

    def sections(self) -> tuple[PageSection, ...]:
        """On the page: sections about this task, in order. Those without blocks are left out."""
        return ()

    def drawings(self) -> dict[str, Drawing]:
        """Drawings that are also written beside the page, by the name of their SVG file."""
        return {}

    def example_lines(self) -> Iterator[TerminalItem]:
        """At the end of training, above the scores: examples of what the model predicts."""
        yield from ()

    def remarks(self) -> Iterator[Remark]:
        """At the end of training, below the scores: what to compare them with, and warnings."""
        yield from ()

    def evaluation_lines(self) -> Iterator[TerminalItem]:
        """What `seqloom evaluate` shows below the scores."""
        yield from self.remarks()

    @classmethod
    def answer_lines(cls, answer: Answer, width: int | None) -> Iterator[Text]:
        """An answer of `predict`, in lines of at most `width` columns; of any length if it is None.

        >>> [line.plain for line in TaskReport.answer_lines({"text": "two words", "words": 2, "mean": 1 / 3}, 80)]
        ['text: two words', 'words: 2', 'mean: 0.3333', '']
        """
        for key, value in answer.items():
            line = f"{key}: {rounded(value) if isinstance(value, float) else value}"
            yield Text(fit_line(line, width, 0))
        yield Text()


def fit_line(text: str, width: int | None, used: int) -> str:
    """As much of a text as fits in the rest of a line."""
    return one_line(text) if width is None else fit(text, max(width - used, 10))
