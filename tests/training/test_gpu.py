"""On a CUDA device a step synchronizes once, and a run in deterministic mode resumes bit for bit."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from seqloom.api import resume
from seqloom.training.events import Event
from tests.training.small import TINY, lines, tiny_session

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype"),
]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("task", TINY)
def test_a_step_synchronizes_once(task: str, accumulate: int, optimizer: str) -> None:
    train = {"device": "cuda", "accumulate": accumulate, "optimizer": optimizer}
    trainer = tiny_session(task, "lstm", train=train).trainer([])
    trainer.step()  # the first step allocates plans and workspaces
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trainer.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    synchronizations = [str(warning.message) for warning in caught if "synchroniz" in str(warning.message)]
    assert len(synchronizations) == 1, synchronizations


class PowerCut(Exception):
    """An interruption without a checkpoint."""


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("arch", ["lstm", "transformer"])
@pytest.mark.parametrize("task", TINY)
def test_an_interrupted_run_ends_as_the_uninterrupted_one(task: str, arch: str, precision: str, tmp_path: Path) -> None:
    train = {"device": "cuda", "deterministic": True, "precision": precision, "checkpoint_every": 3}
    more: dict[str, Any] = {"train": train, "model": {"dropout": 0.2}}

    def cut(event: Event) -> None:
        if event.step == 8:
            raise PowerCut

    tiny_session(task, arch, **more).start(tmp_path / "whole", [])
    with pytest.raises(PowerCut):
        tiny_session(task, arch, **more).start(tmp_path / "cut", [cut])
    resume(tmp_path / "cut")
    last = "checkpoints/step-000000012"
    for name in ("weights", "optimiser"):
        whole, again = (load_file(tmp_path / run / last / f"{name}.safetensors") for run in ("whole", "cut"))
        assert whole.keys() == again.keys()
        for key, tensor in whole.items():
            assert tensor.equal(again[key]), key
    assert lines(tmp_path / "whole") == lines(tmp_path / "cut")
