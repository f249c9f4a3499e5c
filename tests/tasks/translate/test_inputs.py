"""Texts to be translated: their encoding, the details of an answer, and texts that are refused."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.core.problem import UserError
from seqloom.data.source import DataSource
from seqloom.tasks.registry import experiment
from seqloom.tasks.translate.config import DATA_SPEC
from seqloom.tasks.translate.task import END_SIGN, Translate

PAIRS = [(f"one two {word}", f"un deux {word[::-1]}") for word in ("red", "green", "blue", "black", "white") * 4]


def translate_task(folder: Path, rows: list[tuple[str, str]] = PAIRS, arch: str = "gru", **data: Any) -> Translate:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    data_config = {"train": str(path), "valid_share": 0.3, "tokenizer": "word", **data}
    config = experiment({"task": "translate", "model": {"arch": arch, "size": "tiny"}, "data": data_config})
    return Translate.prepare(config, DataSource.resolve(config.data, DATA_SPEC).hashed())


def test_an_input_is_its_tokens_and_the_end_token(tmp_path: Path) -> None:
    task = translate_task(tmp_path)
    batch, details = task.encode_inputs(["one two", "two"])
    end, one, two = len(task.source_tokenizer), *task.source_tokenizer.encode("one two")
    assert batch.source.tolist() == [[one, two, end], [two, end, 0]]
    assert batch.lengths is not None
    assert batch.lengths.tolist() == [3, 2]
    assert details == [
        {"text": "one two", "source_tokens": ["one", "two", END_SIGN]},
        {"text": "two", "source_tokens": ["two", END_SIGN]},
    ]


@pytest.mark.parametrize("shared", [True, False])
def test_a_task_is_restored_from_the_files_of_its_run(shared: bool, tmp_path: Path) -> None:
    task = translate_task(tmp_path, shared_vocabulary=shared)
    restored = Translate.from_files(task.experiment, task.files())
    for either in (task, restored):
        assert (either.source_tokenizer is either.target) == shared
    assert restored.files() == task.files()
    assert set(task.files()) == {"source.json"} | ({"target.json"} if not shared else set())
    assert restored.encode_inputs(["one two red"])[1] == task.encode_inputs(["one two red"])[1]
    words = "for both" if shared else " and "
    assert words in task.describe()


def test_texts_of_a_split_are_shown_as_they_are_in_the_file(tmp_path: Path) -> None:
    task = translate_task(tmp_path, [(f"One  two {i}", f"Un, deux {i}") for i in range(20)], lowercase=True)
    split = task.data.splits["train"]
    text = task.source_details(split, 0)["text"]
    assert text.startswith("One  two ")
    assert task.references(split, 0) == [f"Un, deux {text.split()[-1]}"]
    assert task.source_positions(split, 0)["source_tokens"][:2] == ["one", "two"]


def encoding_error(task: Translate, *texts: str) -> str:
    with pytest.raises(UserError) as error:
        task.encode_inputs(texts)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_text_of_unknown_words_alone_is_refused(tmp_path: Path) -> None:
    task = translate_task(tmp_path)
    message, advice = (
        "has no word in the model's vocabulary",
        "Give a text in the language that the run translates from",
    )
    assert encoding_error(task, "one", "grün gelb") == f"text 2: 'grün gelb' {message}. {advice}."
    assert task.encode_inputs(["one gelb"])[0].source.shape == (1, 3)  # one known word is enough


@pytest.mark.parametrize("arch", ["transformer", "gru"])
def test_a_text_longer_than_the_positions_is_refused(arch: str, tmp_path: Path) -> None:
    task = translate_task(tmp_path, arch=arch, max_length=5)
    assert task.encode_inputs(["one " * 5])[0].source.shape == (1, 6)
    if arch == "gru":  # has no positions
        assert task.encode_inputs(["one " * 50])[0].source.shape == (1, 51)
        return
    message = encoding_error(task, "one", "one " * 6)
    assert message.startswith("text 2: 6 tokens, but the model reads at most 5. Split it, or train with data.max_len")


def test_an_encoder_with_positions_limits_a_decoder_without(tmp_path: Path) -> None:
    config = translate_task(tmp_path).experiment
    for encoder, limit in (("transformer", 128), ("mixer", 128), ("lstm", None), ("conv", None)):
        model = config.model.model_copy(update={"encoder": encoder})
        task = Translate.from_files(config.model_copy(update={"model": model}), translate_task(tmp_path).files())
        assert task.input_limit() == limit


@pytest.mark.parametrize("on_ratio", ["keep", "drop"])
def test_pairs_of_very_unequal_lengths_are_reported(on_ratio: str, tmp_path: Path) -> None:
    rows = [*PAIRS[:7], ("one", "un " * 12), ("two " * 30, "deux"), *PAIRS[7:]]
    task = translate_task(tmp_path, rows, on_ratio=on_ratio, valid_share=0.1)
    kept = sum(len(split) for split in task.data.splits.values())
    dropped = len(rows) - kept
    assert (dropped > 0) == (on_ratio == "drop")
    message = f"; 2 pairs with more than 9 times the tokens on one side, {dropped} of them dropped, the first at "
    assert message in task.describe()
    assert "pairs.tsv:" in task.describe().partition(message)[2]
    assert "times the tokens" not in translate_task(tmp_path).describe()
