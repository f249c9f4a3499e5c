"""Hashes, sorted, say of repeated texts what dictionaries would."""

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.inspection.duplicates import TextIndex
from seqloom.data.inspection.report import MAX_LOCATIONS
from seqloom.data.records import Location
from seqloom.data.split import SPLITS

rows = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(SPLITS), st.sampled_from("xyz")), max_size=30)


@given(rows)
def test_against_dictionaries(rows: list[tuple[str, str, str]]) -> None:
    contents = TextIndex()
    answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line, (text, part, answer) in enumerate(rows, 1):
        contents.add(text, part, (answer,), Location(part, line))
        answers[text][answer] += 1
    repeated = contents.duplicates()
    for part in SPLITS:
        seen: set[str] = set()
        again = []
        for line, (text, of_part, _) in enumerate(rows, 1):
            if of_part == part:
                again += [f"{part}:{line}"] if text in seen else []
                seen.add(text)
        assert repeated.within(part).count == len(again)
        assert repeated.within(part).locations == again[:MAX_LOCATIONS]
        for other in set(SPLITS) - {part}:
            there = {text for text, of_part, _ in rows if of_part == other}
            assert repeated.shared(part, other).count == sum(text in there and p == part for text, p, _ in rows)
    tally, wrong = repeated.contradictions()
    assert tally.count == sum(len(each) > 1 for each in answers.values())
    assert wrong == sum(each.total() - max(each.values()) for each in answers.values())
    assert len(tally.locations) == min(2 * tally.count, MAX_LOCATIONS // 2 * 2)


def test_a_text_takes_twenty_bytes() -> None:
    contents = TextIndex()
    columns = (contents.hashes, contents.answers, contents.locations)
    assert sum(column.itemsize for column in columns) == 20
