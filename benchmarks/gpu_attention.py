"""Attention kernels on a CUDA device, forward and backward, bfloat16: each shape again and again, and new shapes.

    python benchmarks/gpu_attention.py

chosen      the kernel that torch chooses, cuDNN's where it can
cudnn, flash, efficient   that kernel alone; - where it does not take a mask
first call  of a new shape, as most batches have where lengths vary: torch's choice, and seqloom's, which leaves a shape
            to cuDNN when it has come often (`kernels/attention.py`)

Milliseconds, medians of five rounds.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from seqloom.kernels.attention import dot_product_attention

SHAPES = ((64, 8, 32, 64), (64, 8, 128, 64), (64, 8, 512, 64), (16, 12, 1024, 64), (8, 12, 2048, 64))
MASKS = ("none", "causal", "lengths")
BACKENDS = (None, SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)
CALLS = 20  # in a round


def main() -> None:
    if not torch.cuda.is_available():
        print("These kernels need a CUDA device.")
        return
    print(f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}")
    print(f"{'rows heads steps dim':<24}{'mask':<10}{'chosen':>9}{'cudnn':>9}{'flash':>9}{'efficient':>11}")
    for shape in SHAPES:
        for mask in MASKS:
            times = [time_repeated(backend, shape, mask) for backend in BACKENDS]
            cells = ["-" if value is None else f"{value:.3f}" for value in times]
            print(f"{' '.join(map(str, shape)):<24}{mask:<10}{''.join(f'{cell:>9}' for cell in cells)}", flush=True)
    for name, attend in (("torch", torch_attention), ("seqloom", seqloom_attention)):
        times = [time_once(attend, (32, 8, 71 + i, 64)) for i in range(8)]
        print(f"first calls of new shapes, {name}: {', '.join(f'{value:.1f}' for value in times[1:])}", flush=True)


def time_repeated(backend: SDPBackend | None, shape: tuple[int, ...], mask: str) -> float | None:
    """The time of a call with one shape; None if the kernel does not take it."""
    arguments = inputs(shape, mask == "lengths")
    rounds = []
    with nullcontext() if backend is None else sdpa_kernel(backend):
        try:
            for _ in range(6):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(CALLS):
                    torch_attention(*arguments, causal=mask == "causal")
                torch.cuda.synchronize()
                rounds.append((time.perf_counter() - start) / CALLS * 1e3)
        except RuntimeError:
            return None
    return statistics.median(rounds[1:])


def time_once(attend: Callable[..., None], shape: tuple[int, ...]) -> float:
    arguments = inputs(shape, has_mask=True)
    torch.cuda.synchronize()
    start = time.perf_counter()
    attend(*arguments)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3


def inputs(shape: tuple[int, ...], has_mask: bool) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Query, key, value and the mask of rows of unequal length."""
    rows, _, steps, _ = shape
    query, key, value = (torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    lengths = torch.randint(steps // 2, steps + 1, (rows, 1), device="cuda")
    mask = (torch.arange(steps, device="cuda") < lengths)[:, None, None]
    return query, key, value, mask if has_mask else None


def torch_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool = False) -> None:
    F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal).sum().backward()


def seqloom_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    dot_product_attention(query, key, value, scale=query.shape[3] ** -0.5, mask=mask).sum().backward()


if __name__ == "__main__":
    main()
