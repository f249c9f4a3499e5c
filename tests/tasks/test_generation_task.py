"""What is measured of answers: against the references as they stand in the file, whatever a tokenizer does to text."""

from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch

from seqloom.decoding.hypothesis import Hypothesis
from seqloom.tasks.generation_task import SourceBatch
from seqloom.tasks.task import Evaluation
from seqloom.tasks.translate.task import Translate
from tests.tasks.translate.test_inputs import made

TEXTS = [
    "The U. S. team , which won 3 : 0 , did n't celebrate ( much ) !",
    "A Man in a Blue shirt is standing on a ladder .",
    "She said : « it 's 5 o'clock , is n't it ? » and left - at once .",
    "Two   dogs run , jump ; and play .",
]
ROWS = [(f"{text} {number}", f"{text} {number}") for number in range(6) for text in TEXTS]


def echoing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ended: bool = True, copies: int = 1, **data: Any
) -> tuple[Translate, Any]:
    """A task whose answers are what was read: all tokens are right."""
    task = made(folder, ROWS * copies, **data)

    def echo(model: Any, batch: SourceBatch, *_: Any, **__: Any) -> list[list[Hypothesis]]:
        assert batch.lengths is not None
        rows = (row[: length - 1].tolist() for row, length in zip(batch.source, batch.lengths.tolist(), strict=True))
        return [[Hypothesis(row, [0.0] * (len(row) + ended), ended, 0.0)] for row in rows]

    monkeypatch.setattr(task, "decode", echo)
    return task, task.build().eval()


def measured(task: Translate, model: Any) -> Evaluation:
    with torch.inference_mode():
        return task.validate(model, "valid", torch.device("cpu"))


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("tokenizer", ["word", "bpe"])
def test_the_references_are_those_of_the_file(
    tokenizer: str, lowercase: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, model = echoing(tmp_path, monkeypatch, tokenizer=tokenizer, lowercase=lowercase)
    found = measured(task, model)
    part = task.data.splits["valid"]
    references = [part.text("target_texts", row) for row in range(len(part))]
    said = [task.target.decode(part["target"][row].tolist()) for row in range(len(part))]
    assert set(references) <= {target for _, target in ROWS}
    expected = sacrebleu.corpus_bleu(said, [references], lowercase=lowercase).score
    assert found.scores["bleu"] == pytest.approx(expected)
    assert (expected < 99.9) == (tokenizer == "word")  # which closes up what the file has apart
    for example in found.details["examples"]:
        assert example["references"][0] in references


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("tokenizer", ["word", "bpe", "character"])
def test_what_the_tokenizer_can_not_tell_makes_no_answer_wrong(
    tokenizer: str, lowercase: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Capitals that are not written, spaces that are closed up."""
    found = measured(*echoing(tmp_path, monkeypatch, tokenizer=tokenizer, lowercase=lowercase))
    assert found.scores["exact_match"] == 1.0
    assert {example["right"] for example in found.details["examples"]} == {True}


def test_a_reference_is_whole_though_tokens_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(*echoing(tmp_path, monkeypatch, tokenizer="word", max_length=4))
    assert found.scores["exact_match"] == 0.0
    for example in found.details["examples"]:
        assert example["references"][0] in {target for _, target in ROWS}
        assert example["right"] is False
        assert len(example["translation"].split()) <= 4


@pytest.mark.parametrize("ended", [True, False])
def test_answers_that_did_not_end_are_counted(ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = echoing(tmp_path, monkeypatch, ended)
    assert measured(task, model).details["cut"] == (0 if ended else len(task.data.splits["valid"]))


def test_an_example_is_shown_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = echoing(tmp_path, monkeypatch, copies=3)
    rows = len(task.data.splits["valid"])
    texts = [example["text"] for example in measured(task, model).details["examples"]]
    assert len(set(texts)) == len(texts) == rows / 3
