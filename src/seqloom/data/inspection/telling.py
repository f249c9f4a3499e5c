"""Sentences about what stands more than once."""

from seqloom.data.inspection.gathered import Gathered, share
from seqloom.data.inspection.repeats import Contents, Repeated
from seqloom.data.split import PARTS, TEST, TRAIN, VALID
from seqloom.data.wording import counted

MANY = 0.05  # of a part that repeats itself: more is a warning
LEAK = 0.01  # of a part that another has too: more is a warning
WRONG = 0.01  # of answers that contradict others: more is a warning


def tell_repeats(contents: Contents, noun: str, which: str, answers: str, found: Gathered) -> None:
    """Duplicates within files of a part, overlap between them, contradictions."""
    repeated = contents.repeated()
    tell_again(repeated, noun, which, found)
    tell_shared(repeated, noun, which, found)
    against, wrong = repeated.contradictions()
    total = sum(contents.sizes.values())
    verb = "has" if against.count == 1 else "have"
    sentence = (
        f"{counted(against.count, noun)}{which} {verb} different {answers}, so that at least "
        f"{wrong:,} of {total:,} ({share(wrong, total)}) can't be predicted correctly"
    )
    found.add(
        "warning" if wrong > WRONG * total else "note", against, sentence, f"Check which of the {answers} are meant"
    )


def tell_again(repeated: Repeated, noun: str, which: str, found: Gathered) -> None:
    """Duplicates within files of a part.

    A split of seqloom's own goes by content, so that what is equal is in one part: its parts are not looked at apart.
    """
    contents = repeated.contents
    for part in PARTS:
        again, size = repeated.within(part), contents.sizes[part]
        sentence = f"{counted(again.count, noun)}{which} of {part} ({share(again.count, size)})"
        many = again.count > MANY * size
        do = "Remove them, unless they should count more" if many else "Nothing to do, if they are meant"
        found.add("warning" if many else "note", again, f"{sentence} repeat{s(again.count)} an earlier one", do)


def tell_shared(repeated: Repeated, noun: str, which: str, found: Gathered) -> None:
    """What files of two parts both have."""
    contents = repeated.contents
    for part, other in ((VALID, TRAIN), (TEST, TRAIN), (TEST, VALID)):
        both, size = repeated.shared(part, other), contents.sizes[part]
        verb = "is" if both.count == 1 else "are"
        sentence = f"{counted(both.count, noun)}{which} of {part} ({share(both.count, size)}) {verb}"
        do = f"Remove from {other} what {part} has, or scores on {part} will be too good"
        found.add("warning" if both.count > LEAK * size else "note", both, f"{sentence} in {other} too", do)


def s(count: int) -> str:
    """The ending of a verb.

    >>> f"1 text repeat{s(1)}, 2 texts repeat{s(2)}"
    '1 text repeats, 2 texts repeat'
    """
    return "s" if count == 1 else ""
