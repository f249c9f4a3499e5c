"""The run-time check of shapes: every call in a test is checked against the shapes that the function declares."""

import re
from collections.abc import Callable, Iterable
from functools import partial, reduce
from operator import or_
from types import UnionType
from typing import Any, get_args, get_origin

from beartype import BeartypeConf, beartype
from beartype.door import is_bearable
from beartype.roar import BeartypeDecorHintException
from jaxtyping import jaxtyped


def check_shapes(function: Any = None, *, typechecker: Any) -> Any:
    """`jaxtyping.jaxtyped` for functions with shapes; other functions, which mypy checks, are not wrapped."""
    if function is None:
        return partial(check_shapes, typechecker=typechecker)
    inner = getattr(function, "__func__", getattr(function, "fget", function))  # a classmethod or a property
    annotations = getattr(inner, "__annotations__", {})
    return jaxtyped(function, typechecker=typechecker) if has_shapes(annotations.values()) else function


def has_shapes(hints: Iterable[Any]) -> bool:
    return any(hasattr(hint, "dim_str") or has_shapes(get_args(hint)) for hint in hints)


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    hints = function.__annotations__
    if "<locals>" in function.__qualname__ and not has_shapes(hints.values()):
        return function  # beartype would compile a new check whenever the function around it is called
    known: set[str] = set()
    function.__annotations__ = {
        name: with_known_axes(hint, known) if checkable(hint) else Any for name, hint in hints.items()
    }
    return beartype(function, conf=BeartypeConf(is_pep484_tower=True))  # as in mypy, an int is accepted for a float


def checkable(hint: object) -> bool:
    """Whether beartype can check it: not `Self` outside a class, nor a Protocol that is not runtime_checkable."""
    try:
        is_bearable(None, hint)
    except BeartypeDecorHintException:
        return False
    return True


def with_known_axes(hint: Any, known: set[str]) -> Any:
    """In "batch 4*hidden", 4*hidden is checked if an earlier argument has determined hidden; else it may be any size.

    jaxtyping alone would refuse such an annotation. `known` collects the names that are determined in every call.
    """
    if hasattr(hint, "dim_str"):  # Float[Tensor, "..."] and similar types
        axes = []
        for axis in hint.dim_str.split():
            computed = re.search(r"\w\s*[-+*/]", axis) and "{" not in axis
            axes.append("_" if computed and not set(re.findall(r"[a-z_]\w*", axis)) <= known else axis)
            known |= {axis} if axis.isidentifier() else set()
        return hint.dtype[hint.array_type, " ".join(axes)]
    if isinstance(hint, UnionType):  # a call has one of them, so the names of neither are certain
        return reduce(or_, (with_known_axes(member, set(known)) for member in get_args(hint)))
    if get_origin(hint) is tuple:
        return tuple[tuple(with_known_axes(member, known) for member in get_args(hint))]
    return hint
