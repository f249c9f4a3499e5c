"""Pairs made ready: nothing lost, no source on both sides of a split, one vocabulary or two."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.data import paired as module
from seqloom.data.origin import Origin
from seqloom.data.paired import PairedData, PairedPart, paired, paired_to_test
from seqloom.data.split import TEST, TRAIN, VALID, part_of
from seqloom.spec.errors import DataError
from seqloom.tasks.registry import experiment

Row = tuple[str, str]
ROWS: list[Row] = [(f"text number {i}", f"texte numéro {i}") for i in range(200)]
LONG: Row = ("learnt", "un " * 100 + "fin")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def saved(name: str, rows: list[Row]) -> str:
    Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    return name


def origin(**data: Any) -> Origin:
    return Origin.of(experiment({"task": "translate", "data": {"train": "a.tsv", "vocabulary": 400, **data}}))


def made(rows: list[Row], **data: Any) -> PairedData:
    saved("a.tsv", rows)
    return paired(origin(**data))


def told(part: PairedPart) -> list[Row]:
    """The rows of a part as they were."""
    both = (part.source_texts, part.target_texts)
    return [tuple(bytes(side[row]).decode() for side in both) for row in range(len(part))]  # type: ignore[misc]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tokeniser", ["bpe", "character"])
def test_every_row_is_in_one_part_and_decodes(shared: bool, tokeniser: str) -> None:
    data = made(ROWS, test_share=0.2, tokeniser=tokeniser, shared_vocabulary=shared)
    assert sorted(row for part in data.parts.values() for row in told(part)) == sorted(ROWS)
    for part in data.parts.values():
        assert part.rows is part.source
        for row, (source, target) in enumerate(told(part)):
            assert data.source.decode(part.source[row].tolist()) == source
            assert data.target.decode(part.target[row].tolist()) == target
            assert ROWS[part.line[row] - 1] == (source, target)
    assert (data.cut, data.skipped, data.odd, data.odd_at, data.dropped) == (0, 0, 0, None, 0)


def test_one_vocabulary_for_both_sides_or_one_each() -> None:
    both = made(ROWS, tokeniser="character", shared_vocabulary=True)
    assert both.source is both.target
    assert {"x", "é", "b"} <= set(both.source.learned.tokens)
    apart = made(ROWS, tokeniser="character", shared_vocabulary=False)
    assert "é" not in apart.source.learned.tokens
    assert "b" not in apart.target.learned.tokens


def test_the_tokenisers_learn_from_the_training_part_alone() -> None:
    source = next(text for i in range(10_000) if part_of(text := f"Ω {i}", 1, 0.1, 0.0) == VALID)
    data = made([*ROWS, (source, "Ψ")], tokeniser="character")
    assert not {"Ω", "Ψ"} & set(data.source.learned.tokens)
    assert (source, "Ψ") in told(data.parts[VALID])


def test_a_source_never_straddles() -> None:
    data = made([(source, f"{target} {n}") for source, target in ROWS for n in range(3)], test_share=0.2)
    parts = [{source for source, _ in told(part)} for part in data.parts.values()]
    assert len(set.union(*parts)) == sum(map(len, parts)) == 200


def test_files_line_by_line_are_as_a_table() -> None:
    table = made(ROWS, valid=saved("v.tsv", ROWS[:9]))
    for name, rows in (("a", ROWS), ("v", ROWS[:9])):
        for ending, side in (("en", 0), ("fr", 1)):
            Path(f"{name}.{ending}").write_text("".join(row[side] + "\n" for row in rows))
    lines = paired(origin(train=["a.en", "a.fr"], valid=["v.en", "v.fr"]))
    for part in (TRAIN, VALID):
        assert told(lines.parts[part]) == told(table.parts[part])
        assert np.array_equal(lines.parts[part].target.flat, table.parts[part].target.flat)
    assert [lines.parts[part].files[lines.parts[part].file[0]].number for part in (TRAIN, VALID)] == [0, 2]


def test_which_side_is_the_source_is_told_to_the_cache() -> None:
    for name, text in (("a.en", "one"), ("a.fr", "un"), ("b.en", "two"), ("b.fr", "deux")):
        Path(name).write_text("".join(f"{text} {i}\n" for i in range(60)))
    first = paired(origin(train=["a.en", "a.fr", "b.fr", "b.en"]))
    for one, other in (("b.en", "x"), ("b.fr", "b.en"), ("x", "b.fr")):
        Path(one).rename(other)
    second = paired(origin(train=["a.en", "a.fr", "b.en", "b.fr"]))  # the same contents in the same order
    sources = [{source.split()[0] for source, _ in told(data.parts[TRAIN])} for data in (first, second)]
    assert sources == [{"one", "two"}, {"one", "deux"}]


def test_both_sides_are_cut_and_counted() -> None:
    data = made([*ROWS, ("one " * 30, "un " * 60), ("x", "a b c d e f g")], tokeniser="word", max_length=4)
    assert data.cut == 2
    assert max(side.lengths().max() for part in data.parts.values() for side in (part.source, part.target)) == 4
    assert any(source == ("one " * 30).strip() for part in data.parts.values() for source, _ in told(part))


def test_odd_pairs_are_reported_and_kept() -> None:
    data = made([*ROWS, LONG, ("x " * 100, "y")], max_ratio=9, tokeniser="word")
    assert (data.odd, data.odd_at, data.dropped) == (2, "a.tsv:201", 0)
    assert LONG in [row for part in data.parts.values() for row in told(part)]
    Path("a.tsv").rename("b.tsv")
    assert paired(origin(train="b.tsv", max_ratio=9, tokeniser="word")).odd_at == "b.tsv:201"


def test_odd_pairs_are_dropped_from_training_alone() -> None:
    saved("v.tsv", [*ROWS[:5], LONG])
    data = made([*ROWS, LONG], valid="v.tsv", on_ratio="drop", max_ratio=9, tokeniser="word")
    assert (data.odd, data.dropped) == (2, 1)
    assert told(data.parts[TRAIN]) == ROWS
    assert LONG in told(data.parts[VALID])


def test_a_ratio_that_is_just_allowed() -> None:
    data = made([*ROWS, ("a", "b " * 9)], max_ratio=9, tokeniser="word")
    assert data.odd == 0


def test_nothing_may_be_left_to_choose_by() -> None:
    rows = [row for row in ROWS if part_of(row[0], 1, 0.1, 0.0) == TRAIN][:8]
    with pytest.raises(DataError, match=r"^a\.tsv: no example is left for the valid part"):
        made(rows)


def test_bad_lines_are_counted_once() -> None:
    saved("a.tsv", [*ROWS, ("alone", ""), ("", "seul")])
    assert paired(origin(on_bad_line="skip")).skipped == 2
    with pytest.raises(DataError, match=r"^a\.tsv:201: the target is empty"):
        paired(origin())


@pytest.mark.parametrize("shared", [True, False])
def test_the_second_time_comes_from_the_cache(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(ROWS, shared_vocabulary=shared)
    monkeypatch.setattr(module, "make", None)  # not called
    again = paired(origin(shared_vocabulary=shared))
    assert [told(part) for part in again.parts.values()] == [told(part) for part in first.parts.values()]
    assert (again.source is again.target) == shared
    assert again.target.learned == first.target.learned
    with pytest.raises(TypeError):
        paired(origin(shared_vocabulary=not shared))


@pytest.mark.parametrize("files", [["t.tsv"], ["t.en", "t.fr"]])
def test_files_to_test_on_are_told_in_the_runs_tokens(files: list[str]) -> None:
    data = made(ROWS, shared_vocabulary=False)
    saved("t.tsv", [("text 5", "texte 5"), LONG])
    Path("t.en").write_text("text 5\nlearnt\n")
    Path("t.fr").write_text(f"texte 5\n{LONG[1]}\n")
    test = Origin.to_test(experiment({"task": "translate", "data": {"on_ratio": "drop", "max_ratio": 2}}), files)
    read = paired_to_test(test, Path("out"), data.source, data.target)
    assert list(read.parts) == [TEST]
    assert told(read.parts[TEST]) == [("text 5", "texte 5"), LONG]
    assert (read.source, read.target) == (data.source, data.target)
    assert (read.odd, read.odd_at, read.dropped) == (1, f"{files[0]}:2", 0)
    assert data.target.decode(read.parts[TEST].target[0].tolist()) == "texte 5"


def test_the_embedded_numbers() -> None:
    data = paired(origin(train=(), examples=300, source_language="de", target_language="es", test_share=0.05))
    assert sum(map(len, data.parts.values())) == 300
    assert set(data.parts) == {TRAIN, VALID, TEST}
