"""Checkpoints: restored bit for bit, skipped if damaged, stored as safetensors and JSON alone."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save as save_tensors

from seqloom.core.names import OPTIMIZERS
from seqloom.core.problem import RunError
from seqloom.core.run_format import sha256
from seqloom.training import checkpoints
from seqloom.training.loop import Trainer
from seqloom.training.optimization import state_tensors
from tests.training.small import tiny_session

CPU = torch.device("cpu")


def trainer_after(steps: int, task: str = "language", arch: str = "gru", **more: Any) -> Trainer:
    trainer = tiny_session(task, arch, **more).trainer([])
    for _ in range(steps):
        trainer.step()
    return trainer


def save(folder: Path, trainer: Trainer) -> Path:
    return checkpoints.save(folder, trainer)


def restore(path: Path, trainer: Trainer) -> Trainer:
    checkpoints.restore(path, trainer)
    return trainer


def assert_same(actual: Trainer, expected: Trainer) -> None:
    """The weights, the optimizer state, the carried state and the progress are equal."""
    for name, tensor in actual.model.state_dict().items():
        assert tensor.equal(expected.model.state_dict()[name]), name
    first, second = state_tensors(actual.optimizer), state_tensors(expected.optimizer)
    assert set(first) == set(second)
    assert all(tensor.equal(second[name]) for name, tensor in first.items())
    assert (actual.state is None) == (expected.state is None)
    if actual.state is not None and expected.state is not None:
        assert set(actual.state) == set(expected.state)
        assert all(tensor.equal(expected.state[name]) for name, tensor in actual.state.items())
        assert actual.state.max_position == expected.state.max_position
        assert actual.state.position is not None
        assert expected.state.position is not None
        assert actual.state.position.equal(expected.state.position)
    assert actual.progress == expected.progress


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_resumes(name: str, tmp_path: Path) -> None:
    more = {"train": {"optimizer": name, "lr": 0.01}}
    whole = trainer_after(3, **more)
    path = save(tmp_path, whole)
    again = restore(path, trainer_after(1, **more))  # every value is replaced
    assert_same(whole, again)
    for trainer in (whole, again):
        trainer.step()
        trainer.step()
    assert_same(whole, again)


@pytest.mark.parametrize("arch", ["rnn", "lstm", "lstm-peephole", "gru", "window", "conv", "transformer"])
def test_every_kind_of_state_resumes(arch: str, tmp_path: Path) -> None:
    model = {"norm": "batch"} if arch == "conv" else {}
    whole = trainer_after(2, arch=arch, model=model)
    again = restore(save(tmp_path, whole), tiny_session("language", arch, model=model).trainer([]))
    for trainer in (whole, again):
        trainer.step()
    assert_same(whole, again)


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_task_without_a_state_resumes(task: str, tmp_path: Path) -> None:
    whole = trainer_after(2, task)
    path = save(tmp_path, whole)
    again = restore(path, tiny_session(task).trainer([]))
    assert again.state is None
    assert_same(whole, again)
    assert not (path / checkpoints.CARRIED).exists()


def test_a_checkpoint_has_only_safetensors_and_json(tmp_path: Path) -> None:
    path = save(tmp_path, trainer_after(2))
    assert {file.suffix for file in path.iterdir()} == {".safetensors", ".json"}
    hashes = json.loads((path / checkpoints.MANIFEST).read_text())
    assert set(hashes) == {file.name for file in path.iterdir()} - {checkpoints.MANIFEST}
    for file in path.iterdir():
        assert not file.read_bytes().startswith((b"\x80", b"PK"))  # a pickle; torch.save's archive


def two_checkpoints(folder: Path) -> tuple[Path, Path]:
    trainer = trainer_after(1)
    older = save(folder, trainer)
    trainer.step()
    return older, save(folder, trainer)


def test_the_newest_checkpoint_is_used(tmp_path: Path) -> None:
    older, newer = two_checkpoints(tmp_path)
    assert checkpoints.list_checkpoints(tmp_path) == [older, newer]
    assert checkpoints.latest(tmp_path) == newer


@pytest.mark.parametrize(
    "name", ["weights.safetensors", "optimiser.safetensors", "carried.safetensors", "progress.json"]
)
@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
def test_a_damaged_checkpoint_is_skipped(name: str, how: str, tmp_path: Path) -> None:
    older, newer = two_checkpoints(tmp_path)
    file, content = newer / name, (newer / name).read_bytes()
    if how == "gone":
        file.unlink()
    else:
        flipped = content[:-1] + bytes([content[-1] ^ 1])
        file.write_bytes(flipped if how == "flip" else content[: len(content) // 2])
    assert checkpoints.latest(tmp_path) == older


def test_damaged_checkpoints_newer_than_the_one_used_are_removed(tmp_path: Path) -> None:
    older, newer = two_checkpoints(tmp_path)
    checkpoints.remove_newer(tmp_path, newer)
    assert checkpoints.list_checkpoints(tmp_path) == [older, newer]
    checkpoints.remove_newer(tmp_path, older)
    assert checkpoints.list_checkpoints(tmp_path) == [older]


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_damaged_manifest_is_skipped(content: str, tmp_path: Path) -> None:
    older, newer = two_checkpoints(tmp_path)
    (newer / checkpoints.MANIFEST).write_text(content)
    assert checkpoints.latest(tmp_path) == older


def test_if_all_are_damaged_the_error_names_the_newest(tmp_path: Path) -> None:
    older, newer = two_checkpoints(tmp_path)
    for path in (older, newer):
        (path / checkpoints.WEIGHTS).write_bytes(b"")
    with pytest.raises(RunError) as error:
        checkpoints.latest(tmp_path)
    assert str(newer / checkpoints.WEIGHTS) in str(error.value)
    assert "\n" not in str(error.value)


def test_without_checkpoints_latest_is_none(tmp_path: Path) -> None:
    assert checkpoints.latest(tmp_path) is None


def test_a_damaged_checkpoint_is_replaced(tmp_path: Path) -> None:
    older, newer = two_checkpoints(tmp_path)
    (newer / checkpoints.WEIGHTS).write_bytes(b"")
    trainer = restore(older, tiny_session("language").trainer([]))
    trainer.step()
    assert save(tmp_path, trainer) == newer
    assert checkpoints.latest(tmp_path) == newer
    assert_same(trainer, restore(newer, tiny_session("language").trainer([])))


def test_prune_keeps_the_last_few(tmp_path: Path) -> None:
    trainer = tiny_session("language").trainer([])
    for _ in range(4):
        trainer.step()
        save(tmp_path, trainer)
    checkpoints.prune(tmp_path, 2)
    assert [path.name for path in checkpoints.list_checkpoints(tmp_path)] == ["step-000000003", "step-000000004"]
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {"step-000000003", "step-000000004"}
    checkpoints.prune(tmp_path, 5)
    assert len(checkpoints.list_checkpoints(tmp_path)) == 2
    checkpoints.prune(tmp_path, 1, also_keep=[2, 3])
    assert len(checkpoints.list_checkpoints(tmp_path)) == 2
    checkpoints.prune(tmp_path, 1)
    assert [path.name for path in checkpoints.list_checkpoints(tmp_path)] == ["step-000000004"]


def test_other_folders_are_not_pruned(tmp_path: Path) -> None:
    save(tmp_path, trainer_after(1))
    for name in ("step-final", ".making-step-000000009", "notes"):
        (tmp_path / "checkpoints" / name).mkdir()
    checkpoints.prune(tmp_path, 1)
    assert len(list((tmp_path / "checkpoints").iterdir())) == 4


def test_an_invalid_weight_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(b"not tensors at all")
    with pytest.raises(RunError, match=r"weights\.safetensors: can't be read .*Restore the file from a copy\."):
        checkpoints.read_tensors(path, CPU)


CRAFTED: dict[str, Any] = {
    "progress.json": [
        "[]",
        "{}",
        '{"progress": {"step": "x"}, "max_position": 0}',
        '{"progress": {"step": 1}, "max_position": [1]}',
        '{"progress": {"validations": 3}, "max_position": 0}',
        '{"progress": {"validations": ["x"]}, "max_position": 0}',
    ],
    "weights.safetensors": [{}, {"other": torch.zeros(2)}],
    "optimiser.safetensors": [{"x.y": torch.zeros(2)}, {"99999.step": torch.zeros(2)}, {"0.exp_avg": torch.zeros(2)}],
}


@pytest.mark.parametrize(
    ("name", "content"), [(name, content) for name, contents in CRAFTED.items() for content in contents]
)
def test_invalid_content_with_valid_hashes_is_an_error(name: str, content: Any, tmp_path: Path) -> None:
    path = save(tmp_path, trainer_after(2))
    (path / name).unlink()
    (path / name).write_bytes(content.encode() if isinstance(content, str) else save_tensors(content))
    hashes = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").unlink()
    (path / "manifest.json").write_text(json.dumps({**hashes, name: sha256(path / name)}))
    assert checkpoints.latest(tmp_path) == path
    with pytest.raises(RunError, match=r"step-000000002.*\. (Remove|Restore)"):
        restore(path, trainer_after(0))
