"""What a model has never read: told where something is known beside it, refused where nothing is."""

import json
from pathlib import Path

import numpy as np
import pytest

from seqloom.api import resume, start
from seqloom.core.problem import RunError, UserError
from seqloom.data.row_store import Ragged
from seqloom.data.tokenizers import Tokenizer, train_tokenizer
from seqloom.tasks.known_characters import CHARACTERS_FILE, KnownCharacters, find_characters, is_all_unknown
from seqloom.tasks.translate.task import Translate
from seqloom.training.checkpointer import Stopped
from tests.tasks.translate.test_inputs import PAIRS, translate_task
from tests.training.small import tiny
from tests.training.test_checkpointer import signal_at

KINDS = ["bpe", "byte", "word", "character"]


def source_of(kind: str, folder: Path, *, saved: bool, **data: object) -> Translate:
    task = translate_task(folder, tokenizer=kind, **data)
    return Translate.from_files(task.experiment, task.files()) if saved else task


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_of_which_nothing_was_ever_read_is_refused(kind: str, saved: bool, tmp_path: Path) -> None:
    source = source_of(kind, tmp_path, saved=saved)
    with pytest.raises(UserError, match=r"^text 2: '漢字  语' has no word in the model's vocabulary\. Give a text"):
        source.encode_inputs(["one two", "漢字  语"])
    assert set("".join(source.unknown_tokens("one 漢字 one"))) == set("漢字")
    assert source.encode_inputs(["one 漢字"])[1][0]["text"] == "one 漢字"
    assert source.unknown_tokens("one two") == []


@pytest.mark.parametrize("kind", ["bpe", "byte"])
def test_sides_are_apart_though_the_tokenizer_is_shared(kind: str, tmp_path: Path) -> None:
    rows = [(" ".join(["abc"] * i), " ".join(["xyz"] * i)) for i in range(2, 20)]
    task = translate_task(tmp_path, rows, tokenizer=kind)
    assert task.source_tokenizer is task.target
    assert json.loads(task.files()[CHARACTERS_FILE]) == {"source": " abc", "target": " xyz"}
    assert task.unknown_tokens("x b") == ["x"]


@pytest.mark.parametrize("kind", ["bpe", "byte"])
def test_a_run_from_before_reads_all_as_it_did(kind: str, tmp_path: Path) -> None:
    task = translate_task(tmp_path, tokenizer=kind)
    old = {name: text for name, text in task.files().items() if name != CHARACTERS_FILE}
    restored = Translate.from_files(task.experiment, old)
    assert restored.files() == old
    assert restored.unknown_tokens("漢字 语") == []
    assert restored.encode_inputs(["漢字 语"])[1][0]["text"] == "漢字 语"


@pytest.mark.usefixtures("unchecked")
def test_a_run_from_before_goes_on(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        start(tiny("translate", train={"steps": 6, "validate_every": 2}), tmp_path / "run", [signal_at(3, 15)])
    manifest = tmp_path / "run/manifest.json"
    told = json.loads(manifest.read_text())
    del told["files"][f"vocabulary/{CHARACTERS_FILE}"]
    manifest.write_text(json.dumps(told))
    (tmp_path / "run/vocabulary" / CHARACTERS_FILE).unlink()
    assert resume(tmp_path / "run").scores["valid"]
    assert not (tmp_path / "run/vocabulary" / CHARACTERS_FILE).exists()


@pytest.mark.parametrize("kind", ["word", "character"])
def test_nothing_is_kept_where_the_tokenizer_knows_what_it_does_not_know(kind: str, tmp_path: Path) -> None:
    assert CHARACTERS_FILE not in translate_task(tmp_path, tokenizer=kind).files()


@pytest.mark.parametrize("kind", KINDS)
def test_capitals_are_not_new_where_all_is_lower_case(kind: str, tmp_path: Path) -> None:
    source = source_of(kind, tmp_path, saved=True, lowercase=True)
    assert source.unknown_tokens("ONE Two") == []
    assert source.encode_inputs(["ONE"])[1][0]["text"] == "ONE"
    if kind != "word":
        assert source_of(kind, tmp_path, saved=True).unknown_tokens("Two") == ["T"]


def ragged(*rows: str) -> Ragged:
    encoded = [row.encode() for row in rows]
    return Ragged(np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(row) for row in encoded]))


def byte(lowercase: bool = False) -> Tokenizer:
    return train_tokenizer("byte", [], vocabulary_size=256, min_count=1, lowercase=lowercase, sample=1)


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_characters_are_found_wherever_the_bytes_are_cut(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.tasks.known_characters.CHUNK", at_once)
    assert find_characters(ragged("né", "漢 A", "", "😀"), byte()) == " Ané漢😀"
    assert find_characters(ragged("ÉA", "aé"), byte(lowercase=True)) == "aé"
    assert find_characters(ragged(), byte()) == ""


def test_too_many_are_not_kept_and_then_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.tasks.known_characters.MOST", 3)
    assert find_characters(ragged("abc"), byte()) == "abc"
    assert find_characters(ragged("abcd"), byte()) == ""
    assert not is_all_unknown("漢", byte(), "")


@pytest.mark.parametrize(
    "content", ["", "[", "[" * 9999, "[]", '{"source": "a"}', '{"source": "a", "target": 1e999}', '["a", "b"]']
)
def test_a_damaged_file_is_a_sentence(content: str) -> None:
    with pytest.raises(RunError, match=r"^characters\.json: not two lists of characters, so it is damaged\. Restore"):
        KnownCharacters.from_files({CHARACTERS_FILE: content})


def test_half_of_a_surrogate_pair_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="half of a surrogate pair"):
        source_of("bpe", tmp_path, saved=True).unknown_tokens(f"{PAIRS[0][0]} \ud800")
