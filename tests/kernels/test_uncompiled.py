"""A compiled recurrence equals the uncompiled one; tested in a new process, where calls have no shape checks."""

import subprocess
import sys

import pytest

PROGRAM = """
import torch
from seqloom.nn import {cell}, Recurrent

layer = Recurrent({cell}(3, 4)).double()
x, lengths = torch.randn(2, 4, 3).double(), torch.tensor([4, 2])
results = []
for module in (layer, torch.compile(layer, backend="aot_eager", fullgraph={fullgraph})):
    y, state = module(x, lengths)
    results.append([y, dict(state), *torch.autograd.grad(y.square().sum(), list(layer.parameters()))])
torch.testing.assert_close(*results)
with torch.no_grad():
    torch.testing.assert_close(torch.compile(layer, backend="aot_eager", fullgraph=True)(x, lengths)[0], y)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "fullgraph"), [("GRU", True), ("GRUAfter", True), ("LSTM", False)])
def test_a_compiled_recurrence_equals_the_uncompiled_one(cell: str, fullgraph: bool) -> None:
    program = PROGRAM.format(cell=cell, fullgraph=fullgraph)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
