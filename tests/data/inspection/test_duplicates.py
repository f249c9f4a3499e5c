"""Sorted hashes find the same repeated texts as dictionaries."""

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.inspection.duplicates import TextIndex
from seqloom.data.inspection.findings import MAX_LOCATIONS
from seqloom.data.records import Location
from seqloom.data.split import SPLITS

rows = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(SPLITS), st.sampled_from("xyz")), max_size=30)


@given(rows)
def test_duplicates_equal_those_of_dictionaries(rows: list[tuple[str, str, str]]) -> None:
    contents = TextIndex()
    answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line, (text, split, answer) in enumerate(rows, 1):
        contents.add(text, split, (answer,), Location(split, line))
        answers[text][answer] += 1
    repeated = contents.duplicates()
    for split in SPLITS:
        seen: set[str] = set()
        again = []
        for line, (text, own_split, _) in enumerate(rows, 1):
            if own_split == split:
                again += [f"{split}:{line}"] if text in seen else []
                seen.add(text)
        assert repeated.within(split).count == len(again)
        assert repeated.within(split).locations == again[:MAX_LOCATIONS]
        for other in set(SPLITS) - {split}:
            other_texts = {text for text, own_split, _ in rows if own_split == other}
            assert repeated.shared(split, other).count == sum(text in other_texts and p == split for text, p, _ in rows)
    tally, wrong = repeated.contradictions()
    assert tally.count == sum(len(counts) > 1 for counts in answers.values())
    assert wrong == sum(counts.total() - max(counts.values()) for counts in answers.values())
    assert len(tally.locations) == min(2 * tally.count, MAX_LOCATIONS // 2 * 2)


def test_a_text_takes_twenty_bytes() -> None:
    contents = TextIndex()
    columns = (contents.hashes, contents.answers, contents.locations)
    assert sum(column.itemsize for column in columns) == 20
