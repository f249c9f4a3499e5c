"""A run trained on a CUDA device predicts and evaluates the same on the CPU."""

from pathlib import Path
from typing import Any

import pytest
import torch

import seqloom
from seqloom.runs.run import Run
from tests.runs.small import KINDS, TEXTS, data_of, model_inputs, train_run

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("unchecked")]


@pytest.fixture(autouse=True)
def full_precision() -> Any:
    """Full float32 products: TF32 has three digits."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


@pytest.fixture(scope="module", params=list(KINDS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that was trained and evaluated on the device."""
    return train_run(request.param, tmp_path_factory.mktemp(request.param), device="cuda")


def assert_near(actual: object, expected: object) -> None:
    """Assert that the values are equal, numbers up to the difference between two devices."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for name in actual:
            assert_near(actual[name], expected[name])
    elif isinstance(actual, list) and isinstance(expected, list):
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected, strict=True):
            assert_near(a, b)
    elif isinstance(actual, float):
        assert actual == pytest.approx(expected, rel=1e-3, abs=1e-4)
    else:
        assert actual == expected


def without_order(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the order of nearly equal probabilities, in which two devices may differ."""
    for answer in answers:
        if "next" in answer:
            answer["next"] = sorted(token["probability"] for token in answer["next"])
    return answers


def test_the_cpu_predicts_like_the_device(run: Run) -> None:
    on_cuda, on_cpu = (seqloom.load(run.folder, device) for device in ("cuda", "cpu"))
    assert next(on_cuda.model.parameters()).is_cuda
    assert not next(on_cpu.model.parameters()).is_cuda
    assert_near(without_order(on_cuda.predict(TEXTS)), without_order(on_cpu.predict(TEXTS)))


@pytest.mark.parametrize("split", ["valid", "test"])
def test_both_devices_give_the_scores_of_training(run: Run, split: str) -> None:
    for device in ("cuda", "cpu"):
        scores = seqloom.load(run.folder, device).evaluate(data_of(run, split)).scores
        assert scores["loss"] == pytest.approx(run.scores[split]["loss"], rel=1e-3)
        assert scores.keys() == run.scores[split].keys()
        if "accuracy" in scores:
            assert scores["accuracy"] == pytest.approx(run.scores[split]["accuracy"], abs=0.05)  # up to two ties


def test_both_devices_generate_the_same_text(run: Run) -> None:
    """The noise is drawn from the seed, wherever the logits are computed."""
    if run.task.name != "language":
        return
    texts = [seqloom.load(run.folder, device).generate("abc", max_length=30, seed=2) for device in ("cuda", "cpu")]
    assert texts[0] == texts[1]


def test_weights_on_the_device_can_be_trained_further(run: Run) -> None:
    on_cuda = seqloom.load(run.folder, "cuda")
    on_cuda.predict(TEXTS)
    for _ in on_cuda.stream("abc", max_length=3, seed=1) if run.task.name == "language" else ():
        assert not torch.is_inference_mode_enabled()
    assert not any(parameter.is_inference() for parameter in on_cuda.model.parameters())
    y, _ = on_cuda.model.train()(*model_inputs(run, "cuda"))
    y.sum().backward()
    assert all(parameter.grad is None or parameter.grad.is_cuda for parameter in on_cuda.model.parameters())


@pytest.mark.parametrize("task", list(KINDS))
def test_scores_of_bf16_training_on_the_device_are_of_float32(task: str, tmp_path: Path) -> None:
    run = train_run(task, tmp_path, device="cuda", precision="bf16")
    again = seqloom.load(run.folder, "cuda").evaluate(data_of(run, "test")).scores
    assert again["loss"] == pytest.approx(run.scores["test"]["loss"], rel=1e-5)
    assert next(seqloom.load(run.folder).model.parameters()).dtype == torch.float32
