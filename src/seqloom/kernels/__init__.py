"""Fast arithmetic on tensors: recurrences over time, found by the name of an equation.

`with seqloom.kernels.use("reference"):` names a backend; without it the fastest that fits is picked.
"""

from seqloom.kernels.choice import choose, use
from seqloom.kernels.recurrence import Operands, Recurrence

__all__ = ["Operands", "Recurrence", "choose", "use"]
