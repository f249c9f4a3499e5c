"""The report of language modeling."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

from seqloom.tasks.task_report import Answer, TaskReport, fit_line
from seqloom.views.format import one_line, rounded
from seqloom.views.terminal import fit


class LanguageReport(TaskReport):
    """Scores, and how likely a text is. Samples generated during training are events of the run."""

    @classmethod
    def answer_lines(cls, answer: Answer, width: int | None) -> Iterator[Text]:
        """The perplexity of the text, and the likeliest next tokens."""
        name = "perplexity" if "perplexity" in answer else "loss"
        value = answer.get(name)
        score = f"{name} {rounded(value)}" if isinstance(value, int | float) else f"{name} –"
        line = Text().append(score, "bold green").append("  ")
        yield line.append(fit_line(answer["text"], width, cell_len(line.plain)))
        following = "  ".join(f"{one_line(token['token'])!r} {token['probability']:.2f}" for token in answer["next"])
        yield Text(f"    next: {fit(following, width - 10) if width else following}", "dim")


REPORT = LanguageReport
