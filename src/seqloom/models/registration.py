"""How the user-defined parts of models are registered: what each kind must be, checked before its name is taken."""

import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import TypeVar, cast

import torch
from torch import Tensor, nn

from seqloom.models.custom import LAYERS, as_build, family_of
from seqloom.models.family import Family
from seqloom.models.registry import ARCHITECTURES, RECURRENT, Architecture
from seqloom.nn.activations import ACTIVATIONS, FromFunction
from seqloom.nn.cells import CELLS, Cell
from seqloom.nn.heads.head import ClassHead
from seqloom.nn.heads.registry import HEADS, BuildHead
from seqloom.nn.layer import Layer
from seqloom.nn.normalisation import NORMS
from seqloom.nn.scores import SCORES, Score
from seqloom.spec import names
from seqloom.spec.names import SIZES
from seqloom.spec.part_checks import call, check_complete, misfit
from seqloom.spec.registry import Names, Origin, shown

Value = TypeVar("Value")
WIDTH, OTHER = 8, 12  # of what is built to try a part


def register_cell(name: str, part: object, *, summary: str, paper: str, url: str) -> None:
    """A cell, and the architecture of the recurrent family that has it."""
    if not (isinstance(part, type) and issubclass(part, Cell)):
        raise misfit("cell", name, part, f"is {described(part)}", "Derive a class from seqloom.nn.Cell")
    check_complete("cell", name, part)
    check_call("cell", name, part, WIDTH, WIDTH, bias=True)
    cell = tried("cell", name, part, lambda: part(WIDTH, OTHER, bias=True))
    if (cell.input_size, cell.hidden_size) != (WIDTH, OTHER):
        reason = f"has input_size {cell.input_size} and hidden_size {cell.hidden_size} when built with {WIDTH}, {OTHER}"
        raise misfit("cell", name, part, reason, "Pass both to super().__init__(input_size, hidden_size, bias=bias)")
    origin = Origin.of(part)
    check_free("cell", name, origin, names.CELLS, ARCHITECTURES.names)
    CELLS.register(name, part, origin)
    architecture = Architecture(RECURRENT, summary or first_line(part), paper, url)
    ARCHITECTURES.register(name, architecture, origin)


def register_layer(name: str, part: object, *, summary: str, paper: str, url: str) -> None:
    """Layers, and the architecture that stacks them."""
    build = as_build(part)
    family = family_of(build)
    origin = Origin.of(part)
    check_free("layer", name, origin, names.LAYERS, ARCHITECTURES.names)
    LAYERS.register(name, build, origin)
    ARCHITECTURES.register(name, Architecture(family, summary or first_line(part), paper, url), origin)


def register_family(name: str, part: object, *, summary: str, paper: str, url: str) -> None:
    """A model family, and its one architecture."""
    if not (isinstance(part, type) and issubclass(part, Family)):
        raise misfit("family", name, part, f"is {described(part)}", "Derive a class from seqloom.models.family.Family")
    if part.build is Family.build:
        raise misfit("family", name, part, "has no build", "Write build(self, input_size, *, causal)")
    for size in SIZES:
        missing = sorted({"width", "depth"} - set(part.sizes.get(size, {})))
        if missing:
            reason = f"has no {' and '.join(missing)} for the size {size}"
            raise misfit("family", name, part, reason, f"Give `sizes` for {', '.join(SIZES)}")
    origin = Origin.of(part)
    check_free("family", name, origin, ARCHITECTURES.names)
    ARCHITECTURES.register(name, Architecture(part, summary or first_line(part), paper, url), origin)


def register_score(name: str, part: object) -> None:
    """A score, and whether it takes queries and keys of two widths."""
    if not (isinstance(part, type) and issubclass(part, Score)):
        raise misfit("score", name, part, f"is {described(part)}", "Derive a class from seqloom.nn.Score")
    check_complete("score", name, part)
    check_call("score", name, part, WIDTH, WIDTH, heads=2, key_heads=1)
    tried("score", name, part, lambda: scores_of(part(WIDTH, WIDTH, heads=2, key_heads=1)))
    SCORES.register(name, part)
    names.SAME_WIDTH.mark(name, not takes_two_widths(part))
    plain = part.query is Score.query and part.key is Score.key and part.scores is Score.scores and part.kind == "dot"
    names.ROTATABLE.mark(name, plain)


