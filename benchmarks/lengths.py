"""Rows of unequal length through a recurrent layer, in four ways in one process: forward and backward, milliseconds.

    python benchmarks/lengths.py [--device cuda] [--dtype bfloat16] [--seconds 2]

padded    torch's module on all steps, padding included: no lengths, so its final state is that of the padding
packed    torch's module on a packed sequence
seqloom   `Recurrent` with lengths: the same kernel on all steps, with states frozen beyond a row's end
loop      `Recurrent` with lengths, with the plain loop over the cell's step

Before timing, packed, seqloom and loop must agree in outputs and in the final state of each row.
"""

import argparse
import copy
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import seqloom
from seqloom.nn import LSTM, RNN, Cell, GRUAfter, Recurrent

Way = Callable[[Tensor, Tensor], tuple[Tensor, list[Tensor]]]
SHAPES = ((32, 64, 128), (32, 64, 256), (8, 256, 64), (8, 1024, 32))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    arguments.add_argument("--seconds", type=float, default=1.0, help="how long to measure each (default: %(default)s)")
    options = arguments.parse_args()
    device, dtype = torch.device(options.device), getattr(torch, options.dtype)
    print(f"torch {torch.__version__}, {device}, {options.dtype}, {torch.get_num_threads()} threads")
    print(f"{'layer':<28}{'real':>6}{'padded':>9}{'packed':>9}{'seqloom':>9}{'loop':>9}{'packed / seqloom':>19}")
    for cell, module in ((LSTM, nn.LSTM), (GRUAfter, nn.GRU), (RNN, nn.RNN)):
        for batch, steps, hidden in SHAPES:
            torch.manual_seed(0)
            ways = make(cell, module, hidden, device, dtype)
            x = torch.randn(batch, steps, hidden, device=device, dtype=dtype)
            lengths = torch.randint(steps // 4, steps + 1, (batch,))  # on the CPU, as packing requires
            lengths[0] = steps
            assert_agreement(ways, x, lengths)
            times = measure_alternately(ways, x, lengths, options.seconds)
            name = f"{module.__name__}, B {batch} T {steps} H {hidden}"
            share = lengths.sum().item() / (batch * steps)
            figures = "".join(f"{milliseconds:>9.1f}" for milliseconds in times.values())
            print(f"{name:<28}{share:>6.0%}{figures}{times['packed'] / times['seqloom']:>19.1f}", flush=True)


def make(
    cell: type[Cell], module: type[nn.RNNBase], size: int, device: torch.device, dtype: torch.dtype
) -> dict[str, Way]:
    """The four ways, with the same weights."""
    theirs = module(size, size, batch_first=True).to(device, dtype)
    ours = Recurrent(cell(size, size)).to(device, dtype)
    with torch.no_grad():
        ours.cell.input_weight.copy_(theirs.weight_ih_l0)
        ours.cell.recurrent_weight.copy_(theirs.weight_hh_l0)
        theirs.bias_hh_l0.zero_()
        theirs.bias_ih_l0.copy_(ours.cell.bias)
    packing = copy.deepcopy(theirs)
    theirs.flatten_parameters()
    packing.flatten_parameters()

    def padded(x: Tensor, lengths: Tensor) -> tuple[Tensor, list[Tensor]]:
        y, final = theirs(x)
        return y, tensors(final)

    def packed(x: Tensor, lengths: Tensor) -> tuple[Tensor, list[Tensor]]:
        y, final = packing(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        return pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])[0], tensors(final)

    def seqloom_s(x: Tensor, lengths: Tensor) -> tuple[Tensor, list[Tensor]]:
        y, state = ours(x, lengths)
        return y, list(state.values())

    def loop(x: Tensor, lengths: Tensor) -> tuple[Tensor, list[Tensor]]:
        with seqloom.kernels.use("reference"):
            return seqloom_s(x, lengths)

    return {"padded": padded, "packed": packed, "seqloom": seqloom_s, "loop": loop}


def tensors(final: Tensor | tuple[Tensor, Tensor]) -> list[Tensor]:
    """h, or h and c, without the dimension of layers."""
    return [tensor.squeeze(0) for tensor in ((final,) if isinstance(final, Tensor) else final)]


def assert_agreement(ways: dict[str, Way], x: Tensor, lengths: Tensor) -> None:
    """The three ways with lengths must agree."""
    torch.backends.cudnn.allow_tf32 = False  # TF32 would round differently
    tolerance = {"rtol": 0, "atol": 1e-5 if x.dtype == torch.float32 else 0.05}
    with torch.no_grad():
        expected = ways["packed"](x, lengths)
        for name in ("seqloom", "loop"):
            torch.testing.assert_close(ways[name](x, lengths), expected, **tolerance)
    torch.backends.cudnn.allow_tf32 = True


def measure_alternately(ways: dict[str, Way], x: Tensor, lengths: Tensor, seconds: float) -> dict[str, float]:
    """Median milliseconds of each, measured alternately so that all have the same load."""
    rounds = [partial(once, way, x, lengths) for way in ways.values()]
    for measure in rounds * 2:
        measure()
    times: list[list[float]] = []
    start = time.perf_counter()
    while time.perf_counter() - start < len(ways) * seconds or len(times) < 5:
        times.append([measure() for measure in rounds])
    return {name: statistics.median(column) for name, column in zip(ways, zip(*times, strict=True), strict=True)}


def once(way: Way, x: Tensor, lengths: Tensor) -> float:
    """Milliseconds of a forward and a backward pass, from the outputs and the final state to the weights and x."""
    x = x.detach().requires_grad_()
    synchronize(x)
    start = time.perf_counter()
    y, final = way(x, lengths)
    (y.sum() + sum(tensor.sum() for tensor in final)).backward()
    synchronize(x)
    return 1e3 * (time.perf_counter() - start)


def synchronize(x: Tensor) -> None:
    if x.is_cuda:
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
