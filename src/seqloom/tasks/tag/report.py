"""The report of tagging."""

from collections.abc import Iterator
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text

from seqloom.tasks.label_report import LabelReport
from seqloom.tasks.task_report import Answer
from seqloom.views.format import one_line


class TagReport(LabelReport):
    label: ClassVar[str] = "tag"

    @classmethod
    def answer_lines(cls, answer: Answer, width: int | None) -> Iterator[Text]:
        """Words, and their tags below them; as many per line as fit."""
        words, tags = ([one_line(text) for text in answer[name]] for name in ("words", "tags"))
        columns = [max(cell_len(word), cell_len(tag)) for word, tag in zip(words, tags, strict=True)]
        start = 0
        while start < len(words):
            end, used = start, 0
            while end < len(words) and (width is None or end == start or used + columns[end] <= width):
                used += columns[end] + 2
                end += 1
            some = range(start, end)
            yield Text("  ".join(words[i] + " " * (columns[i] - cell_len(words[i])) for i in some).rstrip())
            yield Text("  ".join(f"{tags[i]:<{columns[i]}}" for i in some).rstrip(), "bold green")
            start = end
        yield Text()


REPORT = TagReport
