"""What a compiled graph leaves to torch as it is. Imported when compiling alone: `compiler.disable` takes seconds."""

from collections.abc import Callable

import torch
from torch import Tensor

# With gradients, torch 2.13 compiles its own LSTM into a call that fails on the CPU; a compiled graph breaks off here.
lstm: Callable[..., tuple[Tensor, Tensor, Tensor]] = torch.compiler.disable(torch.lstm)
