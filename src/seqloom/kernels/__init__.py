"""Fast tensor arithmetic: recurrences over time, found by the name of an equation.

`with seqloom.kernels.use("reference"):` requests a backend; otherwise the fastest that can run a recurrence is used.
"""

from seqloom.kernels.recurrence import Operands, Recurrence, choose_backend, use

__all__ = ["Operands", "Recurrence", "choose_backend", "use"]
