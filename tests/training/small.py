"""Experiments that are small enough to train in a test."""

import json
import random
from pathlib import Path
from typing import Any

from seqloom.core.config.section import merge_values
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment
from seqloom.training.session import Session

TINY: dict[str, dict[str, Any]] = {
    "language": {
        "data": {"corpus": "brackets", "examples": 100, "corpus_length": 4},
        "train": {"steps": 12, "batch_size": 4, "bptt": 8, "validate_every": 4, "log_every": 3, "samples": 1},
        "decode": {"max_length": 5},
    },
    "classify": {
        "data": {"corpus": "numbers", "examples": 120, "corpus_length": 2, "valid_share": 0.2},
        "train": {"steps": 12, "batch_tokens": 64, "validate_every": 4, "log_every": 3},
    },
    "tag": {
        "data": {"corpus": "copy", "examples": 60, "corpus_length": 3, "valid_share": 0.2},
        "train": {"steps": 12, "batch_tokens": 64, "validate_every": 4, "log_every": 3},
    },
    "translate": {
        "data": {"corpus": "copy", "examples": 60, "corpus_length": 3, "valid_share": 0.2},
        "train": {"steps": 12, "batch_tokens": 64, "validate_every": 4, "log_every": 3},
        "decode": {"max_length": 5},
    },
    "caption": {
        "data": {"corpus": "scenes", "examples": 30, "corpus_length": 1, "valid_share": 0.2},
        "train": {"steps": 12, "batch_tokens": 64, "validate_every": 4, "log_every": 3},
        "decode": {"max_length": 5},
    },
}


def tiny(task: str, arch: str = "gru", **more: Any) -> Experiment:
    """A tiny experiment; `more` are nested values that override it."""
    base = {"task": task, "model": {"arch": arch, "size": "tiny"}, "train": {"device": "cpu"}}
    return experiment(merge_values(base, TINY[task], more))


def tiny_session(task: str, arch: str = "gru", **more: Any) -> Session:
    return Session.prepare(tiny(task, arch, **more))


def lines(folder: Path) -> list[dict[str, Any]]:
    """The events of the log, without times and without the events of an interruption."""
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    for event in events:
        for name in ("time", "seconds"):
            event.pop(name, None)
    return [event for event in events if event["event"] not in ("resume", "stop")]


def words(number: int, seed: int = 0) -> str:
    rng = random.Random(seed)
    return "".join(rng.choice("abcdefgh \n") for _ in range(number))
