"""Where examples come from: files by part, or a corpus; and what the cache is told of it."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.data.lines import Skipped, refuse
from seqloom.data.origin import Origin
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.spec.errors import DataError, UserError
from seqloom.tasks.registry import experiment

CSV = "text,label\ngood film,pos\nbad film,neg\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def origin(task: str, seed: int = 1, **data: Any) -> Origin:
    return Origin.of(experiment({"task": task, "data": {"seed": seed, **data}}))


def test_files_of_each_part() -> None:
    for name in ("a.txt", "b.txt", "v.txt"):
        Path(name).write_text(f"{name} says\n")
    found = origin("language", train=["[ab].txt"], valid="v.txt")
    assert found.names() == ["a.txt", "b.txt", "v.txt"]
    assert [found.has(part) for part in (TRAIN, VALID, TEST)] == [True, True, False]
    assert "".join(found.text(VALID)) == "v.txt says\n"
    assert found.corpus is None


def test_nothing_named_is_the_tasks_own_corpus() -> None:
    for task, corpus in (("language", "python"), ("classify", "numbers"), ("tag", "python"), ("translate", "numbers")):
        found = origin(task)
        assert found.corpus == corpus == found.names()[0]
        assert found.has(TRAIN)


def test_a_corpus_without_the_task_names_one_with_it() -> None:
    with pytest.raises(UserError, match=r"brackets has nothing for classify .* Use numbers"):
        next(origin("classify", corpus="brackets").labelled(TRAIN, refuse))


def test_a_corpus_is_made_anew_for_each_reading() -> None:
    found = origin("tag", corpus="copy", examples=10, length=3)
    assert list(found.sentences(TRAIN, refuse)) == list(found.sentences(TRAIN, refuse))
    assert len(list(found.sentences(TRAIN, refuse))) == 10


def test_a_file_that_the_task_can_not_read_is_refused_at_once() -> None:
    Path("a.csv").write_text(CSV)
    with pytest.raises(DataError, match=r"a\.csv: a csv file, and tag reads"):
        origin("tag", train="a.csv")
    with pytest.raises(DataError, match="no such file"):
        origin("classify", train="a.cvs")
    with pytest.raises(DataError, match=r"a\.csv: a csv file"):
        Origin.to_test(experiment({"task": "tag"}), ["a.csv"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", CSV),
        ("a.tsv", CSV.replace(",", "\t")),
        ("a.jsonl", '{"text": "good film", "label": "pos"}\n{"text": "bad film", "label": "neg"}\n'),
    ],
)
def test_labelled_files_of_every_format(name: str, content: str) -> None:
    Path(name).write_text(content)
    found = origin("classify", train=name)
    assert [(each.text, each.labels) for each in found.labelled(TRAIN, refuse)] == [
        ("good film", ("pos",)),
        ("bad film", ("neg",)),
    ]
    assert found.columns() is not None


@pytest.mark.parametrize(
    ("names", "content"),
    [
        (["a.tsv"], ["en\tfr\ngood film\tbon film\nbad film\tmauvais film\n"]),
        (["a.en", "a.fr"], ["good film\nbad film\n", "bon film\nmauvais film\n"]),
        (["a.jsonl"], ['{"src": "good film", "tgt": "bon film"}\n{"src": "bad film", "tgt": "mauvais film"}\n']),
    ],
)
def test_pairs_of_every_format(names: list[str], content: list[str]) -> None:
    for name, text in zip(names, content, strict=True):
        Path(name).write_text(text)
    pairs = [("good film", "bon film"), ("bad film", "mauvais film")]
    found = origin("translate", train=names)
    assert [(pair.source, pair.target) for pair in found.pairs(TRAIN, refuse)] == pairs
    test = Origin.to_test(experiment({"task": "translate"}), names)
    assert [(pair.source, pair.target) for pair in test.pairs(TEST, refuse)] == pairs
    columns = found.columns()
    assert (columns is None) == (len(names) == 2)


def test_captions_and_their_columns() -> None:
    Path("a.csv").write_text("caption,file\na dog,1.jpg\n")
    found = origin("caption", train="a.csv")
    assert [(each.image, each.target) for each in found.captions(TRAIN, refuse)] == [("1.jpg", "a dog")]
    columns = found.columns()
    assert columns is not None
    assert columns.describe().startswith("image: 'file', caption: 'caption'")


def test_the_languages_of_pairs() -> None:
    found = origin("translate", source_language="de", target_language="en", examples=200, length=1)
    assert ("drei", "three") in [(pair.source, pair.target) for pair in found.pairs(TRAIN, refuse)]


def test_a_folder_has_no_columns() -> None:
    for name in ("pos", "neg"):
        (Path("films") / name).mkdir(parents=True)
        (Path("films") / name / "1.txt").write_text(f"a {name} film")
    found = origin("classify", train="films")
    assert found.columns() is None
    assert [each.labels for each in found.labelled(TRAIN, refuse)] == [("neg",), ("pos",)]


def test_bad_lines_as_the_config_says() -> None:
    Path("a.csv").write_text(CSV)
    assert origin("classify", train="a.csv").bad() is refuse
    assert isinstance(origin("classify", train="a.csv", on_bad_line="skip").bad(), Skipped)


def test_the_files_to_test_on_are_the_only_ones() -> None:
    Path("a.csv").write_text(CSV)
    found = Origin.to_test(experiment({"task": "classify"}), ["a.csv"])
    assert [found.has(part) for part in (TRAIN, VALID, TEST)] == [False, False, True]
    assert len(list(found.labelled(TEST, refuse))) == 2


def test_where_the_data_lay() -> None:
    Path("a.csv").write_text(CSV)
    told = origin("classify", train="a.csv").local()
    assert told["corpus"] is None
    [file] = told["files"]["train"]  # type: ignore[index]
    assert file["path"] == str(Path("a.csv").absolute())
    assert len(file["sha256"]) == 64


# What the cache is told: all that decides what is read, and nothing else.


def test_a_renamed_file_is_the_same_data() -> None:
    Path("a.csv").write_text(CSV)
    Path("b.csv").write_text(CSV)
    assert origin("classify", train="a.csv").ingredients() == origin("classify", train="b.csv").ingredients()


def test_a_name_that_changes_the_reading_is_other_data() -> None:
    Path("a.csv").write_text(CSV)
    Path("a.tsv").write_text(CSV)
    assert origin("classify", train="a.csv").ingredients() != origin("classify", train="a.tsv").ingredients()


def test_a_file_that_is_a_class_is_other_data_under_another_name() -> None:
    for name in ("pos.txt", "neg.txt", "great.txt"):
        Path(name).write_text("a film\n" if name != "neg.txt" else "no film\n")
    one, other = (origin("classify", train=[name, "neg.txt"]) for name in ("pos.txt", "great.txt"))
    assert one.prints == other.prints
    assert one.ingredients() != other.ingredients()


def test_what_decides_the_reading_is_told() -> None:
    Path("a.csv").write_text(CSV)
    Path("b.csv").write_text(CSV + "fine,pos\n")
    base = origin("classify", train="a.csv").ingredients()
    others = [
        origin("classify", train="b.csv"),
        origin("classify", train=["a.csv", "b.csv"]),
        origin("classify", train="a.csv", valid="b.csv"),
        origin("classify", seed=2, train="a.csv"),
        origin("classify", train="a.csv", max_length=3),
        origin("classify", train="a.csv", tokeniser="character"),
        origin("classify", train="a.csv", text="label"),
        origin("classify", corpus="numbers"),
        origin("classify", corpus="numbers", length=2),
        origin("classify", corpus="numbers", languages="en,fr"),
    ]
    told = [str(base), *(str(other.ingredients()) for other in others)]
    assert len(set(told)) == len(told)


def test_the_seed_is_told_where_something_is_drawn_from_it() -> None:
    for name in ("a.csv", "b.csv", "c.csv", "a.txt"):
        Path(name).write_text(CSV.replace("film", f"film in {name}"))

    def differs(task: str, **data: Any) -> bool:
        return origin(task, seed=1, **data).ingredients() != origin(task, seed=2, **data).ingredients()

    assert differs("classify", train="a.csv")
    assert differs("classify", train="a.csv", valid="b.csv", test_share=0.1)
    assert differs("language", corpus="brackets")
    assert differs("classify", corpus="numbers")
    assert not differs("language", train="a.txt", test_share=0.1)
    assert not differs("classify", train="a.csv", valid="b.csv")
    assert not differs("classify", train="a.csv", valid="b.csv", test="c.csv")


def test_the_languages_of_the_numbers() -> None:
    found = origin("classify", languages=["de", "th"], examples=50)
    assert {each.labels for each in found.labelled(TRAIN, refuse)} == {("de",), ("th",)}


@pytest.mark.parametrize("max_characters", [20, 2_000_000])
def test_a_bad_line_of_a_class_file_is_handled_as_the_config_says(max_characters: int) -> None:
    long = "x" * 1_000_001
    Path("pos.txt").write_bytes(b"caf\xe9\na fine film\n" + long.encode() + b"\n")
    Path("neg.txt").write_text("a bad film\n")
    found = origin("classify", train=["pos.txt", "neg.txt"], on_bad_line="skip", max_characters=max_characters)
    texts = [each.text for each in found.labelled(TRAIN, found.bad())]
    assert texts == ["a fine film", *([long] if max_characters > 20 else []), "a bad film"]
    strict = origin("classify", train=["pos.txt", "neg.txt"])
    with pytest.raises(DataError, match=r"^pos\.txt:1: the byte 0xE9 is not UTF-8"):
        list(strict.labelled(TRAIN, strict.bad()))


def test_a_class_file_without_a_good_line_is_not_a_table() -> None:
    Path("pos.txt").write_bytes(b"caf\xe9\n")
    Path("neg.txt").write_text("a bad film\n")
    found = origin("classify", train=["pos.txt", "neg.txt"], on_bad_line="skip")
    assert [each.text for each in found.labelled(TRAIN, found.bad())] == ["a bad film"]


def test_no_file_may_be_in_two_parts_under_whatever_name() -> None:
    """A score on what was learnt is no score."""
    Path("a.txt").write_text("one text\n")
    Path("b.txt").write_text("one text\n")
    with pytest.raises(DataError, match=r"b\.txt: the same content as a\.txt, which is in the train part\."):
        origin("language", train=["a.txt"], valid="b.txt")
