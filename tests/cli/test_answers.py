"""Answers of a run that writes: where a text stood that has none."""

import json
from pathlib import Path

import pytest

from seqloom.cli.main import main
from tests.cli.conftest import TINY, Said, Seqloom


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pieces of words, and positions for sixteen of them."""
    folder = tmp_path_factory.mktemp("answers")
    rows = [f"one {a} {b}\tun {a} {b}\n" for a in ("red", "green", "blue") for b in ("box", "disc", "one")]
    (folder / "pairs.tsv").write_text("".join(rows))
    options = ("--model", "transformer", "--model.positions", "learned", "--data.max-length", "16")
    assert main(["train", "translate", str(folder / "pairs.tsv"), "--out", str(folder / "run"), *TINY, *options]) == 0
    return folder / "run"


def sentence(said: Said) -> str:
    assert said.code == 2
    assert said.err.startswith("seqloom: ")
    assert said.err.count("\n") == 1
    return said.err.removeprefix("seqloom: ").strip()


def test_a_text_in_an_unknown_script_is_refused_and_a_new_character_told(seqloom: Seqloom, run: Path) -> None:
    assert sentence(seqloom("predict", run, "漢字 语")).startswith(
        "text 1: '漢字 语' has no word that the model knows."
    )
    said = seqloom("predict", run, "one 漢 box")
    assert said.code == 0
    assert said.err.startswith("warning never seen by this model, so it can't know what they mean: 漢")
    assert seqloom("predict", run, "one box").err == ""


def test_a_text_that_can_not_be_answered_is_named_by_its_place(seqloom: Seqloom, run: Path) -> None:
    lines = [*["one box"] * 69, "漢字"]
    Path("lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = "'漢字' has no word that the model knows."
    for words, place in ((("--file", "lines.txt"), "lines.txt:70"), (tuple(lines), "text 70")):
        said = seqloom("predict", run, *words)
        assert said.err.startswith(f"seqloom: {place}: {told}")
    assert seqloom("predict", run, stdin="\n".join(lines)).err.startswith(f"seqloom: standard input:70: {told}")


def test_more_tokens_than_the_positions_allow(seqloom: Seqloom, run: Path) -> None:
    told = "--min-length is 20, and the model's positions allow 16 tokens. Make it smaller, or train with"
    longer = ("--min-length", "20", "--max-length", "40")
    assert sentence(seqloom("predict", run, "one box", *longer)).startswith(told)
    assert sentence(seqloom("evaluate", run, run.parent / "pairs.tsv", *longer)).startswith(told)
    answer = json.loads(seqloom("predict", run, "one box", "--min-length", "16", "--json").out)
    assert answer["ended"] or answer["cut_by"] == "positions"


def test_a_beginning_in_an_unknown_script(seqloom: Seqloom, run: Path) -> None:
    assert sentence(seqloom("predict", run, "one", "--prompt", "漢")).startswith("--prompt is '漢', of which no char")
