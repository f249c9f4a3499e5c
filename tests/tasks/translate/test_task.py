"""Translation: batches, loss, evaluation and answers."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

import seqloom
from seqloom.api import resume, start
from seqloom.core.config.decode import Decode
from seqloom.core.problem import ConfigError
from seqloom.data.split import TRAIN, VALID
from seqloom.runs.run import Run
from seqloom.tasks.task import Batch, StepOutput
from seqloom.tasks.translate.task import Translate
from seqloom.training.checkpointer import Stopped
from tests.training.small import tiny, tiny_session
from tests.training.test_checkpointer import signal_at
from tests.training.test_crash import assert_same, results

CPU = torch.device("cpu")
NUMBERS = {"corpus": "numbers", "examples": 90, "corpus_length": 2, "valid_share": 0.3, "test_share": 0.1}
TEXTS = ["forty-one", "seven", "ninety-nine", "eleven"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on numbers of two digits, trained for a few seconds: some of its answers are right."""
    train = {"steps": 60, "validate_every": 60, "log_every": 60, "batch_tokens": 512, "lr": 0.01}
    config = tiny("translate", data=NUMBERS, train=train, decode={"max_length": 9})
    jaxtyping.config.update("jaxtyping_disable", True)  # as `unchecked` does for a test
    try:
        return start(config, tmp_path_factory.mktemp("numbers") / "run")
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def task_of(task: str = "translate", arch: str = "gru", **more: Any) -> tuple[Translate, Any]:
    """A task and its fresh model, without dropout."""
    model = {"dropout": 0.0, **more.pop("model", {})}
    trainer = tiny_session(task, arch, model=model, **more).trainer([])
    assert isinstance(trainer.task, Translate)
    return trainer.task, trainer.model


def batches(task: Translate) -> Iterator[Batch]:
    return map(task.batch, task.epoch(0))


# Batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
def test_a_batch_has_both_sides_with_end_tokens(shared: bool) -> None:
    task, _ = task_of(data={**NUMBERS, "shared_vocabulary": shared})
    split, seen = task.data.splits[TRAIN], []
    for batch in batches(task):
        assert batch.lengths is not None
        assert batch.target_lengths is not None
        assert batch.decoder_input is not None
        seen += batch.rows
        for i, row in enumerate(batch.rows):
            source, target = (
                [*split["source"][row], len(task.source_tokenizer)],
                [*split["target"][row], len(task.target)],
            )
            source_length, target_length = batch.lengths[i], batch.target_lengths[i]
            assert batch.source[i, :source_length].tolist() == source
            assert batch.target[i, :target_length].tolist() == target
            assert batch.decoder_input[i, :target_length].tolist() == [task.end, *target[:-1]]
            assert not batch.source[i, source_length:].any()
            assert not batch.target[i, target_length:].any()
    assert sorted(seen) == list(range(len(split)))


def test_a_batch_is_limited_by_the_longer_side() -> None:
    task, _ = task_of(data=NUMBERS, train={"batch_tokens": 64})
    for batch in batches(task):
        assert len(batch.rows) * max(batch.source.shape[1], batch.target.shape[1]) <= 64


def test_a_batch_is_formatted_one_line_per_pair() -> None:
    task, _ = task_of()
    batch = next(batches(task))
    lines = list(task.format_batch(batch))
    assert len(lines) == len(batch.rows)
    assert all(source == target for source, target in (line.split(" -> ") for line in lines))  # the corpus is `copy`


# Vocabularies -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("shared", [True, False])
def test_a_run_has_one_or_two_vocabularies(shared: bool, tmp_path: Path) -> None:
    data = {**NUMBERS, "shared_vocabulary": shared, "tokenizer": "word"}
    trained = start(tiny("translate", data=data, train={"steps": 2, "validate_every": 2}), tmp_path / "run")
    files = sorted(path.name for path in (tmp_path / "run/vocabulary").iterdir())
    assert files == (["source.json"] if shared else ["source.json", "target.json"])
    task = trained.task
    assert isinstance(task, Translate)
    assert (task.source_tokenizer is task.target) == shared
    assert set(task.source_tokenizer.tokens(range(len(task.source_tokenizer)))) >= {"forty-one", "eleven"}
    assert ("forty-one" in task.target.tokens(range(len(task.target)))) == shared
    assert trained.model.target_stem.vocabulary == len(task.target) + 1
    assert trained.model.source_stem.vocabulary == len(task.source_tokenizer) + 1
    assert trained.predict(["forty-one"])[0]["source_tokens"] == ["forty-one", "</s>"]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("arch", "shared"), [("gru", True), ("transformer", True), ("transformer", False)])
