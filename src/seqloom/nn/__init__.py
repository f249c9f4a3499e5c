"""The layers a lecture draws, all with one contract: `y, state = layer(x, lengths=lengths, state=state)`.

The names stand in `__init__.pyi`; each is imported when it is first asked for.
"""

from seqloom.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
