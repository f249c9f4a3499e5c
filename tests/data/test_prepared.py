"""Prepared data are those of version 0.1.0, byte for byte (`tests/fixtures/README.md`)."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from seqloom.core.config.migration import migrate
from seqloom.tasks.registry import TASKS, experiment
from seqloom.training.session import Session

FIXTURES = Path(__file__).parent.parent / "fixtures"
CASES: dict[str, dict[str, Any]] = json.loads((FIXTURES / "prepared.json").read_text(encoding="utf-8"))
NOT_COMPARED = ("meta.json", "numbers.json")  # counts, which `describe` has too, and absolute paths


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@pytest.mark.parametrize("name", CASES)
def test_arrays_splits_and_vocabularies_are_unchanged(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.chdir(FIXTURES)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path))
    raw: dict[str, Any] = migrate(case["experiment"], TASKS[case["experiment"]["task"]].config.renamed)
    raw = {**raw, "data": {**raw["data"], "seed": raw.get("seed", 1)}}  # version 0.1.0 had one seed
    task = Session.prepare(experiment(raw)).task
    files = {
        "/".join(path.relative_to(tmp_path).parts[1:]): digest(path.read_bytes())
        for path in tmp_path.rglob("*")
        if path.is_file() and path.name not in NOT_COMPARED
    }
    assert files == {path: code for path, code in case["files"].items() if path not in NOT_COMPARED}
    assert {name: digest(content.encode()) for name, content in task.files().items()} == case["vocabulary"]
    assert task.describe() == case["describe"]
    batch = task.batch(task.epoch(0)[0])
    assert digest(batch.source.numpy().tobytes() + batch.target.numpy().tobytes()) == case["first_batch"]