def test_tied_weights_are_saved_once_and_stay_tied(arch: str, shared: bool, tmp_path: Path) -> None:
    model, data = {"tied": True}, {"shared_vocabulary": shared}
    start(tiny("translate", arch, model=model, data=data, train={"steps": 2, "validate_every": 2}), tmp_path / "run")
    again = seqloom.load(tmp_path / "run")
    assert again.manifest.model is not None
    vocabulary = again.model.target_stem.vocabulary
    saved = [
        name
        for name, tensor in load_file(tmp_path / "run" / again.manifest.model).items()
        if vocabulary in tensor.shape
    ]
    assert len(saved) == 1 + (not shared)
    loaded = {id(weight) for weight in again.model.parameters() if vocabulary in weight.shape}
    assert len(loaded) == len(saved)
    assert id(again.model.target_stem.embedding.weight) in loaded
    assert (again.model.source_stem.embedding.weight is again.model.target_stem.embedding.weight) == shared


# Loss -------------------------------------------------------------------------------------------------------------


def step_and_gradients(task: Translate, model: Any, done: float, seed: int = 1) -> tuple[StepOutput, list[Tensor]]:
    """The output of one training step, and its gradients."""
    torch.manual_seed(seed)
    output = task.step(model.train(), next(batches(task)), None, done)
    return output, list(torch.autograd.grad(output.loss.total, list(model.parameters())))


@pytest.mark.parametrize("key", ["scheduled_sampling", "doubly_stochastic"])
@pytest.mark.parametrize("arch", ["gru", "transformer"])
def test_training_options_change_the_loss_and_are_deterministic(key: str, arch: str) -> None:
    plain, _ = step_and_gradients(*task_of(arch=arch), done=0.5)
    task, model = task_of(arch=arch, train={key: 0.9})
    other, gradients = step_and_gradients(task, model, done=0.5)
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert other.loss.count == plain.loss.count
    assert other.loss.total.item() != pytest.approx(plain.loss.total.item(), rel=1e-4)
    again, gradients_again = step_and_gradients(task, model, done=0.5)
    assert again.loss.total.equal(other.loss.total)
    assert all(left.equal(right) for left, right in zip(gradients, gradients_again, strict=True))


def test_scheduled_sampling_grows_with_training_progress() -> None:
    plain, _ = step_and_gradients(*task_of(), done=0.0)
    task, model = task_of(train={"scheduled_sampling": 0.99999})
    at_first, _ = step_and_gradients(task, model, done=0.0)
    assert at_first.loss.total.equal(plain.loss.total)
    in_the_middle = {step_and_gradients(task, model, done=0.5, seed=seed)[0].loss.total.item() for seed in range(4)}
    assert len(in_the_middle) > 1
    in_the_end = {step_and_gradients(task, model, done=1.0, seed=seed)[0].loss.total.item() for seed in range(4)}
    assert len(in_the_end) == 1  # all decoder inputs are the model's own predictions


def test_the_attention_penalty_is_proportional_to_its_weight() -> None:
    plain, _ = step_and_gradients(*task_of(), done=0.0)
    half, _ = step_and_gradients(*task_of(train={"doubly_stochastic": 0.5}), done=0.0)
    whole, _ = step_and_gradients(*task_of(train={"doubly_stochastic": 1.0}), done=0.0)
    added = [output.loss.total.item() - plain.loss.total.item() for output in (half, whole)]
    assert added[0] > 0
    assert added[1] == pytest.approx(2 * added[0], rel=1e-3)


