"""A compiled recurrence gives what the plain one gives; in a process of its own, where no call is wrapped in checks."""

import subprocess
import sys

import pytest

PROGRAM = """
import torch
from seqloom.nn import {cell}, Recurrent

layer = Recurrent({cell}(3, 4)).double()
x, lengths = torch.randn(2, 4, 3).double(), torch.tensor([4, 2])
results = []
for each in (layer, torch.compile(layer, backend="aot_eager", fullgraph={fullgraph})):
    y, state = each(x, lengths)
    results.append([y, dict(state), *torch.autograd.grad(y.square().sum(), list(layer.parameters()))])
torch.testing.assert_close(*results)
with torch.no_grad():
    torch.testing.assert_close(torch.compile(layer, backend="aot_eager", fullgraph=True)(x, lengths)[0], y)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "fullgraph"), [("GRU", True), ("GRUAfter", True), ("LSTM", False)])
def test_outputs_state_and_gradients(cell: str, fullgraph: bool) -> None:
    program = PROGRAM.format(cell=cell, fullgraph=fullgraph)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
