"""Language models: evaluation, scores of texts, generation."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

import seqloom
from seqloom.api import start
from seqloom.core.config.decode import Decode
from seqloom.core.problem import UserError
from seqloom.decoding.stream import stream
from seqloom.tasks.language import scoring
from seqloom.tasks.language.task import Language, evaluation_chunks
from seqloom.tasks.registry import experiment
from seqloom.training.session import Session
from tests.training.small import tiny, tiny_session

pytestmark = pytest.mark.usefixtures("unchecked")
CPU = torch.device("cpu")
TEXT = "(([]))\n{}<>((" * 3


def task_and_model(arch: str = "gru", **more: Any) -> tuple[Language, Any]:
    trainer = tiny_session("language", arch, **more).trainer([])
    assert isinstance(trainer.task, Language)
    return trainer.task, trainer.model.eval()


def log_p(model: Any, tokens: list[int]) -> Tensor:
    """log p(token_t | tokens before) from the second token on, in one forward pass."""
    with torch.inference_mode():
        y, _ = model(torch.tensor([tokens]))
        scores = model.head(y).log_softmax(dim=2)[0]
    return scores[range(len(tokens) - 1), tokens[1:]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(2, 300), st.integers(1, 9), st.integers(1, 20), st.booleans())
def test_every_token_but_the_first_is_predicted_once(tokens: int, batch: int, bptt: int, carry: bool) -> None:
    config = tiny("language", train={"batch_size": batch, "bptt": bptt, "carry_state": carry})
    seen = np.zeros(tokens, dtype=int)
    for item in evaluation_chunks(tokens, config.train):
        for first in item.starts:
            seen[first + 1 : first + item.steps + 1] += 1
            assert first + item.steps < tokens
    assert seen[0] == 0
    assert (seen[1:] == 1).all()


def test_the_loss_is_that_of_one_pass_over_the_whole_split() -> None:
    """One stream, with its state carried from chunk to chunk."""
    task, model = task_and_model(train={"batch_size": 1, "bptt": 7})
    tokens = task.data.tokens["valid"].astype(int).tolist()
    with torch.inference_mode():
        scores = task.evaluate(model, "valid", CPU).scores
    expected = -float(log_p(model, tokens).double().sum())
    assert scores["loss"] == pytest.approx(expected / (len(tokens) - 1), rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    # each token is one character, and the first is not predicted
    assert scores["bits_per_character"] == pytest.approx(scores["loss"] / math.log(2))


def test_without_a_carried_state_each_chunk_starts_from_the_initial_state() -> None:
    task, model = task_and_model("transformer", train={"batch_size": 3, "bptt": 7})
    tokens = task.data.tokens["valid"].astype(int).tolist()
    with torch.inference_mode():
        loss = task.evaluate(model, "valid", CPU).scores["loss"]
    chunks = [tokens[i : i + 8] for i in range(0, len(tokens) - 1, 7)]
    expected = -sum(float(log_p(model, chunk).double().sum()) for chunk in chunks)
    assert loss == pytest.approx(expected / (len(tokens) - 1), rel=1e-5)


@pytest.mark.parametrize("arch", ["gru", "conv", "window"])
@pytest.mark.parametrize("chunk_size", [1, 5, 1024])
def test_the_score_of_a_text_does_not_depend_on_the_chunk_size(
    arch: str, chunk_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK", chunk_size)
    task, model = task_and_model(arch)
    with torch.inference_mode():
        (answer,) = task.predict(model, [TEXT], CPU)
    tokens = task.tokenizer.encode(TEXT).tolist()
    assert answer["loss"] == pytest.approx(-float(log_p(model, tokens).mean()), rel=1e-4)
    assert answer["bits_per_character"] == pytest.approx(answer["loss"] / math.log(2))
    with torch.inference_mode():
        y, _ = model(torch.tensor([tokens]))
        likely = model.head(y)[0, -1].softmax(dim=0)
    assert answer["next"][0]["probability"] == pytest.approx(float(likely.max()), rel=1e-4)
    assert answer["next"][0]["token"] == task.tokenizer.decode([int(likely.argmax())])
    assert len(answer["next"]) == 5


WORDS = "The cat sat. The dog sat, the cat ran.\nA dog and A cat Ran on.\n" * 20


def train_on_words(folder: Path, **data: Any) -> tuple[Language, Any]:
    """A task and model on `WORDS`; the validation split has a character that the training split lacks."""
    (folder / "train.txt").write_text(WORDS, encoding="utf-8")
    (folder / "valid.txt").write_text(WORDS[:100] + "é", encoding="utf-8")
    files = {"train": str(folder / "train.txt"), "valid": str(folder / "valid.txt"), **data}
    config = experiment({"task": "language", "data": files, "model": {"arch": "gru", "size": "tiny"}})
    trainer = Session.prepare(config).trainer([])
    assert isinstance(trainer.task, Language)
    return trainer.task, trainer.model.eval()


@pytest.mark.parametrize(
    ("data", "lossless"),
    [
        ({"tokenizer": "character"}, True),
        ({"tokenizer": "byte"}, True),
        ({"tokenizer": "bpe", "vocabulary_size": 300}, True),
        ({"tokenizer": "word"}, False),
        ({"tokenizer": "character", "lowercase": True}, False),
        ({"tokenizer": "byte", "lowercase": True}, False),
    ],
)
def test_bits_per_character_need_a_lossless_tokenizer(data: dict[str, Any], lossless: bool, tmp_path: Path) -> None:
    task, model = train_on_words(tmp_path, **data)
    with torch.inference_mode():
        scores = task.evaluate(model, "valid", CPU).scores
        (answer,) = task.predict(model, ["A cat é."], CPU)
    assert ("bits_per_character" in scores) == ("bits_per_character" in answer) == lossless
    assert {"loss", "perplexity"} <= scores.keys() & answer.keys()


def test_an_unknown_character_costs_the_bits_that_identify_it(tmp_path: Path) -> None:
    """p(é) = p(unknown) / (number of unknown characters), so the probabilities of all characters sum to 1."""
    task, model = train_on_words(tmp_path, tokenizer="character")
    text = "A é é"
    with torch.inference_mode():
        (answer,) = task.predict(model, [text], CPU)
    known = len(task.tokenizer) - 1  # without the unknown token
    bits = answer["loss"] * 4 / math.log(2) + 2 * math.log2(0x110000 - 0x800 - known)
    assert answer["bits_per_character"] == pytest.approx(bits / 4)


@pytest.mark.parametrize(
    ("data", "text", "unknown"),
    [
        ({"tokenizer": "character"}, "A cat, naïve ï 漢!", ["ï", "v", "漢", "!"]),
        ({"tokenizer": "character", "lowercase": True}, "CAT É é", ["É", "é"]),
        ({"tokenizer": "word"}, "The naïve cat (naïve) ran!", ["naïve", "(", ")", "!"]),
        ({"tokenizer": "word", "lowercase": True}, "THE CAT Hid", ["Hid"]),
        ({"tokenizer": "byte"}, "naïve 漢!", []),
        ({"tokenizer": "bpe", "vocabulary_size": 300}, "naïve 漢!", []),
        ({"tokenizer": "character"}, "", []),
    ],
)
def test_unknown_tokens_are_listed(data: dict[str, Any], text: str, unknown: list[str], tmp_path: Path) -> None:
    assert train_on_words(tmp_path, **data)[0].unknown_tokens(text) == unknown


@pytest.mark.parametrize("arch", ["gru", "transformer", "conv", "window"])
def test_texts_are_scored_in_a_batch_as_alone(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = task_and_model(arch)
    calls = []
    step = model.step
    monkeypatch.setattr(model, "step", lambda *args: calls.append(args[0].shape) or step(*args))
    texts = [TEXT[start:end] for start, end in ((0, 5), (3, 21), (7, 8), (2, 7), (0, 39), (9, 12))]
    with torch.inference_mode():
        together = task.predict(model, texts, CPU)
        assert len(calls) == 1  # all texts fit into one chunk
        for text, answer in zip(texts, together, strict=True):
            (alone,) = task.predict(model, [text], CPU)
            assert alone.keys() == answer.keys()
            assert alone.get("loss", 0) == pytest.approx(answer.get("loss", 0), abs=1e-6)
            expected, actual = (
                [token["probability"] for token in prediction["next"]] for prediction in (alone, answer)
            )
            assert expected == pytest.approx(actual, abs=1e-6)


@pytest.mark.parametrize("tokenizer", ["character", "byte", "bpe", "word"])
def test_the_streamed_text_is_the_generated_text(
    tokenizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step decodes at most two tokens."""
    task, model = train_on_words(
        tmp_path, tokenizer=tokenizer, **({"vocabulary_size": 300} if tokenizer == "bpe" else {})
    )
    options = Decode(max_length=60, temperature=1.0)
    ids = [torch.tensor(task.encode_prompt("A cat"))]
    steps = list(stream(model, ids, seed=5, **task.decode_arguments(options)))
    tokens = [step[0] for step in steps]
    whole = task.tokenizer.decode(tokens)
    decoded: list[int] = []
    decode = task.tokenizer.decode
    monkeypatch.setattr(task.tokenizer, "decode", lambda ids: decoded.append(len(ids)) or decode(ids))
    streamed = "".join(step[0] for step in task.stream(model, ["A cat"], options, 5, CPU))
    assert streamed
    assert whole.startswith(streamed)
    assert whole[len(streamed) :] in ("", "\ufffd")
    assert max(decoded, default=0) <= 2


