"""Splits by content, and text cut at positions that depend on the text alone."""

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import DataError
from seqloom.data.split import (
    SPLITS,
    TEST,
    TRAIN,
    VALID,
    ChunkReader,
    batched,
    check_filled,
    split_at_lines,
    split_by_content,
)

texts = st.text("ab\n", max_size=60)


def chunked(text: str, cuts: list[int]) -> list[str]:
    """The text in chunks that end at these positions."""
    ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


cuts = st.lists(st.integers(0, 60), max_size=6)


@pytest.mark.parametrize(("valid", "test"), [(0.1, 0.0), (0.1, 0.1), (0.5, 0.25), (0.0, 0.0)])
def test_splits_have_about_their_shares(valid: float, test: float) -> None:
    counts = Counter(split_by_content(f"text {i}", 1, valid, test) for i in range(4000))
    for split, share in ((VALID, valid), (TEST, test), (TRAIN, 1 - valid - test)):
        assert abs(counts[split] / 4000 - share) < 0.03
        assert share or not counts[split]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 2**63 - 1))
def test_equal_contents_are_in_one_split(content: str, seed: int) -> None:
    assert split_by_content(content, seed, 0.3, 0.3) == split_by_content(str(content), seed, 0.3, 0.3) in SPLITS


def test_a_larger_validation_share_keeps_its_examples_and_the_test_split() -> None:
    for i in range(500):
        small, large = split_by_content(str(i), 1, 0.1, 0.2), split_by_content(str(i), 1, 0.3, 0.2)
        assert (small == TEST) == (large == TEST)
        assert small != VALID or large == VALID


def test_another_seed_is_another_split() -> None:
    splits = {tuple(split_by_content(str(i), seed, 0.3, 0) for i in range(100)) for seed in range(5)}
    assert len(splits) == 5


def test_a_split_without_examples_is_refused() -> None:
    check_filled("a.csv", [TRAIN, VALID])
    for splits, missing in (([TRAIN], VALID), ([VALID, TEST], TRAIN)):
        with pytest.raises(DataError, match=rf"a\.csv: no example is left for the {missing} split\. Give more"):
            check_filled("a.csv", splits)


@given(texts, cuts, st.lists(st.integers(0, 30), max_size=5))
def test_reads_continue_where_the_last_one_ended(text: str, cuts: list[int], sizes: list[int]) -> None:
    reader, at = ChunkReader(chunked(text, cuts)), 0
    for size in sizes:
        chunks = list(reader.read(size))
        assert "".join(chunks) == text[at : at + size]
        assert all(chunks)
        at += size


def test_no_chunk_is_read_before_it_is_needed() -> None:
    def chunks() -> Iterator[str]:
        yield "abc"
        yield "def"
        raise AssertionError("read on")

    assert "".join(ChunkReader(chunks()).read(6)) == "abcdef"


@given(st.lists(st.text(max_size=9)), st.integers(1, 20))
def test_batches_by_size_have_all_items_and_end_at_the_size(items: list[str], size: int) -> None:
    groups = list(batched(items, size, len))
    assert [item for group in groups for item in group] == items
    assert all(sum(map(len, group[:-1])) < size for group in groups)
    assert all(sum(map(len, group)) >= size for group in groups[:-1])


@given(texts, cuts, st.integers(1, 20))
def test_chunks_join_to_the_text_and_do_not_depend_on_its_parts(text: str, cuts: list[int], size: int) -> None:
    chunks = list(split_at_lines(chunked(text, cuts), size))
    assert "".join(chunks) == text
    assert chunks == list(split_at_lines([text], size)) == list(split_at_lines(text, size))
    assert all(0 < len(chunk) <= size for chunk in chunks)


@given(texts, st.integers(1, 20))
def test_a_chunk_ends_at_a_line_end_where_possible(text: str, size: int) -> None:
    *chunks, _ = [*split_at_lines([text], size), ""]
    for chunk in chunks[:-1]:
        assert chunk.endswith("\n") or "\n" not in chunk
        assert chunk.endswith("\n") or len(chunk) == size


@given(st.lists(st.integers()), st.integers(1, 5))
def test_batches_have_all_items_in_order(items: list[int], size: int) -> None:
    groups = list(batched(items, size))
    assert [item for group in groups for item in group] == items
    assert all(len(group) == size for group in groups[:-1])
    assert all(groups)
