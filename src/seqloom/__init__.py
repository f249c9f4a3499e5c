"""Neural sequence models, from the RNN to the Transformer.

Packages are `seqloom.nn`, `seqloom.kernels`, ...; functions such as `seqloom.train` are at the top (`__init__.pyi`).
Nothing is imported until it is asked for, so that `import seqloom` is quick and needs no torch.
"""

from seqloom.core.lazy import attach

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach(__name__, __file__)
__all__ += ["__version__"]
