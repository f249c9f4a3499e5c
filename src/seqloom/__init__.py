"""Neural sequence models, from the RNN to the Transformer.

`__init__.pyi` lists the functions, such as `seqloom.train`. They and the packages (`seqloom.nn`, ...) are imported when
they are first used, so that `import seqloom` is quick and needs no torch.
"""

from seqloom.core.lazy import attach

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach(__name__, __file__)
__all__ += ["__version__"]
