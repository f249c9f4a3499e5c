"""User-defined parts, under names that work like the built-in ones: in Python, in a config file, in the help, in a run.

    @seqloom.register.cell("mine")            # as a decorator
    class Mine(Cell): ...

    seqloom.register.cell("mine", Mine)       # or as a plain call

A name that is taken, or a part that does not fit its kind, is refused with the reason (`PartError`). `register.pyi`
lists the functions; each is imported when it is first used, since torch and the models are slow to import.
"""

from seqloom.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
