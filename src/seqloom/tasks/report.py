"""What people see of a task: sections of a run's report, lines of the terminal. A task says it in its `report.py`."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from rich.text import Text

from seqloom.views.figure import Drawing, Figure
from seqloom.views.format import one_line, short
from seqloom.views.html import Block, Section
from seqloom.views.terminal_cells import fit

Answer: TypeAlias = Mapping[str, Any]  # of `Task.predict`


class Remark(NamedTuple):
    """A line of the terminal: a word at its left, and what it says beside that."""

    word: str
    text: str | Text
    style: str = "bold cyan"  # of the word


Shown: TypeAlias = Remark | Text | Figure
"""What the terminal shows: a remark, a line without a word at its left, or a figure."""


class TaskReport:
    """What people see of an evaluation, and of answers. Of a task that says no more: its scores, and answers by key.

    The evaluation may come from a run folder, which anyone may have written: nothing in it is trusted. What is missing
    or makes no sense is left out (`seqloom.views.lenient`). Nothing here needs torch.

    scores: by name, of the split that the details are about
    details: what `Evaluation.details` held
    """

    def __init__(self, scores: Mapping[str, object], details: Mapping[str, object]) -> None:
        self.scores, self.details = scores, details

    # The page --------------------------------------------------------------------------------------------------

    def score_notes(self) -> tuple[Block, ...]:
        """What stands below the scores, to judge them by."""
        return ()

    def sections(self) -> tuple[Section, ...]:
        """Sections about this task, in order. Those without blocks are left out."""
        return ()

    def drawings(self) -> dict[str, Drawing]:
        """Drawings that are also written beside the page, by the name of their SVG file."""
        return {}

    # The terminal ----------------------------------------------------------------------------------------------

    def examples_shown(self) -> Iterator[Shown]:
        """At the end of training, above the scores: examples of what the model does."""
        yield from ()

    def remarks(self) -> Iterator[Remark]:
        """Below the scores: what to compare them with, and what is wrong with them."""
        yield from ()

    def evaluation(self) -> Iterator[Shown]:
        """All that `seqloom evaluate` shows below the scores."""
        yield from self.remarks()

    @classmethod
    def answer_lines(cls, answer: Answer, width: int | None) -> Iterator[Text]:
        """An answer of `predict`, in lines of at most `width` columns; as long as they are where it is None.

        >>> [line.plain for line in TaskReport.answer_lines({"text": "two words", "words": 2, "mean": 1 / 3}, 80)]
        ['text: two words', 'words: 2', 'mean: 0.3333', '']
        """
        for key, value in answer.items():
            line = f"{key}: {short(value) if isinstance(value, float) else value}"
            yield Text(clipped(line, width, 0))
        yield Text()


def clipped(text: str, width: int | None, used: int) -> str:
    """As much of a text as there is room for in the line."""
    return one_line(text) if width is None else fit(text, max(width - used, 10))
