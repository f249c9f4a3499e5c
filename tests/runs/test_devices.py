"""Devices by name, their precision, and deterministic algorithms."""

import pytest
import torch

from seqloom.core.problem import UserError
from seqloom.runs.devices import autocast, deterministic_algorithms, device_name, resolve_device, seed_torch
from tests.training.small import tiny

CPU = torch.device("cpu")


def test_auto_selects_an_available_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert resolve_device("auto") == CPU
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert resolve_device("auto").type == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto").type == "cuda"
    assert resolve_device("cpu") == CPU


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_missing_device_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UserError, match=rf"^device='{name}': torch finds no such device here.*`seqloom doctor`"):
        resolve_device(name)


def test_devices_have_readable_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert device_name(CPU) == "1 CPU core"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    assert device_name(CPU) == "8 CPU cores"
    assert device_name(torch.device("mps")) == "Apple GPU"


@pytest.mark.parametrize(("name", "dtype"), [("float32", torch.float32), ("bf16", torch.bfloat16)])
def test_products_have_the_precision_of_the_config(name: str, dtype: torch.dtype) -> None:
    with autocast(tiny("language", train={"precision": name}).train, CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


def test_deterministic_algorithms_end_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    deterministic, default = (tiny("language", train={"deterministic": value}).train for value in (True, False))
    with deterministic_algorithms(default):
        assert not torch.are_deterministic_algorithms_enabled()
    with deterministic_algorithms(deterministic):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="as planned"), deterministic_algorithms(deterministic):
        raise RuntimeError("as planned")
    assert not torch.are_deterministic_algorithms_enabled()


def test_torch_is_seeded_by_words_and_numbers() -> None:
    def draw(*words: object) -> float:
        seed_torch(*words)
        return float(torch.rand(()))

    assert draw("step", 1, 2) == draw("step", 1, 2)
    assert len({draw("step", 1, 2), draw("step", 1, 3), draw("step", 2, 2), draw("weights", 1)}) == 4
