"""A language model that looks for the likeliest text instead of drawing one."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqloom.cli.main import main
from seqloom.decoding.stepper import Stepper
from tests.cli.conftest import TINY, Seqloom, write_files


@pytest.fixture(scope="module")
def searching(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Transformer that was trained to write with a beam of 4."""
    folder = tmp_path_factory.mktemp("searching")
    write_files(folder)
    how = ("--decode.beam-size", "4", "--decode.max-length", "10", "--train.bptt", "16", "--train.batch-size", "4")
    model = ("--model", "transformer", "--model.max-length", "16")
    assert main(["train", "language", str(folder / "text.txt"), "--out", str(folder / "r"), *TINY, *how, *model]) == 0
    return folder / "r"


def test_a_run_with_a_beam_needs_no_seed(seqloom: Seqloom, searching: Path) -> None:
    result = seqloom("generate", searching)
    assert (result.code, result.err) == (0, "")
    assert "seed" not in json.loads(seqloom("generate", searching, "--json").out)
    assert seqloom("generate", searching, "--beam", "4").out == result.out


def test_a_seed_is_shown_of_what_is_drawn_after_all(seqloom: Seqloom, searching: Path) -> None:
    words = ("generate", searching, "--temperature", "1")
    drawn = seqloom(*words)
    assert drawn.err.startswith("seed ")
    assert seqloom(*words, "--seed", drawn.err.split()[1]).out == drawn.out
    assert seqloom("generate", searching, "--beam", "1").err == ""  # at its temperature of 0, nothing is drawn


def test_a_seed_has_no_use_with_the_beam_of_the_run(seqloom: Seqloom, searching: Path) -> None:
    result = seqloom("generate", searching, "--seed", "1")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("seqloom: --seed has no effect with --beam 4; it goes with 1. Leave it out, or sample")


def test_a_beam_reads_the_prompt_at_once(seqloom: Seqloom, searching: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[int, int]] = []
    before = Stepper.read

    def watched(self: Stepper, tokens: Any, state: Any, lengths: Any) -> Any:
        read.append(tuple(tokens.shape))
        return before(self, tokens, state, lengths)

    monkeypatch.setattr(Stepper, "read", watched)
    result = seqloom("generate", searching, "--prompt", "the quick", "--beam", "3", "--max-length", "5")
    assert result.code == 0
    assert result.out.startswith("the quick")
    assert read == [(1, 9), (3, 1), (3, 1), (3, 1), (3, 1)]
