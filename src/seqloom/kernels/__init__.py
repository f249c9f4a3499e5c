"""Fast arithmetic on tensors: recurrences over time, found by the name of an equation.

`with seqloom.kernels.use("reference"):` names a backend; without it the fastest that fits is picked.
"""

from seqloom.kernels.recurrence import Operands, Recurrence
from seqloom.kernels.vendor import choose_backend, use

__all__ = ["Operands", "Recurrence", "choose_backend", "use"]
