"""Evaluation of a run on files gives the scores of its training, whatever the format of the file."""

from pathlib import Path

import pytest

import seqloom
from seqloom.core.problem import ConfigError, DataError, UserError
from seqloom.runs.run import Run
from tests.runs.small import KINDS, assert_close, data_of, recommitted, train_run

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.mark.parametrize("split", ["valid", "test"])
def test_evaluate_gives_the_scores_of_training(run: Run, split: str) -> None:
    evaluation = run.evaluate([data_of(run, split)])
    assert evaluation.scores == pytest.approx(run.scores[split], rel=1e-6)
    assert run.evaluate(data_of(run, split)).scores == evaluation.scores  # a single name
    if split == "valid" and run.task.name == "translate":
        for name in ("examples", "by_length", "signatures", "attention"):
            assert_close(evaluation.details[name], run.scores["details"][name])
    if split == "valid" and run.task.name in ("classify", "tag"):
        assert evaluation.details["confusion"] == run.scores["details"]["confusion"]
        assert_close(evaluation.details["per_class"], run.scores["details"]["per_class"])


def test_the_beam_of_a_translator_can_be_changed(run: Run) -> None:
    if run.task.name != "translate":
        with pytest.raises(
            UserError,
            match=rf"decode\.beam_size has no effect, because {run.task.name} does not generate text\.$",
        ):
            run.evaluate(data_of(run, "test"), decode={"beam_size": 2})
        return
    greedy, wide = (run.evaluate(data_of(run, "test"), decode={"beam_size": beam, "max_length": 9}) for beam in (1, 8))
    assert greedy.scores["loss"] == wide.scores["loss"]
    translations = [[row["translation"] for row in evaluation.details["examples"]] for evaluation in (greedy, wide)]
    assert translations[0] != translations[1]
    assert run.experiment.decode is not None
    assert run.experiment.decode.beam_size == 4  # changed for this file alone


def test_an_evaluation_describes_its_data(run: Run) -> None:
    description = run.evaluate(data_of(run, "test")).details["data"]
    assert " test (" in description
    assert " training" not in description


def test_truncated_texts_are_counted(run: Run, copy: Path) -> None:
    if run.task.name != "classify":
        return
    path = copy / "experiment.toml"
    description = path.read_text(encoding="utf-8")
    assert "max_length = 512" in description
    path.write_text(description.replace("max_length = 512", "max_length = 2"), encoding="utf-8")
    recommitted(copy)
    evaluation = seqloom.load(copy).evaluate(data_of(run, "test"))
    assert "truncated at 2 tokens" in evaluation.details["data"]


def test_a_file_may_have_another_format_than_those_of_the_run(run: Run, tmp_path: Path) -> None:
    if run.task.name != "classify":
        return
    path = tmp_path / "other.data"
    path.write_text("".join(f"{label}\t7\t{text}\n" for text, label in rows_of(run)), encoding="utf-8")
    options = {"format": "tsv", "header": False, "label": 1, "text": "3"}
    assert run.evaluate(path, options).scores == run.evaluate(data_of(run, "test")).scores
    assert run.experiment.data.label == "label"  # changed for this file alone
    assert run.evaluate(data_of(run, "test"), {"header": None, "text": None, "label": None}).scores


def test_only_keys_of_the_format_can_be_changed(run: Run) -> None:
    changeable = {
        "language": "format",
        "classify": "format, header, label, label_separator, max_characters, on_bad_line and text",
        "tag": "format, max_characters, on_bad_line and tag",
        "translate": "format, header, max_characters, on_bad_line, source and target",
    }[run.task.name]
    expected = rf"^evaluate: data\.max_length is fixed by the run and can't be changed; {changeable} can\.$"
    with pytest.raises(UserError, match=expected):
        run.evaluate(data_of(run, "test"), {"max_length": 3})
    with pytest.raises(ConfigError, match=r"format"):
        run.evaluate(data_of(run, "test"), {"format": "docx"})
    if run.task.name != "tag":
        with pytest.raises(ConfigError, match=r"data\.tag has no effect in"):
            run.evaluate(data_of(run, "test"), {"tag": "upos"})


def test_bad_rows_of_a_file_can_be_skipped(run: Run, tmp_path: Path) -> None:
    if run.task.name != "translate":
        return
    path = tmp_path / "bad.tsv"
    path.write_text(Path(data_of(run, "test")).read_text(encoding="utf-8") + "a b\t\n", encoding="utf-8")
    with pytest.raises(DataError, match="the target is empty"):
        run.evaluate(path)
    evaluation = run.evaluate(path, {"on_bad_line": "skip"})
    assert evaluation.scores == run.evaluate(data_of(run, "test")).scores
    assert "1 bad line skipped" in evaluation.details["data"]


def test_a_run_of_a_table_can_evaluate_a_folder(run: Run, tmp_path: Path) -> None:
    """The columns of the run have no effect for a folder, and cause no error."""
    if run.task.name != "classify":
        return
    for text, label in rows_of(run):
        with (tmp_path / f"{label}.txt").open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    evaluation = run.evaluate(tmp_path, {"format": "folder"})
    assert evaluation.scores == pytest.approx(run.evaluate(data_of(run, "test")).scores)
    with pytest.raises(ConfigError, match=r"data\.text has no effect with data\.format folder"):
        run.evaluate(tmp_path, {"format": "folder", "text": "1"})


def rows_of(run: Run) -> list[list[str]]:
    """The text and the label of each row of the test file."""
    lines = Path(data_of(run, "test")).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[1:]]


@pytest.mark.parametrize("task", list(KINDS))
def test_evaluate_gives_the_scores_of_bf16_training(task: str, tmp_path: Path) -> None:
    """Both are computed in float32, as predictions are."""
    run = train_run(task, tmp_path, precision="bf16")
    for split in ("valid", "test"):
        assert run.evaluate(data_of(run, split)).scores == run.scores[split]


def test_a_missing_file_is_refused(run: Run) -> None:
    with pytest.raises(DataError, match="nowhere"):
        run.evaluate([data_of(run, "nowhere")])
