"""Translate to be translated: what a model reads of them, what an answer says of them, and which it can't use."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.core.problem import UserError
from seqloom.data.source import DataSource
from seqloom.tasks.registry import experiment
from seqloom.tasks.translate.config import DATA_SPEC
from seqloom.tasks.translate.task import END_SIGN, Translate

PAIRS = [(f"one two {word}", f"un deux {word[::-1]}") for word in ("red", "green", "blue", "black", "white") * 4]


def made(folder: Path, rows: list[tuple[str, str]] = PAIRS, arch: str = "gru", **data: Any) -> Translate:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8")
    asked = {"train": str(path), "valid_share": 0.3, "tokenizer": "word", **data}
    chosen = experiment({"task": "translate", "model": {"arch": arch, "size": "tiny"}, "data": asked})
    return Translate.prepare(chosen, DataSource.resolve(chosen.data, DATA_SPEC).hashed())


def test_a_text_is_its_tokens_and_the_end(tmp_path: Path) -> None:
    source = made(tmp_path)
    read, told = source.encode_inputs(["one two", "two"])
    end, one, two = len(source.source_tokenizer), *source.source_tokenizer.encode("one two")
    assert read.source.tolist() == [[one, two, end], [two, end, 0]]
    assert read.lengths is not None
    assert read.lengths.tolist() == [3, 2]
    assert told == [
        {"text": "one two", "source_tokens": ["one", "two", END_SIGN]},
        {"text": "two", "source_tokens": ["two", END_SIGN]},
    ]


@pytest.mark.parametrize("shared", [True, False])
def test_files_of_a_run_give_the_same_again(shared: bool, tmp_path: Path) -> None:
    task = made(tmp_path, shared_vocabulary=shared)
    restored = Translate.from_files(task.experiment, task.files())
    for each in (task, restored):
        assert (each.source_tokenizer is each.target) == shared
    assert restored.files() == task.files()
    assert set(task.files()) == {"source.json"} | ({"target.json"} if not shared else set())
    assert restored.encode_inputs(["one two red"])[1] == task.encode_inputs(["one two red"])[1]
    words = "for both" if shared else " and "
    assert words in task.describe()


def test_a_part_is_told_as_it_was_written(tmp_path: Path) -> None:
    task = made(tmp_path, [(f"One  two {i}", f"Un, deux {i}") for i in range(20)], lowercase=True)
    part = task.data.splits["train"]
    shown = task.source_details(part, 0)["text"]
    assert shown.startswith("One  two ")
    assert task.references(part, 0) == [f"Un, deux {shown.split()[-1]}"]
    assert task.source_positions(part, 0)["source_tokens"][:2] == ["one", "two"]


def refusal(source: Translate, *given: str) -> str:
    with pytest.raises(UserError) as error:
        source.encode_inputs(given)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_text_of_unknown_words_is_a_sentence(tmp_path: Path) -> None:
    source = made(tmp_path)
    what, do = "has no word in the model's vocabulary", "Give a text in the language that the run translates from"
    assert refusal(source, "one", "grün gelb") == f"text 2: 'grün gelb' {what}. {do}."
    assert source.encode_inputs(["one gelb"])[0].source.shape == (1, 3)  # one that it knows is enough


@pytest.mark.parametrize("arch", ["transformer", "gru"])
def test_a_text_longer_than_the_positions_allow(arch: str, tmp_path: Path) -> None:
    source = made(tmp_path, arch=arch, max_length=5)
    assert source.encode_inputs(["one " * 5])[0].source.shape == (1, 6)
    if arch == "gru":  # which has none
        assert source.encode_inputs(["one " * 50])[0].source.shape == (1, 51)
        return
    said = refusal(source, "one", "one " * 6)
    assert said.startswith("text 2: 6 tokens, but the model reads at most 5. Split it, or train with data.max_len")


def test_an_encoder_with_positions_limits_a_decoder_without(tmp_path: Path) -> None:
    chosen = made(tmp_path).experiment
    for encoder, limit in (("transformer", 128), ("mixer", 128), ("lstm", None), ("conv", None)):
        model = chosen.model.model_copy(update={"encoder": encoder})
        task = Translate.from_files(chosen.model_copy(update={"model": model}), made(tmp_path).files())
        assert task.input_limit() == limit


@pytest.mark.parametrize("on_ratio", ["keep", "drop"])
def test_pairs_that_hardly_belong_together_are_told(on_ratio: str, tmp_path: Path) -> None:
    rows = [*PAIRS[:7], ("one", "un " * 12), ("two " * 30, "deux"), *PAIRS[7:]]
    task = made(tmp_path, rows, on_ratio=on_ratio, valid_share=0.1)
    kept = sum(len(part) for part in task.data.splits.values())
    dropped = len(rows) - kept
    assert (dropped > 0) == (on_ratio == "drop")
    what = f"; 2 pairs with more than 9 times the tokens on one side, {dropped} of them dropped, the first at "
    assert what in task.describe()
    assert "pairs.tsv:" in task.describe().partition(what)[2]
    assert "times the tokens" not in made(tmp_path).describe()
