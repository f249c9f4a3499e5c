"""Sessions: the start of a run, its data on resume, and its files."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from seqloom.api import load, resume, start
from seqloom.core.problem import ArgumentError, RunError, UserError
from seqloom.nn.cells import GRU
from seqloom.nn.recurrent import Recurrent
from seqloom.runs.run import Run
from seqloom.runs.run_config import find_file, with_data, without_local_paths
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, experiment
from seqloom.training.events import Event, Reading, Ready, Resume, Tick
from seqloom.training.loop import Diverged
from seqloom.training.session import Session, peak_memory
from tests.training.small import lines, tiny, words
from tests.training.test_crash import assert_same, results

pytestmark = pytest.mark.usefixtures("unchecked")


class Interrupted(Exception):
    """An interruption of a run."""


NO_CORPUS = {"examples": None, "corpus_length": None}  # keys of embedded corpora


def config_of_files(folder: Path, **more: Any) -> Experiment:
    """The config of a language model of files with absolute paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(("train", "valid", "test")):
        (folder / f"{name}.txt").write_text(words(800 if name == "train" else 300, number), encoding="utf-8")
    data = {name: str((folder / f"{name}.txt").absolute()) for name in ("train", "valid", "test")}
    train = {"steps": 4, "batch_size": 4, "bptt": 8, "validate_every": 2, "samples": 1, "device": "cpu"}
    model = {"arch": "gru", "size": "tiny"}
    return experiment(
        {"task": "language", "model": model, "data": data, "train": train, "decode": {"max_length": 5}, **more}
    )


def interrupt(config: Experiment, folder: Path, at: int = 3) -> None:
    """Start a run and interrupt it at a step."""

    def listen(event: Event) -> None:
        if isinstance(event, Tick) and event.step == at:
            raise Interrupted

    with pytest.raises(Interrupted):
        start(config, folder, [listen])


def wide_encoder(size: int, *, causal: bool) -> Recurrent:
    return Recurrent(GRU(size, 8 if causal else 16))


def test_a_model_that_can_not_be_built_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny("translate", wide_encoder, model={"attention": "none", "bridge": "last"})
    with pytest.raises(ArgumentError, match=r"^LastBridge: .*; or use LastMapBridge \(last-map\)\.$"):
        start(config, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError):
        start(config)
    assert not list(tmp_path.glob("*run*/*"))
    corrected = tiny("translate", wide_encoder, model={"attention": "none", "bridge": "last-map"})
    assert start(corrected, tmp_path / "run").folder == tmp_path / "run"


def needs_values(size: int, *, causal: bool) -> Recurrent:
    layer = Recurrent(GRU(size, 8))
    assert not bool(layer.cell.input_weight.isnan().any())  # which raises an error on `meta`
    return layer


