"""A run's answer as a person reads it."""

from collections.abc import Callable, Iterator
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from seqloom.views.numbers import short
from seqloom.views.terminal import characters, fit
from seqloom.views.text import one_line

OTHERS = 3  # labels beside the likeliest
WHY_CUT = {
    "length": "--length allows more tokens",
    "positions": "the model's positions allow {:,} tokens; train with a larger --data.max-length",
    "rules": "the options leave no token to write",
}

Answer = dict[str, Any]


def answer_lines(task: str, answer: Answer, width: int | None) -> Iterator[Text]:
    """Lines of at most `width` columns; as long as they are where nobody reads them (None)."""
    return FORMS[task](answer, width)


def label_lines(answer: Answer, width: int | None) -> Iterator[Text]:
    """`positive 0.97   A fine film.`, and below it what else it might be."""
    told: dict[str, float] = answer["probabilities"]
    chosen = answer["labels"] if "labels" in answer else [answer["label"]]
    line = Text()
    for label in chosen:
        line.append(one_line(label), "bold green").append(f" {told[label]:.2f}  ")
    if not chosen:
        line.append("no label", "bold yellow").append("  ")
    yield line.append(clipped(answer["text"], width, cell_len(line.plain)))
    others = [name for name in told if name not in chosen][:OTHERS]
    if others:
        words = "  ".join(f"{one_line(name)} {told[name]:.2f}" for name in others)
        yield Text(f"    {fit(words, width - 4) if width else words}", "dim")
    if answer["cut"]:
        yield Text("    too long: only its beginning was read", "yellow")


def tag_lines(answer: Answer, width: int | None) -> Iterator[Text]:
    """Words, and their tags below them; as many in a row as fit."""
    words, tags = ([one_line(each) for each in answer[name]] for name in ("words", "tags"))
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


def written_lines(answer: Answer, width: int | None) -> Iterator[Text]:
    """A translation or a description, what it is of, and what else it might be."""
    name = "translation" if "translation" in answer else "caption"
    several = answer.get("n_best", [answer])
    for place, each in enumerate(several, 1):
        line = Text(f"{place}. ", "dim") if len(several) > 1 else Text()
        line.append(one_line(each[name]) or "(nothing)", "bold green")
        yield line.append(f"  {each['score']:.2f}" if len(several) > 1 else "", "dim")
        if not each["ended"]:
            yield Text(f"    not ended: {WHY_CUT[each['cut_by']].format(len(each['tokens']))}", "yellow")
    source = answer["text"] if "text" in answer else answer["image"]
    yield Text(f"    {clipped(source, width, 4)}", "dim")


def show_attention(console: Console, answer: Answer) -> None:
    """Where the model looked for each token that it wrote; nothing if it did not look."""
    from seqloom.lens.alignment import alignment

    if "attention" not in answer:
        console.print(Text("this model has no attention to show", "yellow"))
        return
    using = characters(console.encoding)
    for line in alignment(answer).terminal(min(console.width, 120), using):
        console.print(Text(line), soft_wrap=True)
    console.print()


def likelihood_lines(answer: Answer, width: int | None) -> Iterator[Text]:
    """How surprising the text is, and what may follow it."""
    perplexity = answer.get("perplexity")
    told = f"perplexity {short(perplexity)}" if isinstance(perplexity, int | float) else "perplexity –"
    line = Text().append(told, "bold green").append("  ")
    yield line.append(clipped(answer["text"], width, cell_len(line.plain)))
    after = "  ".join(f"{one_line(each['token'])!r} {each['probability']:.2f}" for each in answer["next"])
    yield Text(f"    next: {fit(after, width - 10) if width else after}", "dim")


def clipped(text: str, width: int | None, used: int) -> str:
    """As much of a text as there is room for in the line."""
    return one_line(text) if width is None else fit(text, max(width - used, 10))


FORMS: dict[str, Callable[[Answer, int | None], Iterator[Text]]] = {
    "classify": label_lines,
    "tag": tag_lines,
    "language": likelihood_lines,
    "translate": written_lines,
    "caption": written_lines,
}
