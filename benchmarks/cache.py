"""Stepwise attention with a cache whose capacity doubles, against a cache that is concatenated at each step.

    python benchmarks/cache.py [--steps 2048]

One causal layer (256 features, 8 heads, 8 rows); the two alternate in one process (docs/decisions/0004).
"""

import argparse
import statistics
import time
from unittest.mock import patch

import torch
from torch import Tensor

from seqloom.nn import SelfAttention
from seqloom.nn.multihead import append_to_cache
from seqloom.nn.state import State


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, default=2048)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    layer = SelfAttention(256, heads=8, causal=True).eval()
    print(f"torch {torch.__version__}, one CPU thread; seconds in all, and milliseconds a step near the end")
    for turn in range(2):
        for name, store in (("doubled when full", append_to_cache), ("concatenated", concatenate)):
            with patch("seqloom.nn.multihead.append_to_cache", store):
                times = decode(layer, options.steps)
            print(
                f"{name:<20}{sum(times):>8.2f}{statistics.median(times[-40:]) * 1e3:>8.2f}   turn {turn + 1}",
                flush=True,
            )


@torch.no_grad()
def decode(layer: SelfAttention, steps: int) -> list[float]:
    x, state, times = torch.randn(8, 1, 256), None, []
    for _ in range(steps):
        start = time.perf_counter()
        _, state = layer(x, state=state)
        times.append(time.perf_counter() - start)
    return times


def concatenate(stored: Tensor, new: Tensor, state: State) -> Tensor:
    return torch.cat([stored, new], dim=2) if state.max_position else new


if __name__ == "__main__":
    main()
