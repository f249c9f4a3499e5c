"""What people see of a task: of each that there is, of one that says nothing, and without torch."""

import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, TaskEntry
from seqloom.tasks.task_report import TaskReport


@pytest.mark.parametrize("name", TASKS)
def test_a_task_says_how_it_is_shown_without_torch(name: str) -> None:
    code = (
        "import sys; from seqloom.tasks.registry import TASKS; entry = TASKS[sys.argv[1]]; "
        "kind = entry.report; entry.config; kind({}, {}).sections(); list(kind({}, {}).evaluation_lines()); "
        "print(kind.__module__, [module for module in ('torch', 'numpy', 'matplotlib') if module in sys.modules])"
    )
    made = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True)
    assert made.stdout.strip() in (f"seqloom.tasks.{name}.report []", "seqloom.tasks.task_report []")


def test_a_task_without_a_report_shows_its_scores_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("toy")
    package.__path__ = []
    config = ModuleType("toy.config")
    config.__spec__ = ModuleSpec("toy.config", None)
    config.Config = Experiment  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy", package)
    monkeypatch.setitem(sys.modules, "toy.config", config)
    entry = TaskEntry("toy", "count words")
    assert entry.report is TaskReport
    assert entry.config is Experiment
    shown = entry.report({"accuracy": 1.0}, {"anything": [1]})
    assert (shown.sections(), shown.score_notes(), shown.drawings()) == ((), (), {})
    assert [*shown.example_lines(), *shown.remarks(), *shown.evaluation_lines()] == []


def test_a_task_may_be_one_module(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shouting(TaskReport):
        pass

    class Config(Experiment):
        architecture = "gru"

    module, entry = ModuleType("toy"), TaskEntry("toy", "count words")
    monkeypatch.setitem(sys.modules, "toy", module)
    monkeypatch.setattr(module, "Config", Experiment, raising=False)
    assert (entry.report, entry.config) == (TaskReport, Experiment)
    monkeypatch.setattr(module, "REPORT", Shouting, raising=False)
    monkeypatch.setattr(module, "Config", Config)
    assert (entry.report, entry.config) == (Shouting, Config)


def test_a_report_that_can_not_be_imported_is_not_taken_for_none(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("tasks") / "broken"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "report.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(str(folder.parent))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = TaskEntry("broken", "break").report


def test_an_answer_by_key_stays_in_its_line() -> None:
    answer = {"text": "two\nwords", "words": 2, "mean": 1 / 3}
    lines = [line.plain for line in TaskReport.answer_lines(answer, 12)]
    assert lines == ["text: two⏎w…", "words: 2", "mean: 0.3333", ""]
