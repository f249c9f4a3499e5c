"""Classification: one label or several; what is shown of it in a report."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import seqloom
from seqloom.api import start
from seqloom.core.problem import ConfigError, UserError
from seqloom.lens.report import read_report
from seqloom.tasks.classify.report import ClassifyReport
from seqloom.tasks.classify.task import Classify
from seqloom.tasks.registry import experiment
from seqloom.training.session import Session
from tests.training.small import tiny, tiny_session

pytestmark = pytest.mark.usefixtures("unchecked")
CPU = torch.device("cpu")


def task_of(**more: Any) -> tuple[Classify, Any]:
    trainer = tiny_session("classify", **more).trainer([])
    assert isinstance(trainer.task, Classify)
    return trainer.task, trainer.model.eval()


def moods(folder: Path) -> Path:
    """Texts with one label, several, or none."""
    rows = []
    for i in range(60):
        labels = [name for name, holds in (("glad", i % 2 == 0), ("long", i % 3 == 0)) if holds]
        rows.append(
            f"{'happy ' if i % 2 == 0 else 'sour '}{'on and on ' * (1 + 3 * (i % 3 == 0))}{i},{'|'.join(labels)}"
        )
    path = folder / "moods.csv"
    path.write_text("text,label\n" + "\n".join(row for row in rows if not row.endswith(",")) + "\n", encoding="utf-8")
    return path


def several(folder: Path, **train: Any) -> Any:
    return experiment(
        {
            "task": "classify",
            "model": {"arch": "gru", "size": "tiny", "dropout": 0.0, **train.pop("model", {})},
            "data": {"train": str(moods(folder)), "label_separator": "|", "valid_share": 0.3},
            "train": {"steps": 60, "validate_every": 30, "batch_tokens": 512, "lr": 0.02, "device": "cpu", **train},
        }
    )


def test_several_labels_from_file_to_answer(tmp_path: Path) -> None:
    run = start(several(tmp_path), tmp_path / "run")
    assert run.scores["chosen_by"] == "micro_f1"
    assert run.scores["valid"]["micro_f1"] > 0.8
    assert {"exact_match", "macro_f1", "loss"} <= set(run.scores["valid"])
    answer = seqloom.load(tmp_path / "run").predict(["happy on and on on and on on and on on and on 3"])[0]
    assert set(answer["probabilities"]) == {"glad", "long"}
    assert set(answer["labels"]) == {name for name, p in answer["probabilities"].items() if p >= 0.5}
    assert list(answer["probabilities"].values()) == sorted(answer["probabilities"].values(), reverse=True)
    told = read_report(tmp_path / "run")
    assert told.html()
    assert told.problems == ()
    assert isinstance(told.details, ClassifyReport)
    assert {each.label for each in told.details.per_class} <= {"glad", "long"}
    evaluation = run.evaluate([str(tmp_path / "moods.csv")])
    assert evaluation.scores["micro_f1"] > 0.8
    assert "baseline" not in evaluation.details  # which one label would it be?


@pytest.mark.parametrize("smoothing", [None, 0.3])
def test_several_labels_found_on_reading_have_nothing_to_smooth(smoothing: float | None, tmp_path: Path) -> None:
    rows = [{"text": f"a {i}", "label": ["x", "y"] if i % 2 else ["y"]} for i in range(20)]
    (tmp_path / "moods.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    train = {} if smoothing is None else {"label_smoothing": smoothing}
    chosen = experiment({"task": "classify", "data": {"train": str(tmp_path / "moods.jsonl")}, "train": train})
    if smoothing is not None:
        with pytest.raises(ConfigError, match=r"train\.label_smoothing is 0\.3, and has no effect .* several labels"):
            Session.prepare(chosen)
    else:
        assert Session.prepare(chosen).experiment.train.label_smoothing == 0


def test_several_labels_with_the_loss_at_every_step(tmp_path: Path) -> None:
    chosen = several(tmp_path, loss_at="every", steps=3, validate_every=3, model={"pool": "last"})
    assert start(chosen, tmp_path / "run").scores["valid"]["loss"] > 0


def test_a_report_has_all_its_parts(tmp_path: Path) -> None:
    run = start(tiny("classify"), tmp_path / "run")
    told = read_report(tmp_path / "run")
    assert told.html()
    assert told.problems == ()
    shown = told.details
    assert isinstance(shown, ClassifyReport)
    assert shown.confusion is not None
    valid = int(sum(map(sum, shown.confusion.counts)))
    assert sum(bin_.predictions for bin_ in shown.calibration) == valid
    assert sum(each.support or 0 for each in shown.per_class) == valid
    assert shown.worst
    for wrong in shown.worst:
        assert wrong.gold != wrong.predicted
        assert wrong.location.startswith("numbers:")
    right = sum(shown.confusion.counts[i][i] for i in range(len(shown.confusion.labels)))
    assert run.scores["valid"]["accuracy"] == pytest.approx(right / valid)


def test_scores_equal_those_of_predict(tmp_path: Path) -> None:
    """The same texts asked one by one: accuracy by hand."""
    run = start(tiny("classify"), tmp_path / "run")
    task = tiny_session("classify").task
    assert isinstance(task, Classify)
    part = task.data.splits["valid"]
    texts = [part.text("texts", row) for row in range(len(part))]
    gold = [task.labels[int(part["labels"][row][0])] for row in range(len(part))]
    said = [answer["label"] for answer in run.predict(texts)]
    assert run.scores["valid"]["accuracy"] == pytest.approx(
        sum(a == b for a, b in zip(gold, said, strict=True)) / len(gold)
    )


def test_a_batch_holds_the_rows_it_names() -> None:
    task, _ = task_of()
    batch = task.batch(task.epoch(0)[0])
    part = task.data.splits["train"]
    assert batch.lengths is not None
    for row, tokens, length, label in zip(batch.rows, batch.source, batch.lengths.tolist(), batch.target, strict=True):
        assert tokens[:length].tolist() == part["tokens"][row].tolist()
        assert not tokens[length:].any()
        assert [int(label)] == part["labels"][row].tolist()
    shown = list(task.format_batch(batch))
    assert len(shown) == len(batch.rows)
    assert all(line.split(" -> ")[1] in task.labels for line in shown)


def test_a_long_text_is_cut_where_training_cuts() -> None:
    task, model = task_of(data={"max_length": 4})
    assert task.tokenizer.kind == "character"
    with torch.inference_mode():
        long, short = task.predict(model, ["one two three", "one "], CPU)
    assert long["probabilities"] == pytest.approx(short["probabilities"])
    assert long["cut"] is True
    assert short["cut"] is False


def test_a_text_without_a_known_token_has_an_answer() -> None:
    task, model = task_of()
    with torch.inference_mode():
        (answer,) = task.predict(model, ["漢字"], CPU)
    assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-5)


def test_data_in_a_line() -> None:
    told = task_of(data={"test_share": 0.2, "max_length": 2})[0].describe()
    for words in (" training", " validation", " test", "labels", "truncated at 2 tokens"):
        assert words in told


def test_a_task_that_only_predicts_has_no_data() -> None:
    task, _ = task_of()
    with pytest.raises(UserError, match="has not read any data"):
        _ = Classify.from_files(task.experiment, task.files()).data


@pytest.mark.parametrize("form", ["a folder a class", "a file a class"])
def test_what_went_wrong_is_found_in_the_file_it_came_from(form: str, tmp_path: Path) -> None:
    for label in ("pos", "neg"):
        texts = {f"{i}.txt": f"{label} film number {i}" for i in range(40)}
        if form == "a folder a class":
            (tmp_path / "films" / label).mkdir(parents=True)
            for name, text in texts.items():
                (tmp_path / "films" / label / name).write_text(text, encoding="utf-8")
        else:
            (tmp_path / "films").mkdir(exist_ok=True)
            (tmp_path / "films" / f"{label}.txt").write_text("\n".join(texts.values()), encoding="utf-8")
    test = tmp_path / "test.csv"
    test.write_text("text,label\na fine film,pos\na sad film,neg\n", encoding="utf-8")
    chosen = experiment({"task": "classify", "data": {"train": str(tmp_path / "films"), "test": str(test)}})
    (tmp_path / "films").rename(tmp_path / "moved")
    moved = experiment({"task": "classify", "data": {"train": str(tmp_path / "moved"), "test": str(test)}})
    for each in (moved, chosen):  # the second out of the cache, under another name
        task = Session.prepare(each).task
        assert isinstance(task, Classify)
        for part in (task.data.splits["train"], task.data.splits["valid"]):
            for row in range(len(part)):
                name, _, line = task.location(part, row).rpartition(":")
                lines = (tmp_path / Path(each.data.train[0]).name / name).read_text(encoding="utf-8").splitlines()
                assert lines[int(line) - 1] == part.text("texts", row)
        assert [task.location(task.data.splits["test"], row) for row in range(2)] == ["test.csv:2", "test.csv:3"]
        (tmp_path / "moved").rename(tmp_path / "films") if each is moved else None