@pytest.mark.parametrize("task", ["translate", "caption"])
def test_the_attention_penalty_is_refused_without_attention(task: str) -> None:
    model = {"attention": "none", "encoder": "gru"}
    with pytest.raises(
        ConfigError,
        match=r"^train\.doubly_stochastic has no effect with model\.attention none; it "
        "goes",
    ):
        tiny(task, model=model, train={"doubly_stochastic": 1.0})
    assert "doubly_stochastic" not in tiny(task, model=model).model_dump()["train"]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("task", ["translate", "caption"])
def test_a_run_with_all_training_options_resumes_bit_for_bit(task: str, tmp_path: Path) -> None:
    train = {
        "steps": 6,
        "validate_every": 4,
        "scheduled_sampling": 0.5,
        "doubly_stochastic": 0.5,
        "average_checkpoints": 2,
    }
    start(tiny(task, train=train), tmp_path / "whole")
    with pytest.raises(Stopped):
        start(tiny(task, train=train), tmp_path / "run", [signal_at(3, 15)])
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", results(tmp_path / "whole"))


# Scores -----------------------------------------------------------------------------------------------------------


def test_a_finished_run_has_scores_and_details(run: Run) -> None:
    scores, details = run.scores["valid"], run.scores["details"]
    assert run.scores["chosen_by"] == "chrf"
    assert {"bleu", "chrf", "exact_match", "loss", "perplexity", "token_accuracy"} == set(scores)
    assert details["signatures"]["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert details["signatures"]["chrf"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    sentences = sum(bin_["sentences"] for bin_ in details["by_length"])
    right = sum(bin_["sentences"] * bin_["exact_match"] for bin_ in details["by_length"])
    assert right / sentences == pytest.approx(scores["exact_match"])
    bins = [(bin_["from"], bin_["to"]) for bin_ in details["by_length"]]
    assert all(low <= high for low, high in bins)
    assert all(shorter[1] < longer[0] for shorter, longer in pairwise(bins))
    first = details["examples"][0]
    assert set(first) == {"text", "references", "translation", "right", "place"}
    assert first["place"].startswith("numbers:")
    assert 1 < len(details["examples"]) <= 24


def test_the_details_have_the_attention_of_one_example(run: Run) -> None:
    example = run.scores["details"]["attention"]
    rows, columns = len(example["tokens"]) + example["ended"], len(example["source_tokens"])
    weights = torch.tensor(example["attention"])
    assert weights.shape == (rows, columns)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(rows), atol=1e-4, rtol=0)
    assert (run.folder / "attention.svg").read_text(encoding="utf-8").startswith("<svg")


def test_exact_match_equals_that_of_predict(run: Run) -> None:
    task = tiny_session("translate", data=NUMBERS).task
    assert isinstance(task, Translate)
    split = task.data.splits[VALID]
    texts, references = (
        [split.text(side, row) for row in range(len(split))] for side in ("source_texts", "target_texts")
    )
    predicted = [answer["translation"] for answer in run.predict(texts)]
    same = sum(actual == expected for actual, expected in zip(predicted, references, strict=True))
    assert run.scores["valid"]["exact_match"] == pytest.approx(same / len(split))
    assert 0 < same < len(split)  # else the test shows little


