"""Answers are scored against the references of the file; decoding options are applied or refused."""

from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch

from seqloom.api import start
from seqloom.core.config.decode import Decode
from seqloom.core.problem import UserError
from seqloom.decoding.hypothesis import Hypothesis
from seqloom.runs.run import Run
from seqloom.tasks.generation_task import SourceBatch, cut_reason
from seqloom.tasks.known_characters import CHARACTERS_FILE
from seqloom.tasks.registry import experiment
from seqloom.tasks.task import Evaluation
from seqloom.tasks.translate.task import Translate
from tests.tasks.translate.test_inputs import translate_task

TEXTS = [
    "The U. S. team , which won 3 : 0 , did n't celebrate ( much ) !",
    "A Man in a Blue shirt is standing on a ladder .",
    "She said : « it 's 5 o'clock , is n't it ? » and left - at once .",
    "Two   dogs run , jump ; and play .",
]
ROWS = [(f"{text} {number}", f"{text} {number}") for number in range(6) for text in TEXTS]


def echo_task(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ended: bool = True, copies: int = 1, **data: Any
) -> tuple[Translate, Any]:
    """A task whose answers are its inputs, so every token is correct."""
    task = translate_task(folder, ROWS * copies, **data)

    def echo(model: Any, batch: SourceBatch, *_: Any, **__: Any) -> list[list[Hypothesis]]:
        assert batch.lengths is not None
        rows = (row[: length - 1].tolist() for row, length in zip(batch.source, batch.lengths.tolist(), strict=True))
        return [[Hypothesis(row, [0.0] * (len(row) + ended), ended, 0.0)] for row in rows]

    monkeypatch.setattr(task, "decode", echo)
    return task, task.build().eval()


