"""The parts of a decoding step: the time of each in seqloom and in plain torch.

    python benchmarks/step_parts.py [--threads 2] [--rounds 30]

The Transformer of `benchmarks/decoding.py`, CPU, float32. The two alternate; medians are shown.
"""

import argparse
import statistics
from collections.abc import Callable

import torch
from _floors import Machine, fastest
from torch import nn
from torch.nn import functional as F

from seqloom.decoding.beam import blockwise_topk
from seqloom.kernels.attention import explicit_attention
from seqloom.kernels.linear import PackedWeights, linear
from seqloom.nn.state import State

WEIGHTS = ((512, 512), (2048, 512), (512, 2048), (32_000, 512), (58_101, 512))
BLOCKS, HEADS, SIZE, KEYS = 6, 8, 64, 64


def in_turns(rounds: int, *calls: Callable[[], object]) -> list[float]:
    """The median seconds of each call, measured alternately."""
    times = [[fastest(call, 1) for call in calls] for _ in range(rounds + 2)][2:]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def products(rounds: int) -> None:
    """Time products of a few rows with a weight, in GFLOP/s."""
    print("\nproducts, GFLOP/s        32 rows: torch  laid out     128 rows: torch  laid out")
    for out, inner in WEIGHTS:
        weight, cells = nn.Parameter(torch.randn(out, inner)), []
        for rows in (32, 128):
            x, packing = torch.randn(rows, inner), PackedWeights()

            def packed(x: torch.Tensor = x, packing: PackedWeights = packing, weight: nn.Parameter = weight) -> None:
                with packing:
                    linear(x, weight)

            seconds = in_turns(rounds, lambda x=x, weight=weight: F.linear(x, weight), packed)
            cells += [2 * rows * out * inner / time / 1e9 for time in seconds]
        print(f"{out:>6,} x {inner:>5,} {cells[0]:>23.0f} {cells[1]:>9.0f} {cells[2]:>19.0f} {cells[3]:>9.0f}")


def other_parts(rounds: int) -> None:
    """Time the other parts, in milliseconds."""
    print("\nmilliseconds                                                     torch   seqloom")
    log_p = torch.randn(128, 58_101).log_softmax(dim=1)
    print_row(
        "the 5 best of 58,101, 128 rows", *in_turns(rounds, lambda: log_p.topk(5), lambda: blockwise_topk(log_p, 5))
    )
    caches = {str(n): torch.randn(128, HEADS, KEYS, SIZE) for n in range(2 * BLOCKS)}
    state = State(caches, position=torch.zeros(128, dtype=torch.int64))
    rows = [
        row - row % 4 if row % 4 == 3 else row for row in range(128)
    ]  # one hypothesis of four is replaced by another
    index = torch.tensor(rows)
    moves = in_turns(rounds, lambda: state.select(index), lambda: state.reorder(rows))
    print_row("a cache of 64 tokens, 128 rows, 32 of which move", *moves)
    q, k, v = torch.randn(32, HEADS, 1, SIZE), torch.randn(32, HEADS, KEYS, SIZE), torch.randn(32, HEADS, KEYS, SIZE)
    attention = in_turns(
        rounds, lambda: F.scaled_dot_product_attention(q, k, v), lambda: explicit_attention(q, k, v, SIZE**-0.5, None)
    )
    print_row("attention of one query, 64 keys, 8 heads, 32 rows", *attention)


def print_row(name: str, plain: float, ours: float) -> None:
    print(f"{name:<60} {plain * 1e3:>9.2f} {ours * 1e3:>9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, CPU, float32, {options.threads} threads; a large product: ", end="")
    print(f"{Machine().rate / 1e9:.0f} GFLOP/s")
    with torch.no_grad():
        products(options.rounds)
        other_parts(options.rounds)


if __name__ == "__main__":
    main()
