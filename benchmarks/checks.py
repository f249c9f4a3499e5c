"""The cost of checking the values of lengths and tokens on every device, as the CPU does.

    python benchmarks/checks.py [--device cuda]

The same model with and without the checks, which alternate in one process; median milliseconds (docs/decisions/0005).
"""

import argparse
import statistics
import time
from collections.abc import Callable
from unittest.mock import patch

import torch

from seqloom.nn import LSTM, Model, PerToken, Recurrent, Stack, TokenEmbedding
from seqloom.nn.layer import Layer
from seqloom.nn.transformer import TransformerConfig, decoder

VOCABULARY, ROWS, STEPS = 1000, 16, 256


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--device", default="cpu")
    options = arguments.parse_args()
    device = torch.device(options.device)
    attention = decoder(TransformerConfig(depth=12, size=512, norm_order="pre", dropout=0.0))
    lstms = Stack([Recurrent(LSTM(256, 256)) for _ in range(4)])
    transformer, recurrent = language_model(attention, device), language_model(lstms, device)
    print(f"torch {torch.__version__}, {device}, {torch.get_num_threads()} threads, {ROWS} rows")
    print(f"{'':<52}{'without':>10}{'with':>10}")
    compare(f"training step, 12 blocks of 512, {STEPS} tokens a row", training(transformer, device), device)
    compare(f"training step, 4 LSTMs of 256, {STEPS} tokens a row", training(recurrent, device), device)
    compare("one token a row, 12 blocks of 512, after 64", decoding(transformer, device), device)
    compare("one token a row, 4 LSTMs of 256, after 64", decoding(recurrent, device), device)


def language_model(body: Layer, device: torch.device) -> Model:
    stem = TokenEmbedding(VOCABULARY, body.input_size)
    return Model(stem, body, PerToken(body.output_size, VOCABULARY)).to(device)


def training(model: Model, device: torch.device) -> Callable[[], None]:
    tokens = torch.randint(VOCABULARY, (ROWS, STEPS), device=device)
    lengths = torch.randint(STEPS // 2, STEPS + 1, (ROWS,), device=device)

    def step() -> None:
        model.zero_grad()
        model.loss(tokens, tokens, lengths).mean.backward()

    return step


def decoding(model: Model, device: torch.device) -> Callable[[], None]:
    tokens = torch.randint(VOCABULARY, (ROWS, 64), device=device)
    with torch.no_grad():
        _, state = model.step(tokens, model.start(tokens))
    single_step = torch.ones(ROWS, dtype=torch.int64, device=device)

    @torch.no_grad()
    def step() -> None:
        nonlocal state
        if state.max_position > 120:
            _, state = model.step(tokens, model.start(tokens))
        _, state = model.step(tokens[:, :1], state, single_step)

    return step


def compare(name: str, step: Callable[[], None], device: torch.device) -> None:
    times: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(12 if device.type == "cpu" else 40):
        for checks in times:
            with patch("seqloom.nn.validation.readable_without_sync", lambda tensor, checks=checks: checks):
                milliseconds = once(step, device)
            if turn > 2:
                times[checks].append(milliseconds)
    print(f"{name:<52}{statistics.median(times[False]):>10.2f}{statistics.median(times[True]):>10.2f}", flush=True)


def once(step: Callable[[], None], device: torch.device) -> float:
    """Milliseconds per step of four steps in a row, so that the device queues work between synchronizations."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(4):
        step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / 4


if __name__ == "__main__":
    main()
