"""Characters missing from train: a text with some of them is reported, a text of them alone is refused."""

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


def task_of(kind: str, folder: Path, *, restored: bool, **data: object) -> Translate:
    task = translate_task(folder, tokenizer=kind, **data)
    return Translate.from_files(task.experiment, task.files()) if restored else task


@pytest.mark.parametrize("restored", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_of_unknown_characters_alone_is_refused(kind: str, restored: bool, tmp_path: Path) -> None:
    task = task_of(kind, tmp_path, restored=restored)
    with pytest.raises(UserError, match=r"^text 2: '漢字  语' has no word in the model's vocabulary\. Give a text"):
        task.encode_inputs(["one two", "漢字  语"])
    assert set("".join(task.unknown_tokens("one 漢字 one"))) == set("漢字")
    assert task.encode_inputs(["one 漢字"])[1][0]["text"] == "one 漢字"
    assert task.unknown_tokens("one two") == []


@pytest.mark.parametrize("kind", ["bpe", "byte"])
def test_characters_are_known_by_side_though_the_tokenizer_is_shared(kind: str, tmp_path: Path) -> None:
    rows = [(" ".join(["abc"] * i), " ".join(["xyz"] * i)) for i in range(2, 20)]
    task = translate_task(tmp_path, rows, tokenizer=kind)
    assert task.source_tokenizer is task.target
    assert json.loads(task.files()[CHARACTERS_FILE]) == {"source": " abc", "target": " xyz"}
    assert task.unknown_tokens("x b") == ["x"]


@pytest.mark.parametrize("kind", ["bpe", "byte"])
def test_a_run_without_known_characters_refuses_nothing(kind: str, tmp_path: Path) -> None:
    task = translate_task(tmp_path, tokenizer=kind)
    old = {name: text for name, text in task.files().items() if name != CHARACTERS_FILE}
    restored = Translate.from_files(task.experiment, old)
    assert restored.files() == old
    assert restored.unknown_tokens("漢字 语") == []
    assert restored.encode_inputs(["漢字 语"])[1][0]["text"] == "漢字 语"


@pytest.mark.usefixtures("unchecked")
def test_a_run_without_known_characters_resumes(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        start(tiny("translate", train={"steps": 6, "validate_every": 2}), tmp_path / "run", [signal_at(3, 15)])
    manifest = tmp_path / "run/manifest.json"
    content = json.loads(manifest.read_text())
    del content["files"][f"vocabulary/{CHARACTERS_FILE}"]
    manifest.write_text(json.dumps(content))
    (tmp_path / "run/vocabulary" / CHARACTERS_FILE).unlink()
    assert resume(tmp_path / "run").scores["valid"]
    assert not (tmp_path / "run/vocabulary" / CHARACTERS_FILE).exists()


@pytest.mark.parametrize("kind", ["word", "character"])
def test_a_tokenizer_with_an_unknown_token_needs_no_known_characters(kind: str, tmp_path: Path) -> None:
    assert CHARACTERS_FILE not in translate_task(tmp_path, tokenizer=kind).files()


@pytest.mark.parametrize("kind", KINDS)
def test_capitals_are_not_unknown_to_a_lowercase_tokenizer(kind: str, tmp_path: Path) -> None:
    task = task_of(kind, tmp_path, restored=True, lowercase=True)
    assert task.unknown_tokens("ONE Two") == []
    assert task.encode_inputs(["ONE"])[1][0]["text"] == "ONE"
    if kind != "word":
        assert task_of(kind, tmp_path, restored=True).unknown_tokens("Two") == ["T"]


def ragged(*rows: str) -> Ragged:
    encoded = [row.encode() for row in rows]
    return Ragged(np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(row) for row in encoded]))


def byte(lowercase: bool = False) -> Tokenizer:
    return train_tokenizer("byte", [], vocabulary_size=256, min_count=1, lowercase=lowercase, sample=1)


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_known_characters_do_not_depend_on_the_chunk_size(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.tasks.known_characters.CHUNK", chunk)
    assert find_characters(ragged("né", "漢 A", "", "😀"), byte()) == " Ané漢😀"
    assert find_characters(ragged("ÉA", "aé"), byte(lowercase=True)) == "aé"
    assert find_characters(ragged(), byte()) == ""


def test_too_many_characters_are_not_saved_and_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.tasks.known_characters.MAX_CHARACTERS", 3)
    assert find_characters(ragged("abc"), byte()) == "abc"
    assert find_characters(ragged("abcd"), byte()) == ""
    assert not is_all_unknown("漢", byte(), "")


@pytest.mark.parametrize(
    "content", ["", "[", "[" * 9999, "[]", '{"source": "a"}', '{"source": "a", "target": 1e999}', '["a", "b"]']
)
def test_a_damaged_file_is_an_error(content: str) -> None:
    with pytest.raises(RunError, match=r"^characters\.json: not two lists of characters, so it is damaged\. Restore"):
        KnownCharacters.from_files({CHARACTERS_FILE: content})


def test_half_of_a_surrogate_pair_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="half of a surrogate pair"):
        task_of("bpe", tmp_path, restored=True).unknown_tokens(f"{PAIRS[0][0]} \ud800")
