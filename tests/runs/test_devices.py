"""Devices: by name, in which precision, and how surely the same."""

import pytest
import torch

from seqloom.core.problem import UserError
from seqloom.runs.devices import autocast, deterministic_algorithms, device_name, resolve_device, seed_torch
from tests.training.small import tiny

CPU = torch.device("cpu")


def test_auto_takes_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert resolve_device("auto") == CPU
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert resolve_device("auto").type == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto").type == "cuda"
    assert resolve_device("cpu") == CPU


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_one_that_is_not_there_is_a_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UserError, match=rf"^device='{name}': torch finds no such device here.*`seqloom doctor`"):
        resolve_device(name)


def test_words_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert device_name(CPU) == "1 CPU core"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    assert device_name(CPU) == "8 CPU cores"
    assert device_name(torch.device("mps")) == "Apple GPU"


@pytest.mark.parametrize(("name", "dtype"), [("float32", torch.float32), ("bf16", torch.bfloat16)])
def test_products_are_in_the_precision_asked_for(name: str, dtype: torch.dtype) -> None:
    with autocast(tiny("language", train={"precision": name}).train, CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


def test_determinism_holds_within_and_ends_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    asked, not_asked = (tiny("language", train={"deterministic": value}).train for value in (True, False))
    with deterministic_algorithms(not_asked):
        assert not torch.are_deterministic_algorithms_enabled()
    with deterministic_algorithms(asked):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="as planned"), deterministic_algorithms(asked):
        raise RuntimeError("as planned")
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_seed_of_words() -> None:
    def drawn(*words: object) -> float:
        seed_torch(*words)
        return float(torch.rand(()))

    assert drawn("step", 1, 2) == drawn("step", 1, 2)
    assert len({drawn("step", 1, 2), drawn("step", 1, 3), drawn("step", 2, 2), drawn("weights", 1)}) == 4
