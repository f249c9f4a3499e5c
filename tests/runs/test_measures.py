"""What a run measures on files: the scores of its training on the same file, however the file is written."""

from pathlib import Path

import pytest

import seqloom
from seqloom.core.problem import ConfigError, DataError, UserError
from seqloom.runs.run import Run
from tests.runs.small import KINDS, close, data_of, recommitted, trained

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.mark.parametrize("part", ["valid", "test"])
def test_evaluate_gives_the_scores_of_training(run: Run, part: str) -> None:
    evaluation = run.evaluate([data_of(run, part)])
    assert evaluation.scores == pytest.approx(run.scores[part], rel=1e-6)
    assert run.evaluate(data_of(run, part)).scores == evaluation.scores  # one name will do
    if part == "valid" and run.task.name == "translate":
        for name in ("examples", "by_length", "signatures", "attention"):
            close(evaluation.details[name], run.scores["details"][name])
    if part == "valid" and run.task.name in ("classify", "tag"):
        assert evaluation.details["confusion"] == run.scores["details"]["confusion"]
        close(evaluation.details["per_class"], run.scores["details"]["per_class"])


def test_a_beam_may_be_said_anew_of_a_run_that_writes(run: Run) -> None:
    if run.task.name != "translate":
        with pytest.raises(
            UserError,
            match=rf"decode\.beam_size has no effect, because {run.task.name} does not generate text\.$",
        ):
            run.evaluate(data_of(run, "test"), decode={"beam_size": 2})
        return
    greedy, wide = (run.evaluate(data_of(run, "test"), decode={"beam_size": beam, "max_length": 9}) for beam in (1, 8))
    assert greedy.scores["loss"] == wide.scores["loss"]
    said = [[each["translation"] for each in evaluation.details["examples"]] for evaluation in (greedy, wide)]
    assert said[0] != said[1]
    assert run.experiment.decode is not None
    assert run.experiment.decode.beam_size == 4  # said for this file alone


def test_evaluate_says_what_it_read(run: Run) -> None:
    description = run.evaluate(data_of(run, "test")).details["data"]
    assert " test (" in description
    assert " training" not in description


def test_a_text_that_is_cut_is_counted(run: Run, copy: Path) -> None:
    if run.task.name != "classify":
        return
    path = copy / "experiment.toml"
    description = path.read_text(encoding="utf-8")
    assert "max_length = 512" in description
    path.write_text(description.replace("max_length = 512", "max_length = 2"), encoding="utf-8")
    recommitted(copy)
    evaluation = seqloom.load(copy).evaluate(data_of(run, "test"))
    assert "truncated at 2 tokens" in evaluation.details["data"]


def test_a_file_may_be_written_otherwise_than_those_of_the_run(run: Run, tmp_path: Path) -> None:
    if run.task.name != "classify":
        return
    path = tmp_path / "other.data"
    path.write_text("".join(f"{label}\t7\t{said}\n" for said, label in rows_of(run)), encoding="utf-8")
    how = {"format": "tsv", "header": False, "label": 1, "text": "3"}
    assert run.evaluate(path, how).scores == run.evaluate(data_of(run, "test")).scores
    assert run.experiment.data.label == "label"  # said for this file alone
    assert run.evaluate(data_of(run, "test"), {"header": None, "text": None, "label": None}).scores


def test_only_how_a_file_is_written_can_be_said_anew(run: Run) -> None:
    own = {
        "language": "format",
        "classify": "format, header, label, label_separator, max_characters, on_bad_line and text",
        "tag": "format, max_characters, on_bad_line and tag",
        "translate": "format, header, max_characters, on_bad_line, source and target",
    }[run.task.name]
    expected = rf"^evaluate: data\.max_length is fixed by the run and can't be changed; {own} can\.$"
    with pytest.raises(UserError, match=expected):
        run.evaluate(data_of(run, "test"), {"max_length": 3})
    with pytest.raises(ConfigError, match=r"format"):
        run.evaluate(data_of(run, "test"), {"format": "docx"})
    if run.task.name != "tag":
        with pytest.raises(ConfigError, match=r"data\.tag has no effect in"):
            run.evaluate(data_of(run, "test"), {"tag": "upos"})


def test_what_is_bad_in_a_file_may_be_skipped(run: Run, tmp_path: Path) -> None:
    if run.task.name != "translate":
        return
    path = tmp_path / "bad.tsv"
    path.write_text(Path(data_of(run, "test")).read_text(encoding="utf-8") + "a b\t\n", encoding="utf-8")
    with pytest.raises(DataError, match="the target is empty"):
        run.evaluate(path)
    evaluation = run.evaluate(path, {"on_bad_line": "skip"})
    assert evaluation.scores == run.evaluate(data_of(run, "test")).scores
    assert "1 bad line skipped" in evaluation.details["data"]


def test_a_folder_may_be_read_by_a_run_of_a_table(run: Run, tmp_path: Path) -> None:
    """What the run says of columns has no effect there, and is in nobody's way."""
    if run.task.name != "classify":
        return
    for said, label in rows_of(run):
        with (tmp_path / f"{label}.txt").open("a", encoding="utf-8") as file:
            file.write(f"{said}\n")
    evaluation = run.evaluate(tmp_path, {"format": "folder"})
    assert evaluation.scores == pytest.approx(run.evaluate(data_of(run, "test")).scores)
    with pytest.raises(ConfigError, match=r"data\.text has no effect with data\.format folder"):
        run.evaluate(tmp_path, {"format": "folder", "text": "1"})


def rows_of(run: Run) -> list[list[str]]:
    """Text and label of each row of the file to test on."""
    lines = Path(data_of(run, "test")).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[1:]]


@pytest.mark.parametrize("task", list(KINDS))
def test_scores_are_those_of_evaluate_in_bf16_too(task: str, tmp_path: Path) -> None:
    """Both are of the weights as they are, in float32, as predictions are."""
    run = trained(task, tmp_path, precision="bf16")
    for part in ("valid", "test"):
        assert run.evaluate(data_of(run, part)).scores == run.scores[part]


def test_evaluate_a_file_that_is_not_there(run: Run) -> None:
    with pytest.raises(DataError, match="nowhere"):
        run.evaluate([data_of(run, "nowhere")])