def test_a_transformer_reads_no_more_than_its_context() -> None:
    task, model = task_and_model("transformer")
    assert task.experiment.model.length_limit == 8
    with torch.inference_mode():
        (answer,) = task.predict(model, [TEXT], CPU)
    tokens = task.tokenizer.encode(TEXT).tolist()
    chunks = [tokens[i : i + 8] for i in range(0, len(tokens), 8)]
    log_probs = torch.cat([log_p(model, chunk) for chunk in chunks])
    assert answer["loss"] == pytest.approx(-float(log_probs.mean()), rel=1e-4)


def test_a_text_of_one_token_has_next_tokens_and_no_loss() -> None:
    task, model = task_and_model()
    with torch.inference_mode():
        (answer,) = task.predict(model, ["("], CPU)
    assert set(answer) == {"text", "next"}


@pytest.mark.parametrize("arch", ["gru", "transformer"])
def test_generation_is_greedy_at_temperature_0(arch: str) -> None:
    """Also past the context of a Transformer, which slides."""
    task, model = task_and_model(arch)
    with torch.inference_mode():
        steps = list(task.stream(model, ["(("], Decode(max_length=12, temperature=0), 1, CPU))
    generated = "".join(piece for step in steps for piece in step.values())
    tokens = task.tokenizer.encode("((").tolist()
    for _ in range(6):
        with torch.inference_mode():
            y, _ = model(torch.tensor([tokens]))
            scores = model.head(y)[0, -1]
            scores[task.tokenizer.unknown] = -torch.inf
            tokens.append(int(scores.argmax()))
    assert generated.startswith(task.tokenizer.decode(tokens[2:]))


