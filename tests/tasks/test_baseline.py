"""The simplest answer: the most frequent of the training part, wherever it is measured."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seqloom
from seqloom.core.problem import RunError
from seqloom.data.vocabulary import Vocabulary
from seqloom.tasks.baseline import BASELINE_FILE, baseline_details, load_baseline, most_frequent

NAMES = Vocabulary(list("abcde"))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=50), st.integers(1, 60))
def test_it_is_the_most_frequent_of_all(answers: list[int], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seqloom.tasks.baseline.CHUNK", chunk)
        label = most_frequent(np.array(answers, dtype=np.uint8), NAMES)
    counts = Counter(NAMES[answer] for answer in answers)
    assert counts[label] == max(counts.values())


def test_it_is_loaded_from_its_file() -> None:
    assert load_baseline({BASELINE_FILE: '"d"'}, NAMES) == "d"


@pytest.mark.parametrize("text", ["", "nonsense", '"z"', "[1]", "3", "[" * 9999])
def test_a_damaged_file_is_a_sentence(text: str) -> None:
    with pytest.raises(RunError, match=r"^usual\.json: not one of the run's answers, so it is damaged\. Restore"):
        load_baseline({BASELINE_FILE: text}, NAMES)


def test_of_nothing_it_is_never_right() -> None:
    assert baseline_details("a", NAMES, np.zeros((5, 5), dtype=np.int64)) == {"says": "a", "accuracy": 0.0}


def reviews(path: Path, labels: list[str]) -> str:
    rows = "\n".join(f"text {number}\t{label}" for number, label in enumerate(labels))
    path.write_text(f"text\tlabel\n{rows}\n", encoding="utf-8")
    return str(path)


def tagged(path: Path, tags: list[str]) -> str:
    path.write_text("\n\n".join(f"word{i}\t{tag}\nend\t{tag}" for i, tag in enumerate(tags)) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("task", "write", "ending"), [("classify", reviews, "tsv"), ("tag", tagged, "conll")])
def test_it_is_that_of_the_training_part_on_every_file(task: str, write: Any, ending: str, tmp_path: Path) -> None:
    """A file with another majority is measured by what was usual when the model learnt."""
    answers = {"train": ["x"] * 12 + ["y"] * 6, "valid": ["x", "y", "y", "y"], "other": ["y"] * 9 + ["x"]}
    files = {name: write(tmp_path / f"{name}.{ending}", some) for name, some in answers.items()}
    run = seqloom.train(
        task,
        files["train"],
        valid=files["valid"],
        model="gru",
        size="tiny",
        train={"steps": 2, "device": "cpu"},
        out=tmp_path / "run",
    )
    assert run.scores["details"]["baseline"] == {"says": "x", "accuracy": 0.25}
    assert run.evaluate(files["valid"]).details["baseline"] == {"says": "x", "accuracy": 0.25}
    assert run.evaluate(files["other"]).details["baseline"] == {"says": "x", "accuracy": pytest.approx(0.1)}
