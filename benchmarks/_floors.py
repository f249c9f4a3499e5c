"""The peak rates of this machine, and the lower bound on decoding time that follows from them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from seqloom.kernels.linear import PackedWeights, linear
from seqloom.nn.model import EncoderDecoder
from seqloom.nn.multihead import SelfAttention

ONCE = ("cross.layers.layer.key", "cross.layers.layer.value", "key_weight", "bridge")  # used by `start`, not by a step


class Machine:
    """Floating-point operations a second of a large product, and bytes a second of a long read: the best seen so far.

    Asked again in each turn, since on a busy machine the first look may be a bad one, and a floor must hold.
    """

    def __init__(self) -> None:
        self.rate = self.bandwidth = 0.0
        self.square, self.long = torch.randn(1024, 1024), torch.randn(2**25)
        self.weight, self.packing = nn.Parameter(self.square), PackedWeights()
        self.look(times=12)

    def look(self, times: int = 3) -> None:
        """Measure again."""
        a = self.square
        products = (lambda: a @ a, lambda: linear(a, self.weight))
        with torch.no_grad(), self.packing:
            self.rate = max(self.rate, 2 * 1024**3 / min(fastest(product, times) for product in products))
        self.bandwidth = max(self.bandwidth, 4 * self.long.numel() / fastest(self.long.sum, times))


def fastest(call: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of some calls."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


@dataclass(frozen=True)
class Work:
    """What is decoded: sources of so many tokens, texts of so many steps, so many texts a source."""

    sources: int = 32
    source_steps: int = 24
    steps: int = 64
    beam: int = 1

    @property
    def tokens(self) -> int:
        """What comes out."""
        return self.sources * self.steps


def floor(model: EncoderDecoder, work: Work, machine: Machine) -> float:
    """Seconds that this work takes at least: its products at the machine's rate, or its reads, if those take longer.

    A product is 2 operations a weight and row; a step reads each weight once for all rows, and each text's own cache.
    """
    a_step = sum(weight.numel() for name, weight in matrices(model.decoder) if not any(part in name for part in ONCE))
    a_step += model.head.output.weight.numel()
    once = sum(weight.numel() for _, weight in matrices(model.encoder))
    once += sum(weight.numel() for name, weight in matrices(model.decoder) if any(part in name for part in ONCE))
    rows = work.sources * work.beam
    cached = rows * cache_numbers(model) * work.steps * (work.steps + 1) // 2
    asked = rows * cross_numbers(model) * work.source_steps * work.steps
    operations = 2 * (a_step * rows * work.steps + once * work.sources * work.source_steps + cached + asked)
    return max(operations / machine.rate, 4 * (a_step * work.steps + cached) / machine.bandwidth)


def matrices(module: nn.Module) -> list[tuple[str, torch.Tensor]]:
    """The weights that enter a product."""
    return [(name, weight) for name, weight in module.named_parameters() if weight.dim() > 1]


def cache_numbers(model: EncoderDecoder) -> int:
    """Numbers kept for each step written, keys and values."""
    layers = (part for part in model.decoder.modules() if isinstance(part, SelfAttention))
    return sum(layer.kv_heads * sum(layer.stored_widths) for layer in layers)


def cross_numbers(model: EncoderDecoder) -> int:
    """Numbers kept for each step of the source: for a recurrent decoder about twice its width."""
    return cache_numbers(model) or 2 * model.decoder.output_size
