"""Every attention score with its kernel and written out: forward and backward, milliseconds; its error in bfloat16.

    python benchmarks/scores.py [--device cuda] [--dtype bfloat16] [--steps 1024]

kernel       as seqloom computes it: `scaled_dot_product_attention` of mapped queries and keys (additive: its own sum)
written out  by the score's formula, with all weights in memory
error        of the context in bfloat16: the largest difference from float64 on the same (rounded) numbers

The last two lines are the Gaussian score with width 1, where |k|²/2 is large against the differences that matter: with
that term in one bfloat16 column beside the key, and in two (a coarse one and the remainder), as in seqloom.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from seqloom.kernels.attention import masked_softmax
from seqloom.nn import SCORES, Attention, Gaussian

BATCH, SIZE = 4, 64


class OneColumn(Gaussian):
    """−|k|²/2 rounded to the key's precision, with nothing in the second column."""

    def key(self, k: Tensor) -> Tensor:
        mapped = super().key(k)
        return torch.cat([mapped[..., :-1], torch.zeros_like(mapped[..., -1:])], dim=3)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"], help="of what is timed")
    arguments.add_argument("--steps", type=int, default=256, help="queries, and keys (default: %(default)s)")
    arguments.add_argument("--seconds", type=float, default=0.5, help="how long to measure each (default: %(default)s)")
    options = arguments.parse_args()
    device = torch.device(options.device)
    torch.manual_seed(0)
    steps, shape = options.steps, (BATCH, options.steps, SIZE)
    dtype = getattr(torch, options.dtype)
    query, key, value = (torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for _ in range(3))
    print(f"torch {torch.__version__}, {device}, {torch.get_num_threads()} threads")
    print(f"batch {BATCH}, {steps} queries, {steps} keys, {SIZE} features, one head; times in {options.dtype}")
    print(f"{'score':<24}{'kernel':>9}{'written out':>14}{'error in bf16':>16}")
    for name, score in SCORES.items():
        settings = {"width": SIZE**0.5} if name == "gaussian" else {}
        attention = Attention(score(SIZE, SIZE, **settings)).to(device, dtype)
        ways = [partial(attention, query, key, value), partial(explicit_attention, attention, query, key, value)]
        kernel, explicit = measure_alternately(ways, options.seconds)
        print(f"{name:<24}{kernel:>9.2f}{explicit:>14.2f}{error(attention, query, key, value):>16.4f}", flush=True)
    for name, gaussian in (("one column", OneColumn(SIZE, SIZE)), ("two columns", Gaussian(SIZE, SIZE))):
        largest_error = error(Attention(gaussian).to(device), query, key, value)
        print(f"{'gaussian, width 1, ' + name:<47}{largest_error:>16.4f}")


def explicit_attention(attention: Attention, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """softmax(scores) @ value"""
    score = attention.score
    scores = score.scores(score.query(query.unsqueeze(1)), score.key(key.unsqueeze(1)))
    return masked_softmax(scores, None).squeeze(1).to(value.dtype) @ value


def error(attention: Attention, query: Tensor, key: Tensor, value: Tensor) -> float:
    """The largest difference between the context in bfloat16 and in float64."""
    low = [x.bfloat16() for x in (query, key, value)]
    with torch.no_grad():
        actual = attention.bfloat16()(*low).double()
        expected = attention.double()(*(x.double() for x in low))
    return (actual - expected).abs().max().item()


def measure_alternately(ways: list[Callable[[], Tensor]], seconds: float) -> list[float]:
    """Median milliseconds of each, forward and backward, measured alternately so that all have the same load."""
    times: list[list[float]] = []
    start = time.perf_counter()
    while time.perf_counter() - start < len(ways) * seconds or len(times) < 5:
        times.append([once(way) for way in ways])
    return [statistics.median(column) for column in zip(*times[1:], strict=True)]


def once(way: Callable[[], Tensor]) -> float:
    synchronize()
    start = time.perf_counter()
    way().sum().backward()
    synchronize()
    return 1e3 * (time.perf_counter() - start)


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
