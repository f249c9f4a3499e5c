"""Texts with labels made ready: nothing lost, no duplicate on both sides, labels that can be learnt."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seqloom.data import labelled as module
from seqloom.data.labelled import LabelledData, LabelledPart, labelled, write
from seqloom.data.lines import refuse
from seqloom.data.origin import Origin
from seqloom.data.split import TEST, TRAIN, VALID, part_of
from seqloom.spec.errors import DataError
from seqloom.tasks.registry import experiment

Row = tuple[str, str]
ROWS: list[Row] = [(f"text number {i}", "odd" if i % 2 else "even") for i in range(200)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def saved(name: str, rows: list[Row]) -> str:
    Path(name).write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    return name


def origin(**data: Any) -> Origin:
    return Origin.of(experiment({"task": "classify", "data": {"train": "a.tsv", **data}}))


def made(rows: list[Row], **data: Any) -> LabelledData:
    saved("a.tsv", rows)
    return labelled(origin(**data))


def told(data: LabelledData, part: LabelledPart) -> list[tuple[str, str]]:
    """The rows of a part as they were."""
    texts = (bytes(part.texts[row]).decode() for row in range(len(part)))
    labels = ("|".join(data.labels[label] for label in part.labels[row]) for row in range(len(part)))
    return list(zip(texts, labels, strict=True))


def kept_back(prefix: str, share: float = 0.1) -> str:
    """A text that the split keeps back from training."""
    return next(text for i in range(10_000) if part_of(text := f"{prefix} {i}", 1, share, 0.0) == VALID)


def test_every_row_is_in_one_part_and_decodes() -> None:
    data = made(ROWS, test_share=0.2, tokeniser="character")
    assert sorted(row for part in data.parts.values() for row in told(data, part)) == sorted(ROWS)
    for part in data.parts.values():
        for row in range(len(part)):
            assert data.tokeniser.decode(part.tokens[row].tolist()) == bytes(part.texts[row]).decode()
    assert abs(len(data.parts[TRAIN]) / 200 - 0.7) < 0.1
    assert data.labels.names == ("even", "odd")
    assert (data.several, data.cut, data.skipped) == (False, 0, 0)


def test_each_row_says_where_it_stood() -> None:
    data = made(ROWS)
    for part in data.parts.values():
        for row, (text, _) in enumerate(told(data, part)):
            assert ROWS[part.line[row] - 2][0] == text  # after a line of names
            assert part.file[row] == 0


def test_a_duplicate_never_straddles() -> None:
    data = made([row for row in ROWS for _ in range(3)], test_share=0.2)
    parts = [{text for text, _ in told(data, part)} for part in data.parts.values()]
    assert len(set.union(*parts)) == sum(map(len, parts)) == 200


def test_own_files_are_their_parts() -> None:
    saved("v.tsv", ROWS[:20])
    saved("t.tsv", ROWS[20:30])
    data = made(ROWS, valid="v.tsv", test="t.tsv")
    assert [told(data, data.parts[part]) for part in (TRAIN, VALID, TEST)] == [ROWS, ROWS[:20], ROWS[20:30]]
    assert [set(data.parts[part].file.tolist()) for part in (TRAIN, VALID, TEST)] == [{0}, {1}, {2}]


def test_the_tokeniser_learns_from_the_training_part_alone() -> None:
    data = made([*ROWS, (kept_back("Ω"), "odd")], tokeniser="character")
    assert "Ω" not in data.tokeniser.learned.tokens
    assert any(data.tokeniser.unknown in data.parts[VALID].tokens[row] for row in range(len(data.parts[VALID])))


def test_a_long_row_is_cut_and_counted() -> None:
    data = made([*ROWS, (" ".join("abcdefgh"), "odd")], max_length=4)
    assert data.cut == 1
    assert max(part.tokens.lengths().max() for part in data.parts.values()) == 4


def test_one_label_is_nothing_to_distinguish() -> None:
    with pytest.raises(DataError, match=r"^a\.tsv: only one label, 'x', so there is nothing to distinguish\."):
        made([(text, "x") for text, _ in ROWS])


def test_a_label_seen_once_is_refused() -> None:
    with pytest.raises(DataError, match=r"^a\.tsv:202: label 'rare' is seen once, .* --data\.on-rare-label skip"):
        made([*ROWS, ("a text", "rare")])
    with pytest.raises(DataError, match=r"^a\.tsv:202: label 'rare' is seen once \(and 1 other\)"):
        made([*ROWS, ("a text", "rare"), ("a text", "other")])


def test_a_label_seen_once_is_skipped() -> None:
    data = made([*ROWS, ("a text", "rare")], on_rare_label="skip")
    assert data.labels.names == ("even", "odd")
    assert sorted(row for part in data.parts.values() for row in told(data, part)) == sorted(ROWS)


def test_skipping_may_leave_one_label() -> None:
    with pytest.raises(DataError, match="only one label, 'x'"):
        made([*((text, "x") for text, _ in ROWS), ("a text", "rare")], on_rare_label="skip")


def test_a_label_seen_once_is_kept_where_it_can_be_learnt() -> None:
    text = kept_back("rare")
    data = made([*ROWS, (text, "rare")], on_rare_label="keep")
    assert data.labels.names == ("even", "odd", "rare")
    assert (text, "rare") in told(data, data.parts[TRAIN])


def test_labels_that_are_all_kept_back_are_learnt_from_instead() -> None:
    """Together with what says the same, so that no duplicate straddles."""
    one, other = kept_back("homeless"), kept_back("without a home")
    data = made([*ROWS, (one, "new"), (other, "new"), (one, "odd")])
    train = told(data, data.parts[TRAIN])
    assert {(one, "new"), (other, "new"), (one, "odd")} <= set(train)
    counts = Counter(label for _, label in train)
    assert counts["new"] == 2


def test_homeless_labels_are_moved_from_a_test_part_too_even_with_a_validation_file() -> None:
    text = next(text for i in range(10_000) if part_of(text := f"homeless {i}", 1, 0.0, 0.2) == TEST)
    saved("v.tsv", ROWS[:20])
    data = made([*ROWS, (text, "new"), (text, "new")], valid="v.tsv", test_share=0.2)
    assert (text, "new") in told(data, data.parts[TRAIN])


@pytest.mark.parametrize("part", ["valid", "test"])
def test_a_label_that_only_another_file_has_is_refused_and_never_learnt_from(part: str) -> None:
    saved("v.tsv", [*ROWS[:20], ("a text", "new"), ("a text too", "new")])
    with pytest.raises(DataError, match=r"^v\.tsv:22: label 'new' is not in the training part\."):
        made(ROWS, **{part: "v.tsv"})


def test_too_few_examples_leave_a_part_empty() -> None:
    rows = [row for row in ROWS if part_of(row[0], 1, 0.1, 0.0) == TRAIN][:8]
    with pytest.raises(DataError, match=r"^a\.tsv: no example is left for the valid part"):
        made(rows)


def test_several_labels_a_row() -> None:
    rows = [(text, f"{label}|{'big' if i > 100 else 'small'}") for i, (text, label) in enumerate(ROWS)]
    data = made(rows, label_separator="|")
    assert data.several
    assert data.labels.names == ("big", "even", "odd", "small")
    assert sorted(row for part in data.parts.values() for row in told(data, part)) == sorted(rows)


def test_lists_of_labels_are_several_and_may_be_none() -> None:
    rows = [{"text": text, "label": [label] if i % 5 else []} for i, (text, label) in enumerate(ROWS)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = labelled(origin(train="a.jsonl"))
    assert data.several
    assert min(part.labels.lengths().min() for part in data.parts.values()) == 0


def test_bad_lines_are_counted_once() -> None:
    saved("a.tsv", ROWS)
    with Path("a.tsv").open("a") as file:
        file.write("a\tb\tc\n")
    assert labelled(origin(on_bad_line="skip")).skipped == 1
    with pytest.raises(DataError, match=r"^a\.tsv:202:"):
        labelled(origin())


def test_the_second_time_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(ROWS)
    monkeypatch.setattr(module, "make", None)  # not called
    Path("a.tsv").rename("b.tsv")
    again = labelled(origin(train="b.tsv"))
    assert [told(again, part) for part in again.parts.values()] == [told(first, part) for part in first.parts.values()]
    with pytest.raises(TypeError):
        labelled(origin(train="b.tsv", lowercase=True))


def test_a_label_that_the_run_never_saw_has_a_place() -> None:
    data = made(ROWS)
    saved("t.tsv", [*ROWS[:3], ("a text", "new")])
    test = Origin.to_test(experiment({"task": "classify"}), ["t.tsv"])
    examples = ((TEST, example) for example in test.labelled(TEST, refuse))
    with pytest.raises(DataError, match=r"^t\.tsv:5: label 'new' is not one of the run's \(even, odd\)\."):
        write(test, Path("out"), data.tokeniser, data.labels, examples)