def validate(task: Translate, model: Any) -> Evaluation:
    with torch.inference_mode():
        return task.validate(model, "valid", torch.device("cpu"))


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("tokenizer", ["word", "bpe"])
def test_the_references_are_those_of_the_file(
    tokenizer: str, lowercase: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, model = echo_task(tmp_path, monkeypatch, tokenizer=tokenizer, lowercase=lowercase)
    evaluation = validate(task, model)
    split = task.data.splits["valid"]
    references = [split.text("target_texts", row) for row in range(len(split))]
    decoded = [task.target.decode(split["target"][row].tolist()) for row in range(len(split))]
    assert set(references) <= {target for _, target in ROWS}
    expected = sacrebleu.corpus_bleu(decoded, [references], lowercase=lowercase).score
    assert evaluation.scores["bleu"] == pytest.approx(expected)
    assert (expected < 99.9) == (tokenizer == "word")  # the word tokenizer removes spaces of the file
    for example in evaluation.details["examples"]:
        assert example["references"][0] in references


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("tokenizer", ["word", "bpe", "character"])
def test_differences_that_the_tokenizer_removes_are_no_errors(
    tokenizer: str, lowercase: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lowercased letters and removed spaces."""
    evaluation = validate(*echo_task(tmp_path, monkeypatch, tokenizer=tokenizer, lowercase=lowercase))
    assert evaluation.scores["exact_match"] == 1.0
    assert {example["right"] for example in evaluation.details["examples"]} == {True}


def test_a_reference_is_complete_though_its_tokens_are_truncated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = validate(*echo_task(tmp_path, monkeypatch, tokenizer="word", max_length=4))
    assert evaluation.scores["exact_match"] == 0.0
    for example in evaluation.details["examples"]:
        assert example["references"][0] in {target for _, target in ROWS}
        assert example["right"] is False
        assert len(example["translation"].split()) <= 4


@pytest.mark.parametrize("ended", [True, False])
def test_answers_that_did_not_end_are_counted(ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = echo_task(tmp_path, monkeypatch, ended)
    assert validate(task, model).details["cut"] == (0 if ended else len(task.data.splits["valid"]))


def test_a_repeated_example_is_shown_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = echo_task(tmp_path, monkeypatch, copies=3)
    rows = len(task.data.splits["valid"])
    texts = [example["text"] for example in validate(task, model).details["examples"]]
    assert len(set(texts)) == len(texts) == rows / 3


# Decoding options ------------------------------------------------------------------------------------------------

PAIRS = [
    f"one {color} {shape}\tun {color[::-1]} {shape}\n"
    for color in ("red", "green", "blue")
    for shape in ("box", "disc")
] * 3


def config(folder: Path, arch: str = "transformer", tokenizer: str = "word", **decode: Any) -> Any:
    path = folder / "pairs.tsv"
    path.write_text("".join(PAIRS), encoding="utf-8")
    data = {"train": str(path), "valid_share": 0.3, "tokenizer": tokenizer, "max_length": 5}
    train = {"steps": 2, "validate_every": 2, "device": "cpu"}
    model = {"arch": arch, "size": "tiny", **({"positions": "learned"} if arch == "transformer" else {})}
    return experiment({"task": "translate", "data": data, "model": model, "train": train, "decode": decode})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with positions for five tokens and the end."""
    folder = tmp_path_factory.mktemp("positions")
    return start(config(folder), folder / "run")


def error_message(action: Any) -> str:
    with pytest.raises(UserError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("unchecked")
def test_more_tokens_than_positions_are_refused_by_every_command(run: Run, tmp_path: Path) -> None:
    message = (
        "decode.min_length is 6, and the model can generate at most 5 tokens. "
        "Make it smaller, or train with data.max_length 6."
    )
    pairs = run.folder.parent / "pairs.tsv"
    assert error_message(lambda: run.predict(["one"], min_length=6, max_length=9)) == message
    assert error_message(lambda: run.evaluate(pairs, decode={"min_length": 6, "max_length": 9})) == message
    assert error_message(lambda: start(config(tmp_path, min_length=6, max_length=9), tmp_path / "run")) == message
    assert len(run.predict(["one"], min_length=5)[0]["tokens"]) >= 5


@pytest.mark.usefixtures("unchecked")
def test_without_positions_a_text_may_have_any_length(tmp_path: Path) -> None:
    run = start(config(tmp_path, "gru"), tmp_path / "run")
    assert len(run.predict(["one"], min_length=30, max_length=40)[0]["tokens"]) >= 30


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.usefixtures("unchecked")
def test_an_answer_has_the_reason_why_it_was_cut(run: Run, beam: int) -> None:
    end = torch.tensor(len(run.task.target))  # type: ignore[attr-defined]
    short = run.predict(["one"], min_length=2, max_length=2, beam_size=beam)[0]
    assert (short["ended"], short["cut_by"]) == (False, "length")
    never = run.model.head.register_forward_hook(lambda head, inputs, logits: logits.index_fill(-1, end, -1e9))
    try:
        endless = run.predict(["one", "one red box"], max_length=40, beam_size=beam)
        exactly = run.predict(["one"], max_length=6, beam_size=beam)[0]
    finally:
        never.remove()
    assert [(answer["ended"], answer["cut_by"], len(answer["tokens"])) for answer in endless] == [
        (False, "positions", 6)
    ] * 2
    assert exactly["cut_by"] == "positions"  # a greater length would change nothing
    always = run.model.head.register_forward_hook(lambda head, inputs, logits: logits.index_fill(-1, end, 1e9))
    try:
        assert "cut_by" not in run.predict(["one"], beam_size=beam)[0]
    finally:
        always.remove()


@pytest.mark.usefixtures("unchecked")
def test_an_answer_without_an_allowed_token_was_cut_by_rules() -> None:
    stuck = Hypothesis([1, 2], [-1.0, -1.0], ended=False, score=-1.0)
    assert cut_reason(stuck, Decode(max_length=9, no_repeat_ngram=1), max_length=6) == {"cut_by": "rules"}
    assert cut_reason(stuck, Decode(max_length=9, no_repeat_ngram=1), max_length=None) == {"cut_by": "rules"}


# Prompts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokenizer", ["word", "character"])
@pytest.mark.usefixtures("unchecked")
def test_a_prompt_outside_the_vocabulary_is_refused(tokenizer: str, tmp_path: Path) -> None:
    run = start(config(tmp_path, "gru", tokenizer), tmp_path / "run")
    unknown = "bonjour" if tokenizer == "word" else "j"
    message = f"decode.prompt has '{unknown}', which is not in the run's output vocabulary. Change it, or leave it out."
    assert error_message(lambda: run.predict(["one"], prompt="un bonjour")) == message
    assert run.predict(["one"], prompt="un")[0]["translation"].startswith("un")
    assert (
        error_message(lambda: start(config(tmp_path, "gru", tokenizer, prompt="un bonjour"), tmp_path / "other"))
        == message
    )


@pytest.mark.parametrize("tokenizer", ["bpe", "byte"])
@pytest.mark.usefixtures("unchecked")
def test_a_prompt_in_an_unknown_script_is_refused(tokenizer: str, tmp_path: Path) -> None:
    run = start(config(tmp_path, "gru", tokenizer), tmp_path / "run")
    assert (run.folder / "vocabulary" / CHARACTERS_FILE).exists()
    message = error_message(lambda: run.predict(["one"], prompt="漢", max_length=20))
    assert message.startswith("decode.prompt is '漢', none of whose characters occurs in the target texts of the run")
    assert run.predict(["one"], prompt="un 漢", max_length=20)[0]["translation"].startswith("un 漢")
