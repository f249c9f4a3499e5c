"""The peak rates of this machine, and the lower bound on decoding time that follows from them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from seqloom.kernels.linear import PackedWeights, linear
from seqloom.nn.model import EncoderDecoder
from seqloom.nn.multihead import SelfAttention

START_ONLY = (
    "cross.layers.layer.key",
    "cross.layers.layer.value",
    "key_weight",
    "bridge",
)  # used by `start`, not by a step


class Machine:
    """Floating-point operations per second of a large product, and bytes per second of a long read: the best so far.

    Measured again in each turn, since on a busy machine the first measurement may be slow, and a floor must hold.
    """

    def __init__(self) -> None:
        self.rate = self.bandwidth = 0.0
        self.square, self.long = torch.randn(1024, 1024), torch.randn(2**25)
        self.weight, self.packing = nn.Parameter(self.square), PackedWeights()
        self.look(times=12)

    def look(self, times: int = 3) -> None:
        a = self.square
        products = (lambda: a @ a, lambda: linear(a, self.weight))
        with torch.no_grad(), self.packing:
            self.rate = max(self.rate, 2 * 1024**3 / min(fastest(product, times) for product in products))
        self.bandwidth = max(self.bandwidth, 4 * self.long.numel() / fastest(self.long.sum, times))


def fastest(call: Callable[[], object], times: int) -> float:
    """The seconds of the fastest of several calls."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


@dataclass(frozen=True)
class Work:
    """The number and length of the sources, the length of the generated texts, and the beam size."""

    sources: int = 32
    source_steps: int = 24
    steps: int = 64
    beam: int = 1

    @property
    def tokens(self) -> int:
        """The number of generated tokens."""
        return self.sources * self.steps


def floor(model: EncoderDecoder, work: Work, machine: Machine) -> float:
    """A lower bound on the seconds of this work: its products at the peak rate, or its reads, whichever takes longer.

    A product has 2 operations per weight and row; a step reads each weight once for all rows, and each text's cache.
    """
    per_step = sum(
        weight.numel() for name, weight in matrices(model.decoder) if not any(part in name for part in START_ONLY)
    )
    per_step += model.head.output.weight.numel()
    per_source = sum(weight.numel() for _, weight in matrices(model.encoder))
    per_source += sum(
        weight.numel() for name, weight in matrices(model.decoder) if any(part in name for part in START_ONLY)
    )
    rows = work.sources * work.beam
    cached = rows * cache_numbers(model) * work.steps * (work.steps + 1) // 2
    cross = rows * cross_numbers(model) * work.source_steps * work.steps
    operations = 2 * (per_step * rows * work.steps + per_source * work.sources * work.source_steps + cached + cross)
    return max(operations / machine.rate, 4 * (per_step * work.steps + cached) / machine.bandwidth)


def matrices(module: nn.Module) -> list[tuple[str, torch.Tensor]]:
    """The weights of matrix products."""
    return [(name, weight) for name, weight in module.named_parameters() if weight.dim() > 1]


def cache_numbers(model: EncoderDecoder) -> int:
    """The number of cached values per generated step, of keys and values."""
    layers = (part for part in model.decoder.modules() if isinstance(part, SelfAttention))
    return sum(layer.kv_heads * sum(layer.stored_widths) for layer in layers)


def cross_numbers(model: EncoderDecoder) -> int:
    """The number of cached values per source step: about twice the width of a recurrent decoder."""
    return cache_numbers(model) or 2 * model.decoder.output_size