def scores_of(score: Score) -> Tensor:
    """Of a few queries and keys."""
    q, k = torch.randn(1, score.heads, 2, score.query_size), torch.randn(1, score.key_heads, 3, score.key_size)
    return score.scores(score.query(q), score.key(k))


def takes_two_widths(part: type[Score]) -> bool:
    """Whether queries and keys may differ in theirs."""
    try:
        with torch.random.fork_rng(devices=[]):
            scores_of(part(WIDTH, OTHER))
    except (ValueError, RuntimeError):
        return False
    return True


def register_activation(name: str, part: object) -> None:
    """An activation: a class of modules, or a function."""
    if isinstance(part, type) and issubclass(part, nn.Module):
        check_call("activation", name, part)
        tried("activation", name, part, part)
        ACTIVATIONS.register(name, part)
        return
    if not isinstance(part, FunctionType) and not inspect.isbuiltin(part):
        advice = "Give a function of one tensor, or a class of torch.nn.Module that is built without arguments"
        raise misfit("activation", name, part, f"is {described(part)}", advice)
    y = tried("activation", name, part, lambda: part(torch.randn(2, 3)))
    if not isinstance(y, Tensor):
        raise misfit("activation", name, part, f"returned {shown(y)} for a tensor", "Return a tensor of the same shape")
    ACTIVATIONS.register(name, partial(FromFunction, part), Origin.of(part))


def register_norm(name: str, part: object) -> None:
    """A norm, and whether it looks at later steps."""
    if not callable(part):
        advice = "Give a function or a class that is called with the width and gives a layer"
        raise misfit("norm", name, part, f"is {described(part)}", advice)
    check_call("norm", name, part, WIDTH)
    norm = tried("norm", name, part, lambda: part(WIDTH))
    if not isinstance(norm, Layer):
        raise misfit("norm", name, part, f"built {described(norm)}", "Build a seqloom.nn.Layer")
    if (norm.input_size, norm.output_size) != (WIDTH, WIDTH):
        reason = f"built a layer from {norm.input_size} to {norm.output_size} for the width {WIDTH}"
        raise misfit("norm", name, part, reason, "Build one that keeps the width")
    NORMS.register(name, part, Origin.of(part))
    names.NORMS_OVER_TIME.mark(name, not norm.traits.causal)


def register_head(name: str, part: object) -> None:
    """A head that chooses among classes."""
    if not (isinstance(part, type) and issubclass(part, ClassHead)):
        raise misfit("head", name, part, f"is {described(part)}", "Derive a class from seqloom.nn.heads.ClassHead")
    check_complete("head", name, part)
    check_call("head", name, part, WIDTH, 3, smoothing=0.0)
    build = cast("BuildHead", part)  # as its signature says
    tried("head", name, part, lambda: build(WIDTH, 3, smoothing=0.0))
    HEADS.register(name, build, Origin.of(part))


def tried(kind: str, name: str, part: object, run: Callable[[], Value]) -> Value:
    """What it gives; random numbers that it draws are not those of anything else."""
    with torch.random.fork_rng(devices=[]):
        return call(kind, name, part, run)


def check_call(kind: str, name: str, part: Callable[..., object], *arguments: int, **options: object) -> None:
    """It can be called so."""
    words = [*map(str, arguments), *(f"{option}={value}" for option, value in options.items())]
    try:
        inspect.signature(part).bind(*arguments, **options)
    except TypeError as wrong:
        raise misfit(kind, name, part, f"can't be called with ({', '.join(words)}): {wrong}", "Take these") from None
    except ValueError:  # one written in C has no signature: building it shows whether it fits
        return


def check_free(kind: str, name: str, origin: Origin, *all_names: Names) -> None:
    """The name is free in all of them, so that none has it if another refuses it."""
    for known in all_names:
        known.check(name, origin, kind)


def described(value: object) -> str:
    """What came in the place of a part."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"


def first_line(part: object) -> str:
    """Of its own docstring."""
    return (getattr(part, "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")
