"""Fast tensor functions, and the choice of a backend for a recurrence.

`with seqloom.kernels.use("reference"):` requests a backend; otherwise the fastest that can run a recurrence is used.
"""

from seqloom.kernels.recurrence import Operands, Recurrence, choose_backend, use

__all__ = ["Operands", "Recurrence", "choose_backend", "use"]
