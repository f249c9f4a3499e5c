"""User-defined tokenizers: trained, saved with a run and read back, in every task that has tokens."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.core.problem import ConfigError, DataError, PartError
from seqloom.data.tokenizers import TOKENIZERS, Tokenizer, train_tokenizer
from seqloom.data.tokenizers.word import Word
from seqloom.decoding.stream import Detokenizer
from seqloom.tasks.registry import experiment
from tests.temporary_parts import temporary_parts
from tests.toys import blanks
from tests.toys.blanks import Blanks, Letters

TINY: dict[str, Any] = {"size": "tiny", "train": {"steps": 4, "device": "cpu"}}
TEXTS = ["a dog runs\n", "a cat  runs home\n"]


@pytest.fixture(autouse=True)
def registered_tokenizers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Register both for one test."""
    with temporary_parts():
        blanks.register()
        monkeypatch.chdir(tmp_path)
        yield


def train_on_texts(kind: str, **more: Any) -> Tokenizer:
    options = {"vocabulary_size": 100, "min_count": 1, "lowercase": False, "sample": 10_000, **more}
    return train_tokenizer(kind, TEXTS, **options)


def test_a_tokenizer_is_trained_saved_and_loaded() -> None:
    tokenizer = train_on_texts("blanks")
    assert isinstance(tokenizer, Blanks)
    assert tokenizer.kind == "blanks"
    assert json.loads(tokenizer.to_json())["tokenizer"] == "blanks"
    loaded = Tokenizer.from_json(tokenizer.to_json())
    assert type(loaded) is Blanks
    assert loaded.encode("a dog runs").tolist() == tokenizer.encode("a dog runs").tolist()
    assert loaded.decode(loaded.encode("a cat  runs").tolist()) == "a cat  runs"
    assert tokenizer.unknown_in("a mouse") == ["mouse"]
    detokenizer = Detokenizer(tokenizer)
    ids = tokenizer.encode("a cat  runs home\n").tolist()
    assert [detokenizer.add(token) for token in ids] == ["a", " cat", "  runs", " home", "\n"]


@pytest.mark.parametrize("task", ["classify", "translate", "language", "caption"])
def test_every_task_with_tokens_trains_with_it(task: str) -> None:
    corpora = {"classify": "numbers", "translate": "numbers", "language": "copy", "caption": "scenes"}
    data = {"corpus": corpora[task], "examples": 200, "corpus_length": 2, "tokenizer": "blanks"}
    more: dict[str, Any] = {"decode": {"max_length": 5}} if task in ("translate", "caption", "language") else {}
    train = {**TINY["train"], **({"batch_size": 4, "bptt": 8} if task == "language" else {})}
    run = seqloom.train(task, size="tiny", data=data, train=train, out="run", **more)
    loaded = seqloom.load("run")
    assert loaded.experiment.data.tokenizer == "blanks"
    files = list(Path("run", "vocabulary").glob("*.json"))
    assert any('"tokenizer": "blanks"' in file.read_text(encoding="utf-8") for file in files)
    assert loaded.task.files() == run.task.files()


def test_a_new_process_predicts_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"corpus": "numbers", "examples": 200, "corpus_length": 2, "tokenizer": "blanks"}
    run = seqloom.train("classify", data=data, out="run", **TINY)
    expected = run.predict(["vingt deux"])[0]["probabilities"]
    root = str(Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path]), "OMP_NUM_THREADS": "1"}
    program = (
        "import seqloom\n"
        "from seqloom.core.problem import SeqloomError\n"
        "from tests.toys import blanks\n"
        "try:\n    seqloom.load('run')\nexcept SeqloomError as error:\n    print(error)\n"
        "blanks.register()\n"
        "print(seqloom.load('run').predict(['vingt deux'])[0]['probabilities'])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    refusal, probabilities = result.stdout.splitlines()
    assert "made with the tokenizer 'blanks' of blanks.py, which is not registered" in refusal
    assert {name: round(p, 5) for name, p in eval(probabilities).items()} == {
        name: round(p, 5) for name, p in expected.items()
    }
    assert main(["predict", "run", "vingt deux"]) == 0
    assert main(["train", "classify", "--help"]) == 0
    assert "bpe, blanks, letters" in " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_a_language_model_generates_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("dogs.txt").write_text("a dog runs home\nthe cat sits\n" * 60, encoding="utf-8")
    train = {**TINY["train"], "batch_size": 4, "bptt": 8, "samples": 0}
    for kind in ("blanks", "letters"):
        seqloom.train("language", "dogs.txt", size="tiny", data={"tokenizer": kind}, train=train, out=kind)
        assert main(["generate", kind, "--prompt", "a dog", "--max-length", "5"]) == 0
        assert capsys.readouterr().out.startswith("a dog")
        assert main(["generate", kind, "--prompt", "a dog", "--beam", "2", "--max-length", "5"]) == 0
        capsys.readouterr()
    assert "bits_per_character" in seqloom.load("letters").scores["valid"]
    assert "bits_per_character" not in seqloom.load("blanks").scores["valid"]
    assert seqloom.load("letters").predict(["a dog"])[0]["bits_per_character"] > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"tokenizer": "blanks"}', "a blanks tokenizer without a state. Train again, or copy the file again"),
        ('{"tokenizer": "blanks", "state": {}}', "a blanks tokenizer that can't be read (KeyError: 'words')."),
        ('{"tokenizer": "nowhere", "state": {}}', "a tokenizer of the kind 'nowhere', which is not registered."),
        ('{"tokenizer": "word", "state": {}}', "a tokenizer of the kind 'word', which is not registered."),
        ('{"tokenizer": ["blanks"], "state": {}}', "a tokenizer of the kind ['blanks'], which is not registered."),
    ],
)
def test_an_invalid_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        Tokenizer.from_json(text, "runs/x/vocabulary/source.json")
    assert str(error.value).startswith(f"runs/x/vocabulary/source.json: {message}")


