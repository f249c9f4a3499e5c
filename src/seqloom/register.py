"""Parts of one's own, under names that work like the built-in ones: in Python, in a config file, in the help, in a run.

    @seqloom.register.cell("mine")            # as a decorator
    class Mine(Cell): ...

    seqloom.register.cell("mine", Mine)       # or as a plain call

A name that is taken, or a part that does not fit its kind, is refused with the reason (`PartError`).
"""

from collections.abc import Callable
from typing import TypeVar, overload

Part = TypeVar("Part")


@overload
def registered(add: Callable[[Part], None], part: None) -> Callable[[Part], Part]: ...
@overload
def registered(add: Callable[[Part], None], part: Part) -> Part: ...
def registered(add: Callable[[Part], None], part: Part | None) -> Part | Callable[[Part], Part]:
    """Both forms of a registration: the part that was given is added; without one, the decorator that adds it."""

    def decorate(part: Part) -> Part:
        add(part)
        return part

    return decorate if part is None else decorate(part)
