"""The majority baseline is that of the training split; the hardest examples are the least likely, in order."""

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
from seqloom.tasks.label_evaluation import (
    BASELINE_FILE,
    MAX_TEXT,
    HardestExamples,
    baseline_details,
    load_baseline,
    most_frequent,
)
from seqloom.tasks.label_training import count_labels

NAMES = Vocabulary(list("abcde"))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=50), st.integers(1, 60))
def test_the_baseline_is_the_most_frequent_label(answers: list[int], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seqloom.tasks.label_training.CHUNK", chunk)
        label = most_frequent(count_labels(np.array(answers, dtype=np.uint8), len(NAMES)), NAMES)
    counts = Counter(NAMES[answer] for answer in answers)
    assert counts[label] == max(counts.values())


def test_the_baseline_is_loaded_from_its_file() -> None:
    assert load_baseline({BASELINE_FILE: '"d"'}, NAMES) == "d"


@pytest.mark.parametrize("text", ["", "nonsense", '"z"', "[1]", "3", "[" * 9999])
def test_a_damaged_file_is_an_error(text: str) -> None:
    with pytest.raises(RunError, match=r"^usual\.json: not one of the run's answers, so it is damaged\. Restore"):
        load_baseline({BASELINE_FILE: text}, NAMES)


def test_without_examples_the_baseline_has_accuracy_0() -> None:
    assert baseline_details("a", NAMES, np.zeros((5, 5), dtype=np.int64)) == {"says": "a", "accuracy": 0.0}


def write_table(path: Path, labels: list[str]) -> str:
    rows = "\n".join(f"text {number}\t{label}" for number, label in enumerate(labels))
    path.write_text(f"text\tlabel\n{rows}\n", encoding="utf-8")
    return str(path)


def write_conll(path: Path, tags: list[str]) -> str:
    path.write_text("\n\n".join(f"word{i}\t{tag}\nend\t{tag}" for i, tag in enumerate(tags)) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("task", "write", "ending"), [("classify", write_table, "tsv"), ("tag", write_conll, "conll")])
def test_the_baseline_of_every_file_is_that_of_the_training_split(
    task: str, write: Any, ending: str, tmp_path: Path
) -> None:
    """A file with another majority label is compared with the majority label of the training split."""
    answers = {"train": ["x"] * 12 + ["y"] * 6, "valid": ["x", "y", "y", "y"], "other": ["y"] * 9 + ["x"]}
    files = {name: write(tmp_path / f"{name}.{ending}", labels) for name, labels in answers.items()}
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


# Hardest examples ----------------------------------------------------------------------------------------------

probabilities = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9, 1.0]), max_size=30)


@given(probabilities, st.integers(1, 6))
def test_the_least_likely_examples_are_kept_in_order(values: list[float], most: int) -> None:
    hardest = HardestExamples(most)
    for number, probability in enumerate(values):
        hardest.add(probability, text=str(number))
    right = sorted(enumerate(values), key=lambda example: (example[1], example[0]))[:most]
    assert [(int(example["text"]), example["probability"]) for example in hardest.details()] == right


@given(probabilities, st.integers(1, 6), st.sampled_from([0.0, 0.15, 1.0]))
def test_an_accepted_example_is_kept(values: list[float], most: int, probability: float) -> None:
    hardest = HardestExamples(most)
    for example in values:
        hardest.add(example, text="before")
    takes = hardest.accepts(probability)
    hardest.add(probability, text="now")
    assert takes == any(example["text"] == "now" for example in hardest.details())


def test_a_long_text_is_truncated_and_its_details_are_kept() -> None:
    hardest = HardestExamples()
    hardest.add(0.1, text="x" * (MAX_TEXT + 1), gold=["a"], place="a.csv:3")
    hardest.add(0.2, text=["word"] * (MAX_TEXT + 1))
    first, second = hardest.details()
    assert len(first["text"]) == len(second["text"]) == MAX_TEXT
    assert (first["gold"], first["place"]) == (["a"], "a.csv:3")


def test_without_examples_there_is_no_hardest_one() -> None:
    assert HardestExamples().details() == []
    assert HardestExamples().accepts(1.0)
