"""One step of a recurrent layer on torch's kernel and in the plain loop, in one process; median milliseconds.

    python benchmarks/one_step.py [--device cuda]

A single step leaves no time dimension to fuse over, so `seqloom.kernels.choose_backend` runs it in the plain loop. This
measures what that gains and costs.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from seqloom import kernels
from seqloom.nn import LSTM, RNN, GRUAfter, Recurrent


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--device", default="cpu")
    device = torch.device(arguments.parse_args().device)
    print(f"torch {torch.__version__}, {device}, float32, {torch.get_num_threads()} threads; torch's kernel / the loop")
    print(f"{'':<24}{'no gradients':>18}{'with lengths':>18}{'training':>18}")
    for cell in (RNN, GRUAfter, LSTM):
        for rows, hidden in ((1, 512), (32, 256), (32, 1024)):
            layer = Recurrent(cell(hidden, hidden)).to(device)
            x, lengths = torch.randn(rows, 1, hidden, device=device), torch.ones(rows, dtype=torch.int64, device=device)

            def train(layer: Recurrent = layer, x: torch.Tensor = x, lengths: torch.Tensor = lengths) -> None:
                layer(x, lengths)[0].sum().backward()

            calls = (torch.no_grad()(lambda: layer(x)), torch.no_grad()(lambda: layer(x, lengths)), train)  # noqa: B023
            figures = "".join(f"{measure('vendor', c):>10.3f} /{measure('reference', c):>6.3f}" for c in calls)
            print(f"{cell.__name__ + f', B {rows} H {hidden}':<24}{figures}", flush=True)


def measure(backend: str, call: Callable[[], object]) -> float:
    times = []
    with kernels.use(backend):
        for turn in range(25):
            synchronize()
            start = time.perf_counter()
            for _ in range(4):
                call()
            synchronize()
            if turn > 4:
                times.append((time.perf_counter() - start) * 1e3 / 4)
    return statistics.median(times)


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