def test_each_prompt_is_continued_as_if_alone() -> None:
    task, model = task_and_model()
    options = Decode(max_length=9, temperature=1.0)
    with torch.inference_mode():
        together = list(task.stream(model, ["((", "[", "{}{}"], options, 3, CPU))
        alone = list(task.stream(model, ["(("], options, 3, CPU))
    assert "".join(step.get(0, "") for step in together) == "".join(step.get(0, "") for step in alone)


def test_samples_depend_on_the_seed_alone() -> None:
    task, model = task_and_model(train={"samples": 3}, decode={"max_length": 8, "prompt": "("})
    with torch.inference_mode():
        samples = list(task.samples(model, CPU))
        assert samples == list(task.samples(model, CPU))
    assert [sample["prompt"] for sample in samples] == ["("] * 3
    assert len({sample["text"] for sample in samples}) > 1


@pytest.mark.parametrize("decode", [{}, {"beam_size": 3}])
def test_a_model_with_scores_that_are_not_finite_generates_no_sample(decode: dict[str, Any]) -> None:
    task, model = task_and_model(train={"samples": 2}, decode={"max_length": 4, **decode})
    with torch.inference_mode():
        assert len(list(task.samples(model, CPU))) == (1 if decode else 2)
    with torch.no_grad():
        model.head.output.bias += math.nan
    with torch.inference_mode():
        assert list(task.samples(model, CPU)) == []


@pytest.mark.parametrize("arch", ["gru", "transformer"])
def test_tied_weights_are_saved_once_and_stay_tied(arch: str, tmp_path: Path) -> None:
    model = {"tied": True, **({"hidden": 32} if arch == "gru" else {})}
    run = start(tiny("language", arch, model=model, train={"steps": 2, "validate_every": 2}), tmp_path / "run")
    again = seqloom.load(tmp_path / "run")
    assert again.predict([TEXT]) == run.predict([TEXT])
    assert again.model.head.output.weight is again.model.stem.embedding.weight  # type: ignore[union-attr]


def test_a_batch_is_formatted_one_line_per_stream() -> None:
    task, _ = task_and_model()
    batch = task.batch(task.epoch(0)[0])
    lines = list(task.format_batch(batch))
    assert len(lines) == batch.source.shape[0]
    assert lines[0].count(" -> ") == 1


def test_the_description_has_the_splits_and_the_tokenizer() -> None:
    task, _ = task_and_model(data={"test_share": 0.1})
    assert task.splits() == ("train", "valid", "test")
    description = task.describe()
    for words in (" training", " validation", " test", "character tokens"):
        assert words in description


def test_a_task_that_only_predicts_has_no_data() -> None:
    task, _ = task_and_model()
    with pytest.raises(UserError, match="has not read any data"):
        _ = Language.from_files(task.experiment, task.files()).data
