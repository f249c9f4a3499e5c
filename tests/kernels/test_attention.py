"""cuDNN's attention is left to shapes that come often enough to be planned."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from seqloom.kernels import attention
from seqloom.kernels.attention import CudnnPlans, dot_product_attention


class OnCuda(Tensor):
    """A tensor that says that it is on a GPU."""

    is_cuda = True


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[CudnnPlans]:
    monkeypatch.setattr(CudnnPlans, "CALLS", 3)
    enabled = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(True)
    yield CudnnPlans()
    assert torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(enabled)


def is_enabled(plans: CudnnPlans, keys: int) -> bool:
    """Whether a call with so many keys may use cuDNN."""
    x = torch.zeros(2, 4, keys, 8).as_subclass(OnCuda)
    with plans.limit(x, x, x, None, causal=False):
        return torch.backends.cuda.cudnn_sdp_enabled()


def test_a_shape_is_planned_when_it_has_come_often(plans: CudnnPlans) -> None:
    assert [is_enabled(plans, 16) for _ in range(4)] == [False, False, True, True]
    assert not any(is_enabled(plans, keys) for keys in range(17, 40))
    assert is_enabled(plans, 16)


def test_counts_are_bounded(plans: CudnnPlans, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CudnnPlans, "SHAPES", 5)
    for keys in range(1, 60):
        is_enabled(plans, keys)
    assert len(plans._calls) <= 6


def test_a_deterministic_run_does_not_depend_on_earlier_calls(plans: CudnnPlans) -> None:
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        assert not any(is_enabled(plans, 16) for _ in range(5))
    finally:
        torch.use_deterministic_algorithms(before)


def test_a_caller_who_allows_only_cudnn_gets_it(plans: CudnnPlans) -> None:
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        assert is_enabled(plans, 16)
    assert not is_enabled(plans, 16)


def test_a_setting_of_the_caller_is_kept(plans: CudnnPlans) -> None:
    torch.backends.cuda.enable_cudnn_sdp(False)
    assert not any(is_enabled(plans, 16) for _ in range(5))
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(True)


def test_a_tensor_on_the_cpu_changes_no_setting(plans: CudnnPlans) -> None:
    x = torch.zeros(2, 4, 16, 8)
    with plans.limit(x, x, x, None, causal=False):
        assert torch.backends.cuda.cudnn_sdp_enabled()


def test_overlapping_threads_restore_the_setting(plans: CudnnPlans) -> None:
    x = torch.zeros(2, 4, 16, 8).as_subclass(OnCuda)
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with plans.limit(x, x, x, None, causal=False):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=stay)
    with plans.limit(x, x, x, None, causal=False):
        thread.start()
        assert entered.wait(10)
    assert not torch.backends.cuda.cudnn_sdp_enabled()  # the other thread is still inside
    leave.set()
    thread.join()
    assert torch.backends.cuda.cudnn_sdp_enabled()


@pytest.mark.gpu
def test_attention_on_a_gpu_asks_for_no_plan_of_a_new_shape(plans: CudnnPlans, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, original = [], F.scaled_dot_product_attention

    def recorded(*arguments: Tensor, **options: Any) -> Tensor:
        settings.append(torch.backends.cuda.cudnn_sdp_enabled())
        return original(*arguments, **options)

    monkeypatch.setattr(attention, "_cudnn_plans", plans)
    monkeypatch.setattr(F, "scaled_dot_product_attention", recorded)
    for keys in (16, 17, 16, 16):
        x = torch.randn(2, 4, keys, 8, device="cuda", dtype=torch.bfloat16)
        dot_product_attention(x, x, x, scale=1.0)
    assert settings == [False, False, False, True]
