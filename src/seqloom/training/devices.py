"""Where to compute, in which precision, and how surely the same."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from seqloom.spec.config.train import Train


def precision(part: Train, device: torch.device) -> AbstractContextManager[object]:
    """Matrix products in bfloat16, where asked for."""
    if part.precision == "bf16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()


@contextmanager
def determinism(part: Train) -> Iterator[None]:
    """Within: an operation that differs from run to run is refused, where the config says so."""
    if not part.deterministic:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
