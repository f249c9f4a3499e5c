"""Functions that a compiled graph calls as they are. Import only while compiling: `compiler.disable` takes seconds."""

from collections.abc import Callable

import torch
from torch import Tensor

# With gradients, torch 2.13 compiles its own LSTM into a call that fails on the CPU, so the graph is broken here.
lstm: Callable[..., tuple[Tensor, Tensor, Tensor]] = torch.compiler.disable(torch.lstm)
