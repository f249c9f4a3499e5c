"""Every layer that there is, one file a family: a module here with a list `cases` is in the suite.

cases = [Case("rnn", lambda: Recurrent(RNN(3, 4)), reference=recurrent)]
"""

from importlib import import_module
from pkgutil import iter_modules

from tests.nn.catalogue.case import Case

families = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
cases: list[Case] = [case for family in families for case in getattr(family, "cases", [])]

__all__ = ["Case", "cases"]
