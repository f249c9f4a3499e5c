"""Every layer, one file per family: a module here with a list `cases` is in the conformance suite.

cases = [Case("rnn", lambda: Recurrent(RNN(3, 4)), reference=recurrent)]
"""

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from tests.nn.catalogue.case import Case


def family(name: str) -> list[Case]:
    """The cases of one file, with its name as a prefix."""
    listed: list[Case] = getattr(import_module(f"{__name__}.{name}"), "cases", [])
    return [replace(case, name=f"{name}: {case.name}") for case in listed]


cases = [case for module in iter_modules(__path__) for case in family(module.name)]

__all__ = ["Case", "cases"]