def test_its_file_has_a_maximum_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.data.tokenizers.registry.MAX_BYTES", 20)
    with pytest.raises(PartError, match="the tokenizer 'blanks' is not read again: a tokenizer of more than"):
        train_on_texts("blanks")


class NoState(Blanks):
    def state(self) -> dict[str, Any]:
        return {}


class Forgets(Blanks):
    def state(self) -> dict[str, Any]:
        return {"words": self.words[:2]}


class NotJson(Blanks):
    def state(self) -> dict[str, Any]:
        return {"words": set(self.words)}


class TooLarge(Blanks):
    def ids(self, text: str) -> list[int]:
        return [len(self)]


class Real(Blanks):
    def ids(self, text: str) -> Any:
        return [0.5]


class Raises(Blanks):
    def ids(self, text: str) -> Any:
        return [self.numbers[word + "?"] for word in text.split()]


class Untrained(Blanks):
    @classmethod
    def train(cls, texts: object, vocabulary_size: int, min_count: int, lowercase: bool) -> Any:
        return None


class Unlisted(Blanks):
    def tokens(self, ids: object) -> Any:
        return "a dog"


class Bytes(Blanks):
    def decode(self, ids: object) -> Any:
        return b"a dog"


class Empty(Blanks):
    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (NoState, "is not read again: a mine tokenizer that can't be read (KeyError: 'words'). Match `state` and"),
        (Forgets, "encodes a text differently once it was saved and read. Keep all that it learned in `state`."),
        (NotJson, "raised TypeError: Object of type set is not JSON serializable. Correct it."),
        (TooLarge, "gave [8], not ids from 0 to 7. Give a list of those."),
        (Real, "gave [0.5], not ids from 0 to 7."),
        (Raises, "raised KeyError: 'a?'. Correct it."),
        (Untrained, "returned None from `train`. Return the tokenizer."),
        (Unlisted, "has 'a dog' for 4 ids. Return a list with a text for each from `tokens`."),
        (Bytes, "decodes to b'a dog'. Return a text from `decode`."),
        (Empty, "has 0 ids, and 0 for what is unknown. Have at least one id."),
    ],
)
def test_a_tokenizer_that_fails_is_one_message(part: type[Blanks], message: str) -> None:
    seqloom.register.tokenizer("mine", part)
    with pytest.raises(PartError) as error:
        train_on_texts("mine")
    assert ".py:" in str(error.value)
    assert f": the tokenizer 'mine' {message}" in str(error.value)


class Own(Word):
    """Another kind that the library says."""


class Fewer(Blanks):
    """Of another signature."""

    @classmethod
    def train(cls, texts: Any) -> Any:  # type: ignore[override]
        return cls([])


class Half(Tokenizer):
    """Without most methods."""

    def ids(self, text: str) -> list[int]:
        return []


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (3, "is an object of type int. Derive a class from seqloom.data.tokenizers.Tokenizer."),
        (str, "is the class str. Derive a class from seqloom.data.tokenizers.Tokenizer."),
        (Half, "has no __len__, decode, from_state, state, tokens, train. Write them."),
        (Own, "derives from a built-in one, whose file names its own kind. Derive it from Tokenizer, and use"),
        (
            Fewer,
            "has a method train (texts: Any) -> Any, not (texts, vocabulary_size, min_count, lowercase). Write",
        ),
        (Letters, "is registered already, as 'letters'. Derive another class from it."),
    ],
)
def test_an_invalid_tokenizer_is_refused(part: object, message: str) -> None:
    with pytest.raises(PartError) as error:
        seqloom.register.tokenizer("mine", part)
    assert f"the tokenizer 'mine' {message}" in str(error.value)
    assert "mine" not in TOKENIZERS


def test_a_taken_or_unknown_name_is_refused() -> None:
    with pytest.raises(PartError, match="the tokenizer 'word' is taken"):
        seqloom.register.tokenizer("word", NoState)
    with pytest.raises(ConfigError, match=r"data\.tokenizer is 'blank'; .* letters\. Did you mean blanks\?"):
        experiment({"task": "classify", "data": {"tokenizer": "blank"}})
