"""The layers, all with one contract: `y, state = layer(x, lengths=lengths, state=state)`.

The names are in `__init__.pyi`; each is imported at its first use.
"""

from seqloom.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
