"""Runs of each task with their data files, small enough to train in a test."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.api import start
from seqloom.core.run_format import sha256
from seqloom.runs.run import Run
from seqloom.tasks.registry import experiment
from tests.training.small import words

TRAIN = {"steps": 8, "validate_every": 4, "device": "cpu"}
SMALL = {"arch": "gru", "size": "tiny"}


def text(folder: Path, name: str, number: int) -> None:
    (folder / f"{name}.txt").write_text(words(600, number), encoding="utf-8")


def reviews(folder: Path, name: str, number: int) -> None:
    rows = [f"{words(9 + 3 * i, number + i).strip() or 'x'}\t{'good' if i % 3 else 'bad'}" for i in range(24)]
    content = "\n".join(row.replace("\n", " ") for row in rows)
    (folder / f"{name}.tsv").write_text(f"text\tlabel\n{content}\n", encoding="utf-8")


def tagged(folder: Path, name: str, number: int) -> None:
    sentences = []
    for i in range(20):
        forms = (words(20, number + i) + " end").split()
        sentences.append("\n".join(f"{form}\t{'B-X' if form[0] in 'abc' else 'O'}" for form in forms))
    (folder / f"{name}.conll").write_text("\n\n".join(sentences) + "\n", encoding="utf-8")


def pairs(folder: Path, name: str, number: int) -> None:
    """Letters, and the same letters reversed."""
    letters = (words(5 + 2 * i, number + i).split() or ["x"] for i in range(24))
    rows = [f"{' '.join(source)}\t{' '.join(source[::-1])}" for source in letters]
    (folder / f"{name}.tsv").write_text("source\ttarget\n" + "\n".join(rows) + "\n", encoding="utf-8")


KINDS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "language": (text, "txt", {"batch_size": 4, "bptt": 8, "samples": 0}),
    "classify": (reviews, "tsv", {"batch_tokens": 128}),
    "tag": (tagged, "conll", {"batch_tokens": 128}),
    "translate": (pairs, "tsv", {"batch_tokens": 256}),
}


def train_run(task: str, folder: Path, **more: Any) -> Run:
    """A run in a folder with its data files; `more` are keys of `train`."""
    write, ending, train = KINDS[task]
    for number, name in enumerate(("train", "valid", "test")):
        write(folder, name, 100 * number)
    data = {name: str(folder / f"{name}.{ending}") for name in ("train", "valid", "test")}
    raw: dict[str, Any] = {"task": task, "model": SMALL, "data": data, "train": {**TRAIN, **train, **more}}
    if task == "translate":
        raw["decode"] = {"max_length": 6}
    return start(experiment(raw), folder / "run")


def model_inputs(run: Run, device: str = "cpu") -> list[Tensor]:
    """Inputs for the model of a run: two sequences of three tokens."""
    tokens = torch.zeros((2, 3, 5) if run.task.name == "tag" else (2, 3), dtype=torch.int64, device=device)
    return [tokens, tokens] if run.task.name == "translate" else [tokens]


def data_of(run: Run, split: str) -> str:
    return str(run.folder.parent / f"{split}.{KINDS[run.task.name][1]}")


TEXTS = ["abc bad", "h", "a b c d e f g h a b c", "hhh ggg", "zzz never seen", "ä 漢 a"]


def assert_close(actual: object, expected: object) -> None:
    """Assert that the values are equal, numbers up to rounding."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        assert list(actual) == list(expected)
        assert_close(list(actual.values()), list(expected.values()))
    elif isinstance(actual, list) and isinstance(expected, list):
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected, strict=True):
            assert_close(a, b)
    elif isinstance(actual, float):
        assert actual == pytest.approx(expected, rel=1e-4, abs=1e-6)
    else:
        assert actual == expected


def recommitted(folder: Path, **more: Any) -> None:
    """Update the hashes of the manifest to the present files."""
    content = json.loads((folder / "manifest.json").read_text())
    content["files"] = {name: sha256(folder / name) for name in content["files"]}
    (folder / "manifest.json").write_text(json.dumps({**content, **more}))
