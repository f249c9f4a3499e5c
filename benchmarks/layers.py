"""seqloom's layers against `torch.nn`'s on the same input in one process: forward and backward, milliseconds.

    python benchmarks/layers.py [--device cuda] [--dtype bfloat16]

The floor is the time of the matrix products alone, at the rate of a large product on this machine.
A ratio of 1.00 means that the contract (state, lengths, checks) costs nothing over the plain module.
"""

import argparse
import statistics
import time

import torch
from torch import Tensor, nn

from seqloom.nn import LSTM, RNN, Bidirectional, GRUAfter, Recurrent, SelfAttention, Stack
from seqloom.nn.transformer import TransformerConfig, decoder, encoder


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    arguments.add_argument("--seconds", type=float, default=1.0, help="how long to measure each (default: %(default)s)")
    options = arguments.parse_args()
    device, dtype = torch.device(options.device), getattr(torch, options.dtype)
    rate = product_rate(device, dtype)
    print(f"torch {torch.__version__}, {device}, {options.dtype}, {torch.get_num_threads()} threads")
    print(f"a large matrix product runs at {rate / 1e9:,.0f} GFLOP/s")
    print(f"{'layer':<46}{'floor':>9}{'torch.nn':>10}{'seqloom':>10}{'ratio':>8}")
    for name, ours, theirs, x, flops in cases(device, dtype):
        theirs_ms, ours_ms = measure_alternately(theirs, ours, x, options.seconds)
        floor = 3 * flops / rate * 1e3  # a backward pass is two products for each of the forward pass
        print(f"{name:<46}{floor:>9.2f}{theirs_ms:>10.2f}{ours_ms:>10.2f}{ours_ms / theirs_ms:>8.2f}", flush=True)


def cases(device: torch.device, dtype: torch.dtype):
    """Tuples (name, ours, theirs, input, floating-point operations of one forward pass)."""

    def on(module: nn.Module) -> nn.Module:
        module = module.to(device, dtype)
        if isinstance(module, nn.RNNBase):
            # After `to` with a new precision the weights are not contiguous, which slows torch.nn. In bfloat16 this
            # has no effect (torch.backends.cudnn does not list it), so torch.nn warns and copies its weights each call.
            module.flatten_parameters()
        return module

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, device=device, dtype=dtype)

    for batch, steps, hidden in ((32, 64, 128), (32, 64, 256), (64, 35, 512), (8, 256, 64)):
        shape = f"B {batch} T {steps} H {hidden}"
        for name, cell, module, parts in (
            ("RNN", RNN, nn.RNN, 1),
            ("GRU", GRUAfter, nn.GRU, 3),
            ("LSTM", LSTM, nn.LSTM, 4),
        ):
            ours, theirs = on(Recurrent(cell(hidden, hidden))), on(module(hidden, hidden, batch_first=True))
            yield f"{name}, {shape}", ours, theirs, random(batch, steps, hidden), 4 * parts * batch * steps * hidden**2
    both = [Bidirectional(Recurrent(LSTM(size, 128)), Recurrent(LSTM(size, 128))) for size in (128, 256)]
    theirs = nn.LSTM(128, 128, num_layers=2, bidirectional=True, batch_first=True)
    flops = 8 * 32 * 64 * 128 * (2 * (128 + 128) + 2 * (256 + 128))
    yield "LSTM, 2 layers, both ways, B 32 T 64 H 128", on(Stack(both)), on(theirs), random(32, 64, 128), flops

    batch, steps, size = 16, 128, 256
    theirs = on(nn.MultiheadAttention(size, 8, batch_first=True))
    attention = 4 * batch * steps**2 * size
    flops = 8 * batch * steps * size**2 + attention
    yield (
        "self-attention, B 16 T 128 D 256",
        on(SelfAttention(size, 8)),
        SelfAttentionModule(theirs),
        random(batch, steps, size),
        flops,
    )
    parts = TransformerConfig(depth=4, size=size, heads=8, hidden_size=4 * size, dropout=0.0)
    layer = nn.TransformerEncoderLayer(size, 8, 4 * size, dropout=0.0, batch_first=True)
    theirs = on(nn.TransformerEncoder(layer, 4, enable_nested_tensor=False))
    flops = 4 * (flops + 16 * batch * steps * size**2)
    yield "Transformer encoder, 4 blocks, same shape", on(encoder(parts)), theirs, random(batch, steps, size), flops
    yield (
        "Transformer decoder, 4 blocks, causal",
        on(decoder(parts)),
        on(Causal(theirs, steps)),
        random(batch, steps, size),
        flops,
    )


class SelfAttentionModule(nn.Module):
    """torch's attention with x as query, key and value."""

    def __init__(self, attention: nn.MultiheadAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        return self.attention(x, x, x, need_weights=False)


class Causal(nn.Module):
    """torch's encoder with a causal mask."""

    mask: Tensor

    def __init__(self, encoder: nn.TransformerEncoder, steps: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(steps))

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x, mask=self.mask, is_causal=True)


def measure_alternately(theirs: nn.Module, ours: nn.Module, x: Tensor, seconds: float) -> tuple[float, float]:
    """Median milliseconds of each, measured alternately so that both have the same load."""
    times: tuple[list[float], list[float]] = ([], [])
    for module in (theirs, ours) * 2:
        once(module, x)
    start = time.perf_counter()
    while time.perf_counter() - start < 2 * seconds or len(times[0]) < 5:
        for milliseconds, module in zip(times, (theirs, ours), strict=True):
            milliseconds.append(once(module, x))
    return statistics.median(times[0]), statistics.median(times[1])


def once(module: nn.Module, x: Tensor) -> float:
    """Milliseconds of a forward and a backward pass, with gradients of the weights and of x."""
    x = x.detach().requires_grad_()
    module.zero_grad()
    synchronize(x)
    start = time.perf_counter()
    y = module(x)
    (y[0] if isinstance(y, tuple) else y).sum().backward()
    synchronize(x)
    return (time.perf_counter() - start) * 1e3


def product_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Floating-point operations per second of a large matrix product."""
    size = 4096 if device.type == "cuda" else 1024
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))

    def product() -> float:
        synchronize(a)
        start = time.perf_counter()
        a @ b
        synchronize(a)
        return time.perf_counter() - start

    return 2 * size**3 / statistics.median(product() for _ in range(12))


def synchronize(x: Tensor) -> None:
    if x.device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
