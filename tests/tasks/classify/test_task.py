"""Classification with one label or several, and its report."""

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


def write_moods(folder: Path) -> Path:
    """A table of texts with one label, several, or none."""
    rows = []
    for i in range(60):
        labels = [name for name, holds in (("glad", i % 2 == 0), ("long", i % 3 == 0)) if holds]
        rows.append(
            f"{'happy ' if i % 2 == 0 else 'sour '}{'on and on ' * (1 + 3 * (i % 3 == 0))}{i},{'|'.join(labels)}"
        )
    path = folder / "moods.csv"
    path.write_text("text,label\n" + "\n".join(row for row in rows if not row.endswith(",")) + "\n", encoding="utf-8")
    return path


def multilabel_config(folder: Path, **train: Any) -> Any:
    return experiment(
        {
            "task": "classify",
            "model": {"arch": "gru", "size": "tiny", "dropout": 0.0, **train.pop("model", {})},
            "data": {"train": str(write_moods(folder)), "label_separator": "|", "valid_share": 0.3},
            "train": {"steps": 60, "validate_every": 30, "batch_tokens": 512, "lr": 0.02, "device": "cpu", **train},
        }
    )


def test_a_multilabel_run_trains_predicts_and_reports(tmp_path: Path) -> None:
    run = start(multilabel_config(tmp_path), tmp_path / "run")
    assert run.scores["chosen_by"] == "micro_f1"
    assert run.scores["valid"]["micro_f1"] > 0.8
    assert {"exact_match", "macro_f1", "loss"} <= set(run.scores["valid"])
    answer = seqloom.load(tmp_path / "run").predict(["happy on and on on and on on and on on and on 3"])[0]
    assert set(answer["probabilities"]) == {"glad", "long"}
    assert set(answer["labels"]) == {name for name, p in answer["probabilities"].items() if p >= 0.5}
    assert list(answer["probabilities"].values()) == sorted(answer["probabilities"].values(), reverse=True)
    report = read_report(tmp_path / "run")
    assert report.html()
    assert report.problems == ()
    assert isinstance(report.details, ClassifyReport)
    assert {row.label for row in report.details.per_class} <= {"glad", "long"}
    evaluation = run.evaluate([str(tmp_path / "moods.csv")])
    assert evaluation.scores["micro_f1"] > 0.8
    assert "baseline" not in evaluation.details  # the most frequent label is defined for one label per text


