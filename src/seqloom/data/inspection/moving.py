"""What training does about labels and tags that its own split has kept back whole: it learns from their examples."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from seqloom.data.inspection.sources import Sources
from seqloom.data.split import TRAIN

Answered = tuple[str, str, tuple[str, ...]]  # the part that the file is of, a text, its labels or tags


def homeless(what: Sources, parts_of: Iterable[tuple[str, Counter[str]]]) -> set[str]:
    """Labels or tags that the training part lacks although the training files have them."""
    return {
        label
        for label, parts in parts_of
        if not parts[TRAIN] and any(not what.given(part) for part in parts if parts[part])
    }


def at_home(what: Sources, parts: Counter[str]) -> Counter[str]:
    """The same counts once what was kept back is in the training part."""
    settled: Counter[str] = Counter()
    for part, count in parts.items():
        settled[part if what.given(part) else TRAIN] += count
    return settled


def rows_after(
    what: Sources, again: Callable[[], Iterator[Answered]], moved_for: set[str], left_out: set[str]
) -> Counter[str]:
    """How many examples each part has in the end, by two more readings: equal texts move together."""
    moved = {
        content
        for part, content, answers in again()
        if part == TRAIN and moved_for.intersection(answers) and what.part_of(content, part) != TRAIN
    }
    rows: Counter[str] = Counter()
    for part, content, answers in again():
        if not left_out.intersection(answers):
            rows[TRAIN if part == TRAIN and content in moved else what.part_of(content, part)] += 1
    return rows
