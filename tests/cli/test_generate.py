"""A language model that generates by beam search instead of sampling."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqloom.cli.main import main
from seqloom.decoding.stepper import Stepper
from tests.cli.conftest import TINY, Seqloom, write_files


@pytest.fixture(scope="module")
def beam_search_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Transformer whose config decodes with a beam of 4."""
    folder = tmp_path_factory.mktemp("searching")
    write_files(folder)
    options = ("--decode.beam-size", "4", "--decode.max-length", "10", "--train.bptt", "16", "--train.batch-size", "4")
    model = ("--model", "transformer", "--model.max-length", "16")
    assert (
        main(["train", "language", str(folder / "text.txt"), "--out", str(folder / "r"), *TINY, *options, *model]) == 0
    )
    return folder / "r"


def test_a_run_with_a_beam_needs_no_seed(seqloom: Seqloom, beam_search_run: Path) -> None:
    result = seqloom("generate", beam_search_run)
    assert (result.code, result.err) == (0, "")
    assert "seed" not in json.loads(seqloom("generate", beam_search_run, "--json").out)
    assert seqloom("generate", beam_search_run, "--beam", "4").out == result.out


def test_sampling_from_a_run_with_a_beam_prints_its_seed(seqloom: Seqloom, beam_search_run: Path) -> None:
    words = ("generate", beam_search_run, "--temperature", "1")
    sampled = seqloom(*words)
    assert sampled.err.startswith("seed ")
    assert seqloom(*words, "--seed", sampled.err.split()[1]).out == sampled.out
    assert seqloom("generate", beam_search_run, "--beam", "1").err == ""  # at its temperature of 0, nothing is sampled


def test_a_seed_without_effect_is_refused(seqloom: Seqloom, beam_search_run: Path) -> None:
    result = seqloom("generate", beam_search_run, "--seed", "1")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("seqloom: --seed has no effect with --beam 4; it goes with 1. Leave it out, or sample")


def test_beam_search_encodes_the_prompt_in_one_step(
    seqloom: Seqloom, beam_search_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[int, int]] = []
    original = Stepper.read

    def record_shape(self: Stepper, tokens: Any, state: Any, lengths: Any) -> Any:
        read.append(tuple(tokens.shape))
        return original(self, tokens, state, lengths)

    monkeypatch.setattr(Stepper, "read", record_shape)
    result = seqloom("generate", beam_search_run, "--prompt", "the quick", "--beam", "3", "--max-length", "5")
    assert result.code == 0
    assert result.out.startswith("the quick")
    assert read == [(1, 9), (3, 1), (3, 1), (3, 1), (3, 1)]