@pytest.mark.parametrize("task", TASKS)
def test_a_model_is_checked_once_without_values_or_random_numbers(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session.prepare(tiny(task))
    state, devices, build = torch.get_rng_state(), [], session.task.build

    def build_once() -> Any:
        model = build()
        devices.append({weight.device.type for weight in model.parameters()})
        return model

    monkeypatch.setattr(session.task, "build", build_once)
    session.check_model()
    assert devices == [{"meta"}]
    assert torch.equal(torch.get_rng_state(), state)


def test_a_model_whose_layers_need_values_is_checked_with_values() -> None:
    session, state = Session.prepare(tiny("translate", needs_values)), torch.get_rng_state()
    session.check_model()
    assert torch.equal(torch.get_rng_state(), state)


def test_no_absolute_path_is_in_the_run(tmp_path: Path) -> None:
    start(config_of_files(tmp_path / "data"), tmp_path / "run")
    assert str(tmp_path) not in (tmp_path / "run" / "experiment.toml").read_text(encoding="utf-8")
    local = json.loads((tmp_path / "run" / "local.json").read_text(encoding="utf-8"))
    assert local["files"]["valid"][0]["path"] == str(tmp_path / "data" / "valid.txt")
    for name in ("manifest.json", "scores.json", "report.html", "metrics.jsonl"):
        assert str(tmp_path) not in (tmp_path / "run" / name).read_text(encoding="utf-8").replace(
            str(tmp_path / "run"), ""
        )


def test_relative_paths_are_kept() -> None:
    config = tiny("language", data={"corpus": None, "train": ["texts/*.txt", "/far/away/more.txt"], **NO_CORPUS})
    data = without_local_paths(config).data
    assert data.train == ("texts/*.txt", "more.txt")
    assert config.data.train[1] == "/far/away/more.txt"


def test_resume_uses_the_original_files(tmp_path: Path) -> None:
    config = config_of_files(tmp_path / "data")
    start(config, tmp_path / "whole")
    interrupt(config, tmp_path / "run")
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", results(tmp_path / "whole"))


@pytest.mark.parametrize(
    "train",
    [
        {"bptt_random": True},
        {"accumulate": 3},
        {"carry_state": False},
        {"schedule": "plateau", "validate_every": 1},
        {"precision": "bf16"},
        {"optimizer": "adamw", "weight_decay": 0.1, "clip_value": 0.1},
    ],
    ids=str,
)
def test_resume_in_the_middle_of_an_epoch(train: dict[str, Any], tmp_path: Path) -> None:
    config = tiny("language", train={"steps": 8, "validate_every": 6, "checkpoint_every": 2, **train})
    start(config, tmp_path / "whole")
    interrupt(config, tmp_path / "run", at=5)
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", results(tmp_path / "whole"))


@pytest.mark.parametrize("content", ["{}", '{"files": []}', '{"files": {"train": [{"path": 3}]}}', "not JSON"])
def test_a_damaged_local_json_is_an_error(content: str, tmp_path: Path) -> None:
    interrupt(tiny("language", train={"steps": 4, "validate_every": 2}), tmp_path / "run")
    (tmp_path / "run" / "local.json").write_text(content)
    with pytest.raises(RunError, match=r"local\.json: .*damaged.*Restore the file from a copy\.$"):
        resume(tmp_path / "run")


@pytest.mark.parametrize("named", ["folder", "files"])
def test_moved_data_are_recognized_by_their_content(named: str, tmp_path: Path) -> None:
    config = config_of_files(tmp_path / "data")
    start(config, tmp_path / "whole")
    interrupt(config, tmp_path / "run")
    (tmp_path / "data").rename(tmp_path / "moved")
    with pytest.raises(
        RunError, match=r"train\.txt: the run's data is no longer there\. Pass its new location with data='PATH'\.$"
    ):
        resume(tmp_path / "run")
    moved = [tmp_path / "moved"] if named == "folder" else sorted((tmp_path / "moved").iterdir())
    resume(tmp_path / "run", [str(path) for path in moved])
    assert_same(tmp_path / "run", results(tmp_path / "whole"))


def test_changed_data_are_refused(tmp_path: Path) -> None:
    interrupt(config_of_files(tmp_path / "data"), tmp_path / "run")
    with (tmp_path / "data" / "valid.txt").open("a", encoding="utf-8") as file:
        file.write("x")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    with pytest.raises(RunError, match=r"valid\.txt: changed since the run began\. Restore the old file, or") as error:
        resume(tmp_path / "run")
    assert "\n" not in str(error.value)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}