def test_validation_during_training_uses_greedy_search(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = task_of(decode={"beam_size": 3, "max_length": 4})
    calls: list[tuple[int, int]] = []
    decode = task.decode

    def recording(model: Any, batch: Any, options: Decode, *rest: Any, **more: Any) -> Any:
        calls.append((options.beam_size, options.max_length))
        return decode(model, batch, options, *rest, **more)

    monkeypatch.setattr(task, "decode", recording)
    with torch.inference_mode():
        quick = task.validate(model.eval(), VALID, CPU)
        assert set(calls) == {(1, 4)}
        calls.clear()
        slow = task.evaluate(model, VALID, CPU)
    assert set(calls) == {(3, 4)}
    assert quick.scores["loss"] == slow.scores["loss"]
    assert "attention" in slow.details
    assert "attention" not in quick.details


# Answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_has_tokens_log_probs_and_a_score(run: Run) -> None:
    answer = run.predict(TEXTS[:1])[0]
    assert answer["text"] == "forty-one"
    assert answer["source_tokens"][-1] == "</s>"
    assert "".join(answer["source_tokens"][:-1]) == "forty-one"
    assert "".join(answer["tokens"]) == answer["translation"]
    assert len(answer["log_probs"]) == len(answer["tokens"]) + answer["ended"]
    assert answer["log_prob"] == pytest.approx(sum(answer["log_probs"]))
    assert answer["score"] == pytest.approx(answer["log_prob"] / len(answer["log_probs"]))  # length_penalty 1
    assert not {"attention", "n_best"} & set(answer)


def test_the_n_best_hypotheses_are_in_order_of_score(run: Run) -> None:
    for answer in run.predict(TEXTS, beam_size=5, n_best=3):
        hypotheses = answer["n_best"]
        assert len(hypotheses) == 3
        assert [hypothesis["score"] for hypothesis in hypotheses] == sorted(
            (hypothesis["score"] for hypothesis in hypotheses), reverse=True
        )
        assert len({hypothesis["translation"] for hypothesis in hypotheses}) == 3
        assert {name: answer[name] for name in hypotheses[0]} == hypotheses[0]
    assert "n_best" not in run.predict(TEXTS[:1], beam_size=5)[0]


def test_a_wider_beam_finds_answers_at_least_as_likely(run: Run) -> None:
    narrow, wide = (run.predict(TEXTS, beam_size=beam, length_penalty=0) for beam in (1, 8))
    assert sum(answer["score"] for answer in wide) >= sum(answer["score"] for answer in narrow) - 1e-4


@pytest.mark.parametrize("beam", [1, 4])
def test_every_answer_begins_with_the_prompt(run: Run, beam: int) -> None:
    for answer in run.predict(TEXTS, prompt="cent", beam_size=beam):
        assert answer["translation"].startswith("cent")
        assert len(answer["log_probs"]) == len(answer["tokens"]) + answer["ended"]  # the prompt is scored too
    assert not any(answer["translation"].startswith("cent") for answer in run.predict(TEXTS))


def test_attention_is_returned_for_each_hypothesis_on_request(run: Run) -> None:
    answers = run.predict(TEXTS, beam_size=3, n_best=2, attention=True)
    for answer in answers:
        for hypothesis in answer["n_best"]:
            weights = torch.tensor(hypothesis["attention"])
            assert weights.shape == (len(hypothesis["log_probs"]), len(answer["source_tokens"]))
            torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(weights)), atol=1e-5, rtol=0)
    plain = run.predict(TEXTS, beam_size=3, n_best=2)
    assert [answer["translation"] for answer in plain] == [answer["translation"] for answer in answers]
    assert "attention" not in plain[0]["n_best"][0]


def test_a_seed_gives_the_same_samples_alone_and_in_a_batch(run: Run) -> None:
    options = {"temperature": 1.5, "seed": 3, "n_best": 2}
    together = run.predict([*TEXTS, *TEXTS[:1]], **options)
    samples = [[hypothesis["tokens"] for hypothesis in answer["n_best"]] for answer in together]
    alone = [run.predict([text], **options)[0]["n_best"] for text in TEXTS]
    assert [[hypothesis["tokens"] for hypothesis in hypotheses] for hypotheses in alone] == samples[:-1]
    assert samples[0] == samples[-1]  # the same text
    assert together[0]["score"] == pytest.approx(together[-1]["score"])
    others = run.predict(TEXTS, **{**options, "seed": 4})
    assert [answer["tokens"] for answer in others] != [answer["tokens"] for answer in together[:-1]]


def test_an_answer_cut_at_max_length_is_not_ended(run: Run) -> None:
    answer = run.predict(TEXTS[:1], max_length=1, min_length=1)[0]
    assert not answer["ended"]
    assert len(answer["tokens"]) == len(answer["log_probs"]) == 1


def test_the_unknown_token_is_never_generated() -> None:
    task, model = task_of(data={**NUMBERS, "tokenizer": "word"})
    assert task.target.unknown is not None
    with torch.no_grad():
        model.head.output.bias[task.target.unknown] += 100
    answer = task.generate(model.eval(), ["eleven"], Decode(temperature=0, max_length=5), CPU)[0]
    assert task.target.tokens([task.target.unknown])[0] not in answer["tokens"]
