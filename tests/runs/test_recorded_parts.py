"""User-defined parts are recorded when a run is created; missing or changed ones give one message when it is opened."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.core.names import ACTIVATIONS as NAMES
from seqloom.core.names import SCORES
from seqloom.core.part import Part
from seqloom.core.part_origin import Origin
from seqloom.core.problem import PartWarning, RunError
from seqloom.core.run_format import MANIFEST, Manifest, RecordedPart, read_manifest, write_manifest
from seqloom.runs.folder import create_run
from seqloom.runs.recorded_parts import open_manifest, parts_to_record, recorded_part
from seqloom.tasks.registry import experiment

pytestmark = pytest.mark.usefixtures("forget_parts")

ONE, OTHER = "1" * 64, "2" * 64
OF_FILE = Origin("my_parts", "my_parts.py", ONE, "my_parts.py:3")
OF_NOTEBOOK = Origin("__main__", location="__main__")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_with_parts(*parts: RecordedPart) -> Path:
    """A run folder with only a manifest."""
    Path("run").mkdir()
    write_manifest(Path("run"), Manifest("tag", "2026-01-31", parts=parts))
    return Path("run")


def error_message(run: Path) -> str:
    with pytest.raises(RunError) as caught:
        open_manifest(run)
    with pytest.raises(RunError) as again:
        open_manifest(run, resume=True)
    assert str(caught.value) == str(again.value)
    return str(caught.value)


def warning(run: Path) -> str:
    with pytest.warns(PartWarning) as caught:
        open_manifest(run)
    assert len(caught) == 1
    return str(caught[0].message)


# Recorded ------------------------------------------------------------------------------------------------------------


def run_with_activation(name: str) -> Path:
    model = {"arch": "conv", "size": "tiny", "gate": "none", "activation": name}
    config = experiment({"task": "classify", "model": model})
    create_run(Path("run"), config, {}, {}, parts_to_record(config))
    return Path("run")


def test_a_run_records_the_parts_that_it_uses() -> None:
    NAMES.add("mine", OF_FILE)
    NAMES.add("other", OF_FILE)
    assert read_manifest(run_with_activation("mine")).parts == (RecordedPart("activation", "mine", "my_parts.py", ONE),)
    [part] = json.loads(Path("run", MANIFEST).read_text(encoding="utf-8"))["parts"]
    assert part == {"kind": "activation", "name": "mine", "file": "my_parts.py", "sha256": ONE}


def test_a_part_without_a_file_is_recorded_by_its_module() -> None:
    NAMES.add("mine", OF_NOTEBOOK)
    assert read_manifest(run_with_activation("mine")).parts == (RecordedPart("activation", "mine", module="__main__"),)


def test_a_run_of_built_in_parts_records_none() -> None:
    assert parts_to_record(experiment({"task": "translate"})) == ()
    assert "parts" not in json.loads((run_with_activation("tanh") / MANIFEST).read_text(encoding="utf-8"))


# Missing -------------------------------------------------------------------------------------------------------------


def test_a_missing_part_is_named_with_its_file() -> None:
    run = run_with_parts(RecordedPart("activation", "mine", "my_parts.py", ONE))
    advice = "Pass --code my_parts.py (in Python, import the module that registers it)"
    assert (
        error_message(run) == f"run: made with the activation 'mine' of my_parts.py, which is not registered. {advice}."
    )


def test_all_missing_parts_are_in_one_message() -> None:
    NAMES.add("there", OF_FILE)
    run = run_with_parts(
        RecordedPart("activation", "mine", "my_parts.py", ONE),
        RecordedPart("activation", "there", "my_parts.py", ONE),
        RecordedPart("score", "near", "my scores.py", OTHER),
        RecordedPart("family", "pairs", "my_parts.py", ONE),
        RecordedPart("task", "count", module="__main__"),
    )
    message = (
        "made with the activation 'mine' and the family 'pairs' of my_parts.py, the score 'near' of my scores.py and "
        "the task 'count' of the module __main__, which are not registered"
    )
    advice = (
        "Pass --code my_parts.py --code 'my scores.py' (in Python, import the modules that register them), and "
        "register those of modules first"
    )
    assert error_message(run) == f"run: {message}. {advice}."


def test_a_missing_part_of_a_module_is_named_with_its_module() -> None:
    run = run_with_parts(RecordedPart("score", "near", module="__main__"))
    advice = "Register it first (on the command line, from a file that --code names)"
    sentence = "run: made with the score 'near' of the module __main__, which is not registered"
    assert error_message(run) == f"{sentence}. {advice}."


def test_a_part_of_an_unknown_kind_is_missing() -> None:
    assert "made with the gizmo 'mine' of" in error_message(
        run_with_parts(RecordedPart("gizmo", "mine", "my_parts.py", ONE))
    )


def test_missing_parts_are_reported_before_a_missing_task_and_the_config() -> None:
    NAMES.add("mine", OF_FILE)
    run = run_with_activation("mine")
    NAMES.remove("mine")
    with pytest.raises(RunError, match=r"^run: made with the activation 'mine' of my_parts\.py"):
        seqloom.load(run)
    with pytest.raises(RunError, match=r"^run: made with the activation 'mine' of my_parts\.py"):
        seqloom.resume(run)


def test_runs_are_listed_and_reported_without_their_parts(capsys: pytest.CaptureFixture[str]) -> None:
    NAMES.add("mine", OF_FILE)
    run = run_with_activation("mine")
    NAMES.remove("mine")
    assert main(["runs", "."]) == 0
    assert "not begun" in capsys.readouterr().out
    assert main(["report", "run"]) == 0
    sentence = "run: made with the activation 'mine' of my_parts.py, which is not registered."
    assert capsys.readouterr().err.startswith(f"warning {sentence}")
    assert "made with the activation" in (run / "report.html").read_text(encoding="utf-8")


def test_a_report_leaves_out_a_damaged_list_of_parts(capsys: pytest.CaptureFixture[str]) -> None:
    run = run_with_activation("tanh")
    manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    (run / MANIFEST).write_text(json.dumps({**manifest, "parts": [{"kind": "\x1b[31m"}]}), encoding="utf-8")
    assert main(["report", "run"]) == 0
    assert capsys.readouterr().err == ""
    assert "manifest.json has a list of parts that can" in (run / "report.html").read_text(encoding="utf-8")


# Changed -------------------------------------------------------------------------------------------------------------

CHANGED = (
    "run: made with the activation 'mine' of my_parts.py (SHA-256 22222222…), now of my_parts.py (SHA-256 11111111…)"
)


def test_a_changed_part_is_a_warning_and_can_not_resume() -> None:
    NAMES.add("mine", OF_FILE)
    run = run_with_parts(RecordedPart("activation", "mine", "my_parts.py", OTHER))
    assert warning(run) == f"{CHANGED}. Its results may differ."
    with pytest.raises(RunError) as caught:
        open_manifest(run, resume=True)
    advice = "Register the parts that it was made with (--code names their file), or start a new run"
    assert str(caught.value) == f"{CHANGED}. {advice}."


def test_all_changed_parts_are_one_warning() -> None:
    NAMES.add("mine", OF_FILE)
    SCORES.add("near", OF_FILE)
    NAMES.add("third", OF_NOTEBOOK)
    run = run_with_parts(
        RecordedPart("activation", "mine", "my_parts.py", OTHER),
        RecordedPart("score", "near", "my_parts.py", OTHER),
        RecordedPart("activation", "third", module="cells"),
    )
    sentence = CHANGED.replace("'mine'", "'mine' and the score 'near'")
    other = "the activation 'third' of the module cells, now of the module __main__"
    assert warning(run) == f"{sentence}, and {other}. Its results may differ."


@pytest.mark.parametrize(
    ("recorded", "present"),
    [
        (Origin("my_parts", "my_parts.py", ONE), OF_NOTEBOOK),
        (OF_NOTEBOOK, Origin("my_parts", "my_parts.py", ONE)),
        (OF_NOTEBOOK, Origin("cells")),
    ],
)
def test_a_part_without_a_file_is_compared_by_its_module(recorded: Origin, present: Origin) -> None:
    NAMES.add("mine", present)
    run = run_with_parts(recorded_part(Part("activation", "mine", recorded)))
    assert "the activation 'mine' of " in warning(run)
    with pytest.raises(RunError, match="start a new run"):
        open_manifest(run, resume=True)


@pytest.mark.parametrize("present", [OF_FILE, Origin("parts", "moved.py", ONE)])
def test_a_moved_file_is_the_same_part(present: Origin) -> None:
    NAMES.add("mine", present)
    run = run_with_parts(RecordedPart("activation", "mine", "my_parts.py", ONE))
    assert open_manifest(run) == open_manifest(run, resume=True)


def test_a_part_of_a_notebook_is_the_same_part_there() -> None:
    NAMES.add("mine", OF_NOTEBOOK)
    run = run_with_parts(RecordedPart("activation", "mine", module="__main__"))
    assert open_manifest(run) == open_manifest(run, resume=True)


@pytest.mark.parametrize(
    ("kind", "name"), [("activation", "tanh"), ("cell", "lstm"), ("family", "conv"), ("task", "tag")]
)
def test_a_part_that_is_now_built_in_is_not_missing(kind: str, name: str) -> None:
    run = run_with_parts(RecordedPart(kind, name, "my_parts.py", ONE))
    assert open_manifest(run) == open_manifest(run, resume=True)


def build() -> None: ...


def test_a_run_of_a_build_function_needs_the_function() -> None:
    NAMES.add("mine", OF_FILE)
    recorded = recorded_part(Part("model", "build", Origin.of(build)))
    run = run_with_parts(recorded, RecordedPart("activation", "mine", "my_parts.py", ONE))
    assert open_manifest(run, build) == open_manifest(run, build, resume=True)
    advice = "Pass the function: seqloom.load(folder, model=build), or resume(folder, model=build)"
    assert (
        error_message(run) == f"run: its layers were built by the function build of test_recorded_parts.py. {advice}."
    )
    write_manifest(run, replace(read_manifest(run), parts=(replace(recorded, sha256=OTHER),)))
    with pytest.raises(RunError, match=r"the model 'build' of test_recorded_parts\.py \(SHA-256 22222222…\), now"):
        open_manifest(run, build, resume=True)