def test_the_matching_file_of_several_is_used(tmp_path: Path) -> None:
    from seqloom.core.run_format import sha256

    lost = tmp_path / "lost" / "a.txt"
    for name, text in (("one", "wrong"), ("two", "right")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(text)
    right = tmp_path / "two" / "a.txt"
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert find_file(lost, sha256(right), folders) == right
    assert find_file(right, sha256(right), []) == right


def test_a_corpus_needs_no_file(tmp_path: Path) -> None:
    interrupt(tiny("classify", train={"steps": 4, "validate_every": 2}), tmp_path / "run")
    config = with_data(Run(tmp_path / "run").experiment, tmp_path / "run", [])
    assert (config.data.corpus, config.data.train) == ("numbers", ())


def test_data_that_give_another_vocabulary_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedded corpus may differ from one version of Python to the next."""
    config = tiny("language", train={"steps": 4, "validate_every": 2})
    interrupt(config, tmp_path / "run")
    prepare = Session.prepare
    other = tiny("language", data={"tokenizer": "byte"})
    monkeypatch.setattr(Session, "prepare", staticmethod(lambda *_: prepare(other)))
    with pytest.raises(
        RunError,
        match=r"the corpus 'brackets' would now be read differently than with the versions of the run \(python 3",
    ) as error:
        resume(tmp_path / "run")
    assert "\n" not in str(error.value)


def test_a_folder_that_holds_a_run_is_refused_and_not_changed(tmp_path: Path) -> None:
    start(config_of_files(tmp_path / "data"), tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(
        RunError, match=r"already holds a run\. Continue it with `seqloom resume .*out='another/folder'"
    ):
        start(config_of_files(tmp_path / "data", seed=2), tmp_path / "run")
    with pytest.raises(RunError, match="already holds a run"):  # and no data are read: this file does not exist
        start(tiny("language", data={"corpus": None, "train": "nowhere.txt", **NO_CORPUS}), tmp_path / "run")
    assert before == {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}


def test_the_scores_are_those_of_the_best_weights(tmp_path: Path) -> None:
    run = start(config_of_files(tmp_path / "data"), tmp_path / "run")
    scores = json.loads((tmp_path / "run" / "scores.json").read_text(encoding="utf-8"))
    assert scores == run.scores
    assert scores["chosen_by"] == "loss"
    valid = [line for line in lines(tmp_path / "run") if line["event"] == "valid"]
    best = min(valid, key=lambda line: line["scores"]["loss"])
    assert scores["best_step"] == best["step"]
    assert scores["valid"] == pytest.approx(best["scores"])
    assert math.isfinite(scores["test"]["loss"])
    assert scores["test"] != scores["valid"]
    cost = scores["cost"]
    assert cost["steps"] == 4
    assert cost["tokens"] == 4 * 4 * 8
    assert cost["tokens_per_second"] == pytest.approx(cost["tokens"] / cost["learning_seconds"], rel=0.2)
    assert 0 < cost["learning_seconds"] < cost["seconds"]
    assert cost["parameters"] == run.manifest.parameters == sum(weight.numel() for weight in run.model.parameters())
    assert cost["peak_memory_bytes"] > 1 << 20


def test_without_a_test_split_there_is_no_test_score(tmp_path: Path) -> None:
    assert "test" not in start(tiny("classify", train={"steps": 2, "validate_every": 2}), tmp_path / "run").scores


def test_before_the_first_validation_predict_is_an_error(tmp_path: Path) -> None:
    interrupt(tiny("classify", train={"steps": 4, "validate_every": 3, "checkpoint_every": 1}), tmp_path / "run", at=2)
    run = load(tmp_path / "run")
    assert run.scores == {}
    with pytest.raises(RunError, match=r"no weights yet.*before its first validation.*`seqloom resume ") as error:
        run.predict(["one"])
    assert "\n" not in str(error.value)


def test_a_run_resumes_from_the_checkpoint_before_a_damaged_one(tmp_path: Path) -> None:
    config = tiny("language", train={"steps": 6, "validate_every": 2})
    start(config, tmp_path / "whole")
    interrupt(config, tmp_path / "run", at=5)
    newest = max((tmp_path / "run" / "checkpoints").iterdir())
    (newest / "weights.safetensors").write_bytes(b"")
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", results(tmp_path / "whole"))


def test_damaged_checkpoints_are_removed_on_resume(tmp_path: Path) -> None:
    """Otherwise a later pruning could leave only damaged checkpoints."""
    config = tiny("language", train={"steps": 12, "validate_every": 4, "checkpoint_every": 2, "keep_checkpoints": 2})
    interrupt(config, tmp_path / "run", at=9)
    damaged = max((tmp_path / "run" / "checkpoints").iterdir())
    (damaged / "weights.safetensors").write_bytes(b"")
    folders: list[list[str]] = []

    def listen(event: Event) -> None:
        if isinstance(event, Resume):
            folders.append(sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir()))

    resume(tmp_path / "run", listeners=[listen])
    assert folders == [["step-000000006"]]


def update_local(folder: Path, **more: object) -> None:
    """Change keys of local.json, which has values of this machine."""
    local = json.loads((folder / "local.json").read_text(encoding="utf-8"))
    (folder / "local.json").write_text(json.dumps(local | more), encoding="utf-8")


def test_a_corpus_of_another_version_is_refused(tmp_path: Path) -> None:
    """Its text may have the same characters in another order, which the vocabulary does not show."""
    config = tiny("classify", train={"steps": 4, "validate_every": 2})
    interrupt(config, tmp_path / "run")
    update_local(tmp_path / "run", made_with={"num2words": "0.0.1"})
    with pytest.raises(
        RunError, match=r"the corpus 'numbers' was made with num2words 0\.0\.1, and would be different with edition"
    ):
        resume(tmp_path / "run")


def test_resume_uses_the_original_device_or_another_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny("language", train={"steps": 4, "validate_every": 2, "device": "auto"})
    interrupt(config, tmp_path / "run")
    assert json.loads((tmp_path / "run" / "local.json").read_text(encoding="utf-8"))["device"] == "cpu"
    update_local(tmp_path / "run", device="mps")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UserError, match=r"train.device mps: torch finds no such device here"):
        resume(tmp_path / "run")
    assert resume(tmp_path / "run", device="cpu").scores["cost"]["steps"] == 4


DIVERGES = {
    "steps": 60,
    "optimizer": "sgd",
    "lr": 1000,
    "clip_norm": "none",
    "max_skipped_steps": 3,
    "validate_every": 1,
}


@pytest.mark.parametrize("task", ["language", "classify", "tag"])
def test_a_run_that_diverges_ends_with_an_error_and_a_report(task: str, tmp_path: Path) -> None:
    """Validations before that evaluate the weights as they are and raise no other error."""
    with pytest.raises(Diverged, match=r"^3 steps in a row with a non-finite loss or gradient.*Lower train\.lr"):
        start(tiny(task, "rnn-relu", model={"depth": 4}, train=DIVERGES), tmp_path / "run")
    assert (tmp_path / "run" / "report.html").exists()
    assert sum(line["event"] == "skip" for line in lines(tmp_path / "run")) >= 3


def test_deterministic_mode_is_on_during_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    seen: list[bool] = []

    def listen(event: Event) -> None:
        if not isinstance(event, Reading | Ready):
            seen.append(torch.are_deterministic_algorithms_enabled())

    start(tiny("tag", train={"steps": 3, "validate_every": 3, "deterministic": True}), tmp_path / "run", [listen])
    assert len(seen) > 3
    assert all(seen)
    assert not torch.are_deterministic_algorithms_enabled()


def test_rmsprop_resumes_with_the_same_momentum(tmp_path: Path) -> None:
    """The resolved config has every key, and each must keep its meaning."""
    config = tiny("language", train={"steps": 4, "validate_every": 2, "optimizer": "rmsprop"})
    start(config, tmp_path / "whole")
    interrupt(config, tmp_path / "run")
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", results(tmp_path / "whole"))


def test_a_run_resumes_in_another_folder(tmp_path: Path) -> None:
    config = tiny("tag", train={"steps": 4, "validate_every": 2})
    start(config, tmp_path / "whole")
    interrupt(config, tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "elsewhere" / "copy")
    resume(tmp_path / "elsewhere" / "copy")
    assert_same(tmp_path / "elsewhere" / "copy", results(tmp_path / "whole"))


def test_memory_is_in_bytes() -> None:
    assert 1 << 24 < peak_memory(torch.device("cpu")) < 1 << 40


# Images ---------------------------------------------------------------------------------------------------------------


def config_of_images(folder: Path) -> Experiment:
    """The config of a captioning run of images with captions."""
    (folder / "photos").mkdir(parents=True)
    for i in range(30):
        Image.new("RGB", (9, 9), (8 * i, 0, 0)).save(folder / f"photos/{i}.png")
    rows = [f"photos/{i}.png\ta photo of {i % 4}\n" for i in range(30)]
    (folder / "captions.tsv").write_text("".join(rows), encoding="utf-8")
    data = {"train": [str(folder / "captions.tsv")], "image_size": 8, "corpus": None, **NO_CORPUS}
    return tiny("caption", data=data, train={"steps": 4, "validate_every": 2})


def test_changed_images_are_refused(tmp_path: Path) -> None:
    interrupt(config_of_images(tmp_path / "data"), tmp_path / "run")
    for photo in (tmp_path / "data" / "photos").iterdir():
        Image.new("RGB", (9, 9)).save(photo)
    with pytest.raises(RunError, match=r"captions\.tsv: its images changed since the run began\. Restore the old ones"):
        resume(tmp_path / "run")


def test_moved_images_are_recognized_by_their_content(tmp_path: Path) -> None:
    config = config_of_images(tmp_path / "data")
    start(config, tmp_path / "whole")
    interrupt(config, tmp_path / "run")
    shutil.copytree(tmp_path / "data", tmp_path / "moved", copy_function=shutil.copy)  # with other modification times
    shutil.rmtree(tmp_path / "data")
    resume(tmp_path / "run", [str(tmp_path / "moved")])
    assert_same(tmp_path / "run", results(tmp_path / "whole"))
