"""The report of classification."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

from seqloom.tasks.label_report import LabelReport
from seqloom.tasks.task_report import Answer, fit_line
from seqloom.views.format import one_line
from seqloom.views.terminal import fit

OTHERS = 3  # labels beside the likeliest


class ClassifyReport(LabelReport):
    @classmethod
    def answer_lines(cls, answer: Answer, width: int | None) -> Iterator[Text]:
        """A line such as `positive 0.97   A fine film.`, and the next likeliest labels below it."""
        probabilities: dict[str, float] = answer["probabilities"]
        chosen = answer["labels"] if "labels" in answer else [answer["label"]]
        line = Text()
        for label in chosen:
            line.append(one_line(label), "bold green").append(f" {probabilities[label]:.2f}  ")
        if not chosen:
            line.append("no label", "bold yellow").append("  ")
        yield line.append(fit_line(answer["text"], width, cell_len(line.plain)))
        others = [name for name in probabilities if name not in chosen][:OTHERS]
        if others:
            words = "  ".join(f"{one_line(name)} {probabilities[name]:.2f}" for name in others)
            yield Text(f"    {fit(words, width - 4) if width else words}", "dim")
        if answer["cut"]:
            yield Text("    truncated: only the beginning was read", "yellow")


REPORT = ClassifyReport
