"""A task, a table reader and a model family outside the package: registered, they work like built-in ones."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.core.config.data import RowData
from seqloom.core.config.section import Values, key
from seqloom.core.problem import ConfigError
from seqloom.data.records import Location
from seqloom.data.text_io import OnBadLine, read_lines
from seqloom.models.family import Family, Width
from seqloom.models.registry import ARCHITECTURES, Architecture
from seqloom.nn.convolution import CausalConvolution
from seqloom.nn.dropout import Dropout
from seqloom.nn.layer import Layer
from seqloom.nn.stack import Stack
from seqloom.tasks.registry import TASKS
from tests.temporary_parts import temporary_parts
from tests.toys import word_count
from tests.toys.killed_training import train_until_killed

TINY = {"size": "tiny", "train": {"steps": 12, "validate_every": 4, "checkpoint_every": 4, "device": "cpu", "lr": 0.01}}

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(autouse=True)
def registered_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Register all three for one test."""
    with temporary_parts():
        register()
        monkeypatch.chdir(tmp_path)
        yield


def register() -> None:
    word_count.register()
    seqloom.register.reader("bars", read_bars, suffixes=(".bars",), separator=" | ")
    ARCHITECTURES.register("bigram", Architecture(__name__, "each token and the one before it"))


# The task ------------------------------------------------------------------------------------------------------------


def write_texts(path: Path) -> None:
    rows = [(" ".join(["word"] * (1 + n % 7)) + f" {n}", 2 + n % 7) for n in range(90)]
    path.write_text("text,words\n" + "".join(f"{text},{count}\n" for text, count in rows), encoding="utf-8")


def test_the_task_supports_every_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_texts(Path("texts.csv"))
    uninterrupted = seqloom.train("count", "texts.csv", out="whole", **TINY)
    train_until_killed(word_count.register, "count", "texts.csv", out="killed", kill_at=8, **TINY)
    resumed = seqloom.resume("killed")
    assert resumed.manifest.model == uninterrupted.manifest.model
    assert resumed.scores["valid"] == uninterrupted.scores["valid"]

    [answer] = seqloom.load("killed").predict(["word word 3"])
    assert answer["words"] == uninterrupted.predict(["word word 3"])[0]["words"]
    Path("test.csv").write_text("text,words\none two,2\nthree,1\n", encoding="utf-8")
    assert set(resumed.evaluate("test.csv").scores) == {"error"}
    assert main(["evaluate", "killed", "test.csv", "--data.count", "words"]) == 0  # a key as an option
    assert main(["predict", "killed", "one two three"]) == 0
    assert "words: " in capsys.readouterr().out
    assert main(["report", "killed"]) == 0
    page = Path("killed", "report.html").read_text(encoding="utf-8")
    assert "error" in page
    assert "count" in page

    assert main(["check", "count", "texts.csv"]) == 0
    assert "text: 'text', count: 'words'" in capsys.readouterr().out
    Path("bad.csv").write_text("text,words\none two,2\nthree,many\n", encoding="utf-8")
    assert main(["check", "count", "bad.csv"]) == 2
    assert "bad.csv:3: 'many' is not a number" in capsys.readouterr().out


def test_the_command_line_knows_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "count", "--help"]) == 0
    assert "Learns to count the words of a text." in capsys.readouterr().out
    steps = ("--train.steps", "2", "--train.device", "cpu")
    assert main(["train", "count", "--size", "tiny", *steps, "--out", "run"]) == 0
    assert "lines (embedded)" in capsys.readouterr().out
    assert main(["init", "count"]) == 0
    assert main(["train", "--config", "experiment.toml", "--train.steps", "2", "--out", "again"]) == 0


# The reader ----------------------------------------------------------------------------------------------------------


def read_bars(paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine) -> Iterator[tuple[Location, list[str]]]:
    """Lines split at vertical bars."""
    for path in paths:
        for number, line in read_lines(path, data.max_characters, on_bad_line):
            if line.strip():
                yield Location(str(path), number), [cell.strip() for cell in line.split("|")]


ROWS = "".join(f"a film of number {n} | {'good' if n % 2 else 'bad'}\n" for n in range(40))


def test_every_task_over_tables_reads_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    Path("reviews.bars").write_text("text | label\n" + ROWS, encoding="utf-8")
    run = seqloom.train("classify", "reviews.bars", out="run", **TINY)
    assert run.predict(["a bore"])[0]["label"] in ("good", "bad")
    assert main(["check", "translate", "reviews.bars"]) == 0
    assert "(bars)" in capsys.readouterr().out
    Path("broken.bars").write_text("text | label\na | b | c\na | b\n", encoding="utf-8")
    assert main(["train", "classify", "broken.bars"]) == 2
    assert "broken.bars:2: 3 fields, expected 2 (text, label). Remove a '|'" in capsys.readouterr().err
    assert main(["train", "tag", "reviews.bars"]) == 2
    assert "a bars file, and tag reads CoNLL-U" in capsys.readouterr().err


# The family ----------------------------------------------------------------------------------------------------------


class Bigram(Family):
    """Each position sees itself and the one before it."""

    sizes: ClassVar[Mapping[str, Values]] = {
        "tiny": {"dim": 8, "depth": 1, "hidden": 16},
        "small": {"dim": 16, "depth": 1, "hidden": 32},
        "base": {"dim": 32, "depth": 1, "hidden": 64},
    }
    hidden: Width = key(..., "The size of its output.")

    @property
    def hidden_width(self) -> int:
        return self.hidden

    @property
    def output_width(self) -> int:
        return self.hidden

    def build(self, input_size: int, *, causal: bool) -> Layer:
        sizes = [input_size, *[self.hidden] * self.depth]
        layers = [CausalConvolution(size, self.hidden, 2, activation="tanh") for size in sizes[:-1]]
        return Stack([*layers, Dropout(self.hidden, self.dropout)])


FAMILY = Bigram


@pytest.mark.parametrize("task", [*TASKS, "count"])
def test_every_task_trains_the_family(task: str) -> None:
    data = {"examples": 2_000 if task == "language" else 200}
    decode = {"decode": {"max_length": 5}} if task in ("language", "translate", "caption") else {}
    run = seqloom.train(task, model="bigram", data=data, out="run", **TINY, **decode)
    assert run.experiment.model.arch == "bigram"
    assert seqloom.load("run").manifest.model == run.manifest.model


def test_a_key_of_another_family_does_not_exist() -> None:
    with pytest.raises(ConfigError, match=r"model\.zoneout is not a key of bigram"):
        seqloom.train("classify", model={"arch": "bigram", "zoneout": 0.1}, out="run")
