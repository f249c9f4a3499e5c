"""A new run folder, its best weights, and its name."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from seqloom.core.problem import RunError
from seqloom.core.run_format import verify
from seqloom.runs.folder import claim_folder, create_run, free_name, refuse_existing, save_best
from tests.training.small import tiny


def create(folder: Path) -> Path:
    create_run(folder, tiny("tag"), {"words.json": "[]", "tags.json": "[]"}, {"corpus": "copy"})
    return folder


def test_a_new_run_is_complete_and_has_no_weights(tmp_path: Path) -> None:
    manifest = verify(create(tmp_path / "run"))
    assert (manifest.task, manifest.model, manifest.parameters) == ("tag", None, 0)
    assert set(manifest.files) == {"experiment.toml", "vocabulary/words.json", "vocabulary/tags.json"}
    assert {"python", "seqloom", "torch"} <= set(manifest.versions)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_folder_with_a_run_is_refused(tmp_path: Path) -> None:
    create(tmp_path / "run")
    with pytest.raises(
        RunError, match=r"already holds a run\. Continue it with `seqloom resume .*out='another/folder'"
    ):
        create(tmp_path / "run")


def test_a_folder_with_other_files_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("precious")
    with pytest.raises(RunError, match=r"thesis is a folder with other files\. Pass out='another/folder'\."):
        create(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "precious"
    (tmp_path / "file").write_text("precious")
    with pytest.raises(RunError, match=r"file is a file\. Pass out='another/folder'\."):
        refuse_existing(tmp_path / "file")


def test_an_empty_folder_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    verify(create(tmp_path / "run"))


def test_new_best_weights_replace_the_old_ones(tmp_path: Path) -> None:
    folder, model = create(tmp_path / "run"), nn.Linear(3, 2)
    save_best(folder, model.state_dict(), 8)
    first = verify(folder)
    with torch.no_grad():
        model.weight += 1
    save_best(folder, model.state_dict(), 8)
    second = verify(folder)
    assert second.model is not None
    assert first.model != second.model
    assert [file.name for file in folder.glob("model-*")] == [second.model]
    assert second.model[6:18] == second.files[second.model][:12]
    assert second.parameters == 8
    assert load_file(folder / second.model)["weight"].equal(model.weight)
    save_best(folder, model.state_dict(), 8)  # the same weights again
    assert verify(folder) == second


def test_a_free_name_is_not_taken(tmp_path: Path) -> None:
    first = free_name(tmp_path, "tag")
    assert first.parent == tmp_path
    assert first.name.startswith("tag-2")
    first.mkdir()
    second = free_name(tmp_path, "tag")
    assert not second.exists()
    assert second.name.startswith("tag-2")


def test_concurrent_claims_get_different_folders(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as threads:
        folders = list(threads.map(lambda _: claim_folder(tmp_path / "runs", "tag"), range(64)))
    assert len(set(folders)) == 64
    assert set((tmp_path / "runs").iterdir()) == set(folders)


@pytest.mark.parametrize("name", [".", "..", "/"])
def test_a_folder_without_a_name_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(RunError, match=r"is not a valid name for a new folder\. Pass out='another/folder'\."):
        refuse_existing(Path(name))


def test_a_name_that_was_taken_in_the_meantime_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, free = tmp_path / "late", tmp_path / "free"
    taken.mkdir()
    candidates = iter([taken, free])
    monkeypatch.setattr("seqloom.runs.folder.free_name", lambda *_: next(candidates))
    assert claim_folder(tmp_path, "tag") == free
    assert set(tmp_path.iterdir()) == {taken, free}