@pytest.mark.parametrize("smoothing", [None, 0.3])
def test_label_smoothing_is_refused_for_lists_of_labels(smoothing: float | None, tmp_path: Path) -> None:
    rows = [{"text": f"a {i}", "label": ["x", "y"] if i % 2 else ["y"]} for i in range(20)]
    (tmp_path / "moods.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    train = {} if smoothing is None else {"label_smoothing": smoothing}
    chosen = experiment({"task": "classify", "data": {"train": str(tmp_path / "moods.jsonl")}, "train": train})
    if smoothing is not None:
        with pytest.raises(ConfigError, match=r"train\.label_smoothing is 0\.3, and has no effect .* several labels"):
            Session.prepare(chosen)
    else:
        assert Session.prepare(chosen).experiment.train.label_smoothing == 0


def test_a_multilabel_run_may_have_the_loss_at_every_step(tmp_path: Path) -> None:
    chosen = multilabel_config(tmp_path, loss_at="every", steps=3, validate_every=3, model={"pool": "last-step"})
    assert start(chosen, tmp_path / "run").scores["valid"]["loss"] > 0


@pytest.mark.parametrize(("bidirectional", "goes_with"), [(True, "last-step"), (False, "last")])
def test_the_loss_at_every_step_goes_with_a_pool_of_one_step(bidirectional: bool, goes_with: str) -> None:
    """[→y_n; ←y_1] of a bidirectional model is the output of no step."""
    model, train = {"arch": "gru", "bidirectional": bidirectional}, {"loss_at": "every"}
    for pool in ("last", "last-step", "mean"):
        raw = {"task": "classify", "model": {**model, "pool": pool}, "train": train}
        if pool in (goes_with, "last-step"):
            assert experiment(raw)
            continue
        with pytest.raises(ConfigError) as caught:
            experiment(raw)
        message = "train.loss_at every predicts the class at each step, which goes with model.pool"
        assert str(caught.value) == f"{message} {goes_with}, not {pool}."


@pytest.mark.parametrize("multilabel", [False, True])
def test_the_last_outputs_of_a_bidirectional_model_are_those_of_both_directions(
    multilabel: bool, tmp_path: Path
) -> None:
    model = {"pool": "last"}
    task = Session.prepare(
        multilabel_config(tmp_path, model=model) if multilabel else tiny("classify", model=model)
    ).task
    pool = task.build().get_submodule("head.pool")  # type: ignore[attr-defined]
    assert pool.directions == [(False, 64), (True, 64)]


def test_the_report_is_complete_and_agrees_with_the_scores(tmp_path: Path) -> None:
    run = start(tiny("classify"), tmp_path / "run")
    report = read_report(tmp_path / "run")
    assert report.html()
    assert report.problems == ()
    details = report.details
    assert isinstance(details, ClassifyReport)
    assert details.confusion is not None
    valid = int(sum(map(sum, details.confusion.counts)))
    assert sum(bin_.predictions for bin_ in details.calibration) == valid
    assert sum(row.support or 0 for row in details.per_class) == valid
    assert details.worst
    for example in details.worst:
        assert example.gold != example.predicted
        assert example.location.startswith("numbers:")
    right = sum(details.confusion.counts[i][i] for i in range(len(details.confusion.labels)))
    assert run.scores["valid"]["accuracy"] == pytest.approx(right / valid)


def test_accuracy_equals_that_of_predict(tmp_path: Path) -> None:
    run = start(tiny("classify"), tmp_path / "run")
    task = tiny_session("classify").task
    assert isinstance(task, Classify)
    split = task.data.splits["valid"]
    texts = [split.text("texts", row) for row in range(len(split))]
    gold = [task.labels[int(split["labels"][row][0])] for row in range(len(split))]
    predicted = [answer["label"] for answer in run.predict(texts)]
    assert run.scores["valid"]["accuracy"] == pytest.approx(
        sum(a == b for a, b in zip(gold, predicted, strict=True)) / len(gold)
    )


def test_a_batch_has_the_tokens_and_labels_of_its_rows() -> None:
    task, _ = task_of()
    batch = task.batch(task.epoch(0)[0])
    split = task.data.splits["train"]
    assert batch.lengths is not None
    for row, tokens, length, label in zip(batch.rows, batch.source, batch.lengths.tolist(), batch.target, strict=True):
        assert tokens[:length].tolist() == split["tokens"][row].tolist()
        assert not tokens[length:].any()
        assert [int(label)] == split["labels"][row].tolist()
    lines = list(task.format_batch(batch))
    assert len(lines) == len(batch.rows)
    assert all(line.split(" -> ")[1] in task.labels for line in lines)


def test_predict_truncates_a_long_text_as_training_does() -> None:
    task, model = task_of(data={"max_length": 4})
    assert task.tokenizer.kind == "character"
    with torch.inference_mode():
        long, short = task.predict(model, ["one two three", "one "], CPU)
    assert long["probabilities"] == pytest.approx(short["probabilities"])
    assert long["cut"] is True
    assert short["cut"] is False


def test_a_text_without_a_known_token_has_a_prediction() -> None:
    task, model = task_of()
    with torch.inference_mode():
        (answer,) = task.predict(model, ["漢字"], CPU)
    assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-5)


def test_the_description_has_the_splits_the_labels_and_the_truncation() -> None:
    description = task_of(data={"test_share": 0.2, "max_length": 2})[0].describe()
    for words in (" training", " validation", " test", "labels", "truncated at 2 tokens"):
        assert words in description


def test_a_task_that_only_predicts_has_no_data() -> None:
    task, _ = task_of()
    with pytest.raises(UserError, match="has not read any data"):
        _ = Classify.from_files(task.experiment, task.files()).data


@pytest.mark.parametrize("form", ["a folder a class", "a file a class"])
def test_a_row_is_located_in_its_file(form: str, tmp_path: Path) -> None:
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
    original = experiment({"task": "classify", "data": {"train": str(tmp_path / "films"), "test": str(test)}})
    (tmp_path / "films").rename(tmp_path / "moved")
    moved = experiment({"task": "classify", "data": {"train": str(tmp_path / "moved"), "test": str(test)}})
    for config in (moved, original):  # the second comes from the cache, under another name
        task = Session.prepare(config).task
        assert isinstance(task, Classify)
        for split in (task.data.splits["train"], task.data.splits["valid"]):
            for row in range(len(split)):
                name, _, line = task.location(split, row).rpartition(":")
                lines = (tmp_path / Path(config.data.train[0]).name / name).read_text(encoding="utf-8").splitlines()
                assert lines[int(line) - 1] == split.text("texts", row)
        assert [task.location(task.data.splits["test"], row) for row in range(2)] == ["test.csv:2", "test.csv:3"]
        (tmp_path / "moved").rename(tmp_path / "films") if config is moved else None
