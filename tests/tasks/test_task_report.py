"""Reports of built-in tasks and of a task without a report, without torch."""

import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, TaskEntry
from seqloom.tasks.task_report import TaskReport


@pytest.mark.parametrize("name", TASKS)
def test_the_report_of_a_task_does_not_import_torch(name: str) -> None:
    code = (
        "import sys; from seqloom.tasks.registry import TASKS; entry = TASKS[sys.argv[1]]; "
        "kind = entry.report; entry.config; kind({}, {}).sections(); list(kind({}, {}).evaluation_lines()); "
        "print(kind.__module__, [module for module in ('torch', 'numpy', 'matplotlib') if module in sys.modules])"
    )
    completed = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() in (f"seqloom.tasks.{name}.report []", "seqloom.tasks.task_report []")


def test_a_task_without_a_report_shows_only_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
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
    report = entry.report({"accuracy": 1.0}, {"anything": [1]})
    assert (report.sections(), report.score_notes(), report.drawings()) == ((), (), {})
    assert [*report.example_lines(), *report.remarks(), *report.evaluation_lines()] == []


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


def test_a_report_that_can_not_be_imported_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("tasks") / "broken"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "report.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(str(folder.parent))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = TaskEntry("broken", "break").report


def test_each_key_of_an_answer_is_one_line() -> None:
    answer = {"text": "two\nwords", "words": 2, "mean": 1 / 3}
    lines = [line.plain for line in TaskReport.answer_lines(answer, 12)]
    assert lines == ["text: two⏎w…", "words: 2", "mean: 0.3333", ""]
