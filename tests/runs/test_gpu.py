"""A run trained on a CUDA device answers and measures the same on the CPU."""

from pathlib import Path
from typing import Any

import pytest
import torch

import seqloom
from seqloom.runs.run import Run
from tests.runs.small import KINDS, TEXTS, data_of, numbers, trained

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("unchecked")]


@pytest.fixture(autouse=True)
def exact() -> Any:
    """Full float32 products: TF32 keeps three digits."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


@pytest.fixture(scope="module", params=list(KINDS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Trained on the device; measured there too."""
    return trained(request.param, tmp_path_factory.mktemp(request.param), device="cuda")


def near(one: object, other: object) -> None:
    """Equal, numbers to what two devices differ by."""
    if isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys()
        for name in one:
            near(one[name], other[name])
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            near(a, b)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-4)
    else:
        assert one == other


def settled(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the order of what is nearly as likely, which two devices may decide otherwise."""
    for answer in answers:
        if "next" in answer:
            answer["next"] = sorted(each["probability"] for each in answer["next"])
    return answers


def test_the_cpu_answers_as_the_device_does(run: Run) -> None:
    on_cuda, on_cpu = (seqloom.load(run.folder, device) for device in ("cuda", "cpu"))
    assert next(on_cuda.model.parameters()).is_cuda
    assert not next(on_cpu.model.parameters()).is_cuda
    near(settled(on_cuda.predict(TEXTS)), settled(on_cpu.predict(TEXTS)))


@pytest.mark.parametrize("part", ["valid", "test"])
def test_the_scores_of_training_are_those_of_either_device(run: Run, part: str) -> None:
    for device in ("cuda", "cpu"):
        scores = seqloom.load(run.folder, device).evaluate(data_of(run, part)).scores
        assert scores["loss"] == pytest.approx(run.scores[part]["loss"], rel=1e-3)
        assert scores.keys() == run.scores[part].keys()
        if "accuracy" in scores:
            assert scores["accuracy"] == pytest.approx(run.scores[part]["accuracy"], abs=0.05)  # a tie or two


def test_a_text_is_written_the_same_on_either_device(run: Run) -> None:
    """The noise is drawn from the seed, wherever the scores are made."""
    if run.task.name != "language":
        return
    texts = [seqloom.load(run.folder, device).generate("abc", max_length=30, seed=2) for device in ("cuda", "cpu")]
    assert texts[0] == texts[1]


def test_weights_on_the_device_can_be_trained_on(run: Run) -> None:
    on_cuda = seqloom.load(run.folder, "cuda")
    on_cuda.predict(TEXTS)
    for _ in on_cuda.stream("abc", max_length=3, seed=1) if run.task.name == "language" else ():
        assert not torch.is_inference_mode_enabled()
    assert not any(each.is_inference() for each in on_cuda.model.parameters())
    y, _ = on_cuda.model.train()(*numbers(run, "cuda"))
    y.sum().backward()
    assert all(each.grad is None or each.grad.is_cuda for each in on_cuda.model.parameters())


@pytest.mark.parametrize("task", list(KINDS))
def test_bf16_on_the_device_ends_in_scores_of_float32(task: str, tmp_path: Path) -> None:
    run = trained(task, tmp_path, device="cuda", precision="bf16")
    again = seqloom.load(run.folder, "cuda").evaluate(data_of(run, "test")).scores
    assert again["loss"] == pytest.approx(run.scores["test"]["loss"], rel=1e-5)
    assert next(seqloom.load(run.folder).model.parameters()).dtype == torch.float32
