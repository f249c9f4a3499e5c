import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from seqloom import api
from seqloom.api import resume
from seqloom.cli.main import main
from seqloom.data import text_io
from seqloom.data.source import DataSource
from seqloom.tasks.experiment import Experiment
from seqloom.training.session import Session
from tests.cli.conftest import TINY, Seqloom


class FrozenClock(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Frozen":
        return cls(2026, 1, 31, 15, 4)


def test_a_run_prints_its_progress_and_the_next_command(seqloom: Seqloom, files: Path) -> None:
    result = seqloom("train", "classify", "reviews.csv", "--out", "runs/r", "--data.test-share", "0.2", *TINY)
    assert (result.code, result.err) == (0, "")
    labels = [line.split()[0] for line in result.out.splitlines() if not line.startswith("warning")]
    assert labels[:4] == ["data", "columns", "model", "device"]
    assert "valid" in labels
    assert labels[-6:] == ["best", "baseline", "test", "took", "wrote", "next"]
    assert "text: 'review', label: 'stars' (guessed" in result.out
    assert (files / "runs/r/report.html").exists()
    next_command = result.out.splitlines()[-1].removeprefix("next").strip()
    assert seqloom(*shlex.split(next_command)[1:]).code == 0


def test_a_language_model_shows_a_sample_and_its_next_command_works(seqloom: Seqloom, files: Path) -> None:
    options = ("--train.bptt", "8", "--train.batch-size", "4", "--decode.max-length", "12")
    result = seqloom("train", "language", "text.txt", "--out", "[bold]r", *TINY, *options)
    assert result.code == 0
    assert "sample" in result.out
    assert "wrote    [bold]r " in result.out  # not interpreted as markup
    next_command = shlex.split(result.out.splitlines()[-1].removeprefix("next"))[1:]
    assert seqloom(*next_command, "--max-length", "5").code == 0


def test_an_embedded_corpus_needs_no_files(seqloom: Seqloom, tmp_path: Path) -> None:
    result = seqloom("train", "tag", "--data.corpus", "brackets", "--data.examples", "50", *TINY)
    assert result.code == 0
    assert "brackets (embedded)" in result.out
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name.startswith("tag-")


def test_runs_started_in_the_same_minute_have_different_folders(
    seqloom: Seqloom, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run starts while the first reads its data, and ends before the first."""
    monkeypatch.setattr("seqloom.runs.folder.datetime", FrozenClock)
    prepare, inner = Session.prepare, []

    def train_inside(chosen: Experiment, source: DataSource) -> Session:
        monkeypatch.setattr(Session, "prepare", prepare)
        inner.append(main(["train", "tag", "names.conll", *TINY]))
        return prepare(chosen, source)

    monkeypatch.setattr(Session, "prepare", train_inside)
    result = seqloom("train", "tag", "names.conll", *TINY)
    assert (result.code, inner, result.err) == (0, [0], "")
    assert sorted(path.name for path in (files / "runs").iterdir()) == ["tag-2026-01-31-1504", "tag-2026-01-31-1504-2"]
    folders = [line.split()[1] for line in result.out.splitlines() if line.startswith("wrote")]
    assert folders == ["runs/tag-2026-01-31-1504", "runs/tag-2026-01-31-1504-2"]


def test_a_run_resumes_on_the_requested_device(seqloom: Seqloom, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seqloom("train", "tag", "names.conll", "--out", "r", *TINY)
    (files / "r/scores.json").unlink()
    devices: list[str | None] = []
    with_device = api.with_device

    def record_device(chosen: Experiment, folder: Path, device: str | None) -> Experiment:
        devices.append(device)
        return with_device(chosen, folder, device)

    monkeypatch.setattr(api, "with_device", record_device)
    assert seqloom("resume", "r", "--device", "cpu").code == 0
    (files / "r/scores.json").unlink()
    assert seqloom("resume", "r").code == 0
    (files / "r/scores.json").unlink()
    assert resume("r", device="cpu").scores["cost"]["steps"] == 4
    assert devices == ["cpu", None, "cpu"]
    result = seqloom("resume", "r", "--device", "gpu")
    assert result.code == 2
    assert "unknown --device 'gpu'" in result.err


def test_a_dry_run_shows_cost_batch_and_config_and_writes_nothing(seqloom: Seqloom, files: Path) -> None:
    result = seqloom("train", "classify", "reviews.csv", "--dry-run", *TINY)
    assert result.code == 0
    excerpts = (
        "data ",
        " parameters",
        "steps    4, about",
        "time     about",
        "memory   about",
        "film",
        'text = "review"',
    )
    positions = [result.out.index(excerpt) for excerpt in excerpts]
    assert positions == sorted(positions)
    assert not (files / "runs").exists()


def test_a_dry_run_refuses_what_the_run_would_refuse(seqloom: Seqloom, files: Path) -> None:
    (files / "mine").mkdir()
    (files / "mine/kept.txt").write_text("kept")
    for extra in ((), ("--dry-run",)):
        result = seqloom("train", "classify", "reviews.csv", "--out", "mine", *extra, *TINY)
        assert result.code == 2
        assert "mine is a folder with other files" in result.err


def test_a_config_of_init_can_be_trained(seqloom: Seqloom, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # the printed command has the path of seqloom; the file may go to another machine
    result = seqloom("init", "tag", "names.conll", "--train.steps", "2", "--size", "tiny")
    assert result.out.endswith("/seqloom train --config experiment.toml\n")
    assert (result.code, result.err) == (0, "")
    text = (files / "experiment.toml").read_text()
    assert "# The number of layers." in text
    assert text.startswith("# An experiment. Edit it, then: seqloom train --config experiment.toml\n")
    assert seqloom("train", "--config", "experiment.toml", "--out", "r", "--device", "cpu").code == 0
    before = (files / "experiment.toml").read_bytes()
    again = seqloom("init", "tag", "names.conll")
    assert again.code == 2
    assert "not overwritten" in again.err
    assert (files / "experiment.toml").read_bytes() == before


def test_init_writes_the_columns_and_the_corpus(seqloom: Seqloom, files: Path) -> None:
    assert seqloom("init", "classify", "reviews.csv").code == 0
    assert 'label = "stars"' in (files / "experiment.toml").read_text()
    assert seqloom("init", "language", "--out", "l.toml").code == 0
    assert 'corpus = "python"' in (files / "l.toml").read_text()


def test_a_run_is_not_overwritten(seqloom: Seqloom, runs: Path, files: Path) -> None:
    before = {path: path.read_bytes() for path in (runs / "tag").rglob("*") if path.is_file()}
    result = seqloom("train", "tag", "names.conll", "--out", runs / "tag", *TINY)
    assert result.code == 2
    assert f"seqloom resume {runs / 'tag'}" in result.err
    assert {path: path.read_bytes() for path in (runs / "tag").rglob("*") if path.is_file()} == before
    (files / "other").mkdir()
    (files / "other/mine.txt").write_text("mine")
    result = seqloom("train", "tag", "names.conll", "--out", "other", *TINY)
    assert result.code == 2
    assert [path.name for path in (files / "other").iterdir()] == ["mine.txt"]


def test_a_finished_run_has_nothing_left_to_do(seqloom: Seqloom, runs: Path) -> None:
    result = seqloom("resume", runs / "tag")
    assert result.code == 0
    assert "nothing left to do" in result.out


def test_steps_that_are_not_finite_are_reported_and_end_the_run(seqloom: Seqloom, files: Path) -> None:
    options = shlex.split("--train.lr 1000 --train.optimizer sgd --train.clip-norm none --train.max-skipped-steps 2")
    steps = shlex.split("--train.steps 60 --size tiny --device cpu --model rnn-linear --train.batch-tokens 32")
    result = seqloom("train", "classify", "reviews.csv", "--out", "r", *options, *steps)
    assert result.code == 1
    assert "skipped  step" in result.out
    assert "2 steps in a row" in result.err
    assert (files / "r/report.html").exists()


@pytest.mark.parametrize("signal", [2, 15])
def test_a_signal_stops_a_run_that_can_be_resumed(seqloom: Seqloom, files: Path, signal: int) -> None:
    """The process signals itself at the third step, so that the step is known."""
    code = (
        "import os, sys; from seqloom.training.loop import Trainer; step = Trainer.step\n"
        f"def kill(self):\n    step(self)\n    if self.progress.step == 3: os.kill(os.getpid(), {signal})\n"
        "Trainer.step = kill\n"
        "from seqloom.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    words = ["train", "tag", "names.conll", "--out", "r", *TINY]
    process = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert process.returncode == 128 + signal
    assert "stopped by SIG" in process.stderr
    assert "seqloom resume r" in process.stderr
    listed = seqloom("runs", ".").out
    assert "unfinished at step 3" in listed
    assert listed.endswith("next     seqloom resume r\n")
    result = seqloom("resume", "r")
    assert result.code == 0
    assert "resumed  at step 3" in result.out
    assert json.loads((files / "r/scores.json").read_text())["cost"]["steps"] == 4


@pytest.mark.parametrize("name", ["reviews.csv", "reviews.tsv", "reviews.jsonl", "reviews.json"])
def test_a_table_is_opened_as_text_at_most_twice(
    name: str, seqloom: Seqloom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for its first rows, before torch is imported, and once for all rows."""
    rows = [(f"a film of number {n}", "good" if n % 2 else "bad") for n in range(40)]
    separator = "\t" if name.endswith("tsv") else ","
    lines = [json.dumps({"text": text, "label": label}) for text, label in rows]
    if "json" not in name:
        lines = [f"text{separator}label", *(f"{text}{separator}{label}" for text, label in rows)]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    opened, read = [], text_io._read_blocks

    def record_path(path: Path) -> Iterator[bytes]:
        opened.append(path.name)
        return read(path)

    monkeypatch.setattr(text_io, "_read_blocks", record_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    assert seqloom("train", "classify", name, *TINY).code == 0
    assert opened == [name] * 2
