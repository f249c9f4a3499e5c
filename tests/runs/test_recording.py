"""`seqloom.record` around a run: each text has its own record, whatever its batch."""

from pathlib import Path

import pytest
import torch

import seqloom
from seqloom.core.problem import ArgumentError
from seqloom.nn.recording import Recording, Row, reads_source
from seqloom.runs.run import Run
from tests.runs.small import data_of, train_run
from tests.training.small import words

TEXTS = [" ".join(words(6 + n % 11, n).split()) or "x" for n in range(128)]


def rows_of(recording: Recording) -> list[Row]:
    return [row for call in recording.calls for row in call.rows]


def assert_same(row: Row, recording: Recording) -> None:
    (alone,) = rows_of(recording)
    assert row.tokens == alone.tokens
    assert row.keys() == alone.keys()
    for kind in row:
        assert row[kind].keys() == alone[kind].keys()
        for path, tensors in alone[kind].items():
            for name, values in tensors.items():
                torch.testing.assert_close(row[kind][path][name], values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [128, 100])
def test_each_text_has_the_gates_that_it_has_alone(tmp_path: Path, count: int) -> None:
    run = train_run("classify", tmp_path)
    with seqloom.record("gates", "states") as recording:
        run.predict(TEXTS[:count])
    assert [len(call.rows) for call in recording.calls] == [64, count - 64]
    with pytest.raises(ArgumentError, match="2 calls that do not continue each other"):
        recording["gates"]
    for text, row in zip(TEXTS, rows_of(recording), strict=False):
        assert row.tokens == run.task.tokenizer.tokens(run.task.tokenizer.encode(text))  # type: ignore[attr-defined]
        with seqloom.record("gates", "states") as alone:
            run.predict([text])
        assert_same(row, alone)


def test_every_task_records_the_tokens_of_each_text(run: Run) -> None:
    texts = ["a b c", "b a", "c c c a"]
    with seqloom.record("gates") as recording:
        answers = run.predict(texts)
    rows = [row for row in rows_of(recording) if row.tokens is not None]  # without the words of a tagger
    assert len(rows) == len(texts)
    read = sorted("".join(map(str, row.source_tokens or row.tokens or [])).removesuffix("</s>") for row in rows)
    assert [text.replace(" ", "") for text in read] == sorted(text.replace(" ", "") for text in texts)
    for row in rows:
        assert all(
            len(t) == len(row.tokens or []) for p, g in row["gates"].items() if "encoder" not in p for t in g.values()
        )
    assert len(answers) == len(texts)


def test_each_hypothesis_of_two_batches_has_its_own_gates(tmp_path: Path) -> None:
    run = train_run("translate", tmp_path)
    texts = [" ".join("abcdefgh"[n % 8 : n % 8 + 1 + n % 3]) for n in range(70)]
    with seqloom.record("gates") as recording:
        answers = run.predict(texts, beam_size=4, n_best=2)
    rows, best = rows_of(recording), [each for answer in answers for each in answer["n_best"]]
    assert [len(call.rows) for call in recording.calls] == [128, 12]
    task = run.task
    target = {task.target.tokens([id])[0]: id for id in range(len(task.target))}  # type: ignore[attr-defined]
    for number, (row, hypothesis) in enumerate(zip(rows, best, strict=True)):
        assert row.source_tokens == answers[number // 2]["source_tokens"]
        assert row.tokens == ["</s>", *hypothesis["tokens"][: None if hypothesis["ended"] else -1]]
        source, _ = task.encode_inputs([texts[number // 2]])  # type: ignore[attr-defined]
        inputs = torch.tensor([[task.end, *(target[token] for token in row.tokens[1:])]])  # type: ignore[attr-defined]
        with torch.inference_mode(), seqloom.record("gates") as forced:
            run.model(source.source, inputs, source.lengths)
        for path, gates in forced["gates"].items():
            for name, values in gates.items():
                torch.testing.assert_close(row["gates"][path][name], values[0], rtol=1e-4, atol=1e-5)


def test_evaluation_and_generation_are_recorded(run: Run) -> None:
    with seqloom.record("gates", "attention") as recording:
        run.evaluate([data_of(run, "test")])
    assert recording.calls
    assert all(len(row.tokens or [0]) for row in rows_of(recording))
    if run.task.name == "language":
        with seqloom.record("gates") as recording:
            text = run.generate("ab", max_length=9)
        (row,) = rows_of(recording)
        assert "".join(map(str, row.tokens)) == ("ab" + text)[:-1]  # type: ignore[arg-type]


def test_attention_weights_have_a_key_for_each_token(tmp_path: Path) -> None:
    run = train_run("translate", tmp_path)
    with seqloom.record("attention") as recording:
        run.predict(["a b c a b", "b", "c a"])
    rows = rows_of(recording)
    assert len({len(row.source_tokens or []) for row in rows}) == 3
    for row in rows:
        assert row["attention"]
        for path, tensors in row["attention"].items():
            weights, tokens = tensors["weights"], row.source_tokens if reads_source(path) else row.tokens
            assert weights.shape[2] == len(tokens or [])
            torch.testing.assert_close(weights.sum(dim=2), torch.ones(weights.shape[:2]), rtol=0, atol=1e-5)
