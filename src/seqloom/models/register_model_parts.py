"""How the user-defined parts of models are registered: what each kind must be, checked before its name is taken."""

import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import TypeVar

import torch
from torch import Tensor, nn

from seqloom.core import names
from seqloom.core.names import SIZES
from seqloom.core.part_checks import call_part, describe_type, first_line, misfit, require_class, require_signature
from seqloom.core.part_origin import Origin
from seqloom.core.registry import short_repr
from seqloom.models.family import Family
from seqloom.models.layer_builder import as_build, family_of
from seqloom.models.registry import ARCHITECTURES, RECURRENT, Architecture
from seqloom.nn.activations import ACTIVATIONS, Lambda
from seqloom.nn.cells import CELLS, Cell
from seqloom.nn.heads.head import ClassHead
from seqloom.nn.heads.per_token import HEADS
from seqloom.nn.layer import Layer
from seqloom.nn.normalization import NORMS
from seqloom.nn.scores import SCORES, Score

Value = TypeVar("Value")
WIDTH, OTHER = 32, 64  # of what is built to try a part; some want multiples of their number of heads or groups


def register_cell(name: str, part: object, *, summary: str, paper: str, url: str) -> None:
    """A cell, and the architecture of the recurrent family that has it."""
    kind = require_class("cell", name, part, Cell, "Derive a class from seqloom.nn.Cell")
    require_signature("cell", name, part, kind, ("input_size", "hidden_size"), ("bias",))
    cell = tried("cell", name, part, lambda: kind(WIDTH, OTHER, bias=True))
    if (cell.input_size, cell.hidden_size) != (WIDTH, OTHER):
        reason = f"has input_size {cell.input_size} and hidden_size {cell.hidden_size} when built with {WIDTH}, {OTHER}"
        raise misfit("cell", name, part, reason, "Pass both to super().__init__(input_size, hidden_size, bias=bias)")
    CELLS.names.check(name, Origin.registered(part))
    register_architecture(name, part, Architecture(RECURRENT, summary or first_line(part), paper, url, "cell"))
    CELLS.register(name, kind, Origin.registered(part))


def register_layer(name: str, part: object, *, summary: str, paper: str, url: str) -> None:
    """Layers, as an architecture that stacks them."""
    family = family_of(as_build(part))
    register_architecture(name, part, Architecture(family, summary or first_line(part), paper, url, "layer"))


def register_family(name: str, part: object, *, summary: str, paper: str, url: str) -> None:
    """A model family, and its one architecture."""
    advice = "Derive a class from seqloom.models.family.Family"
    family = require_class("family", name, part, Family, advice)
    if family.build is Family.build:
        raise misfit("family", name, part, "has no build", "Write build(self, input_size, *, causal)")
    for size in SIZES:
        missing = sorted({"dim", "depth"} - set(family.sizes.get(size, {})))
        if missing:
            reason = f"has no {' and '.join(missing)} for the size {size}"
            raise misfit("family", name, part, reason, f"Give `sizes` for {', '.join(SIZES)}")
    register_architecture(name, part, Architecture(family, summary or first_line(part), paper, url))


def register_architecture(name: str, part: object, architecture: Architecture) -> None:
    """A name for `model.arch`. The error for a taken name says cell, layer or family."""
    origin = Origin.registered(part)
    ARCHITECTURES.names.check(name, origin, architecture.kind)
    ARCHITECTURES.register(name, architecture, origin)


def register_score(name: str, part: object) -> None:
    """A score, and whether it takes queries and keys of two widths."""
    kind = require_class("score", name, part, Score, "Derive a class from seqloom.nn.Score")
    require_signature("score", name, part, kind, ("query_size", "key_size"), ("heads", "key_heads"))
    tried("score", name, part, lambda: scores_of(kind(WIDTH, WIDTH, heads=2, key_heads=1)))
    same_width = not takes_two_widths(kind)
    SCORES.register(name, kind, Origin.registered(part))
    mark(names.SAME_WIDTH, name, same_width)
    plain = kind.query is Score.query and kind.key is Score.key and kind.scores is Score.scores and kind.kind == "dot"
    mark(names.ROTATABLE, name, plain)


def scores_of(score: Score) -> Tensor:
    """Of a few queries and keys."""
    q, k = torch.randn(1, score.heads, 2, score.query_size), torch.randn(1, score.key_heads, 3, score.key_size)
    return score.scores(score.query(q), score.key(k))


def takes_two_widths(part: type[Score]) -> bool:
    """Whether queries and keys may differ in theirs: a score that needs one width raises what it likes."""
    try:
        with torch.random.fork_rng(devices=[]):
            scores_of(part(WIDTH, OTHER, heads=2, key_heads=1))
    except Exception:
        return False
    return True


def register_activation(name: str, part: object) -> None:
    """An activation: a class of modules, or a function."""
    origin = Origin.registered(part)
    if isinstance(part, type) and issubclass(part, nn.Module):
        require_signature("activation", name, part, part, ())
        tried("activation", name, part, part)
        ACTIVATIONS.register(name, part, origin)
        return
    if not isinstance(part, FunctionType) and not inspect.isbuiltin(part):
        advice = "Give a function of one tensor, or a class of torch.nn.Module that is built without arguments"
        raise misfit("activation", name, part, f"is {describe_type(part)}", advice)
    y = tried("activation", name, part, lambda: part(torch.randn(2, 3)))
    if not isinstance(y, Tensor):
        raise misfit(
            "activation", name, part, f"returned {short_repr(y)} for a tensor", "Return a tensor of the same shape"
        )
    ACTIVATIONS.register(name, partial(Lambda, part), origin)


def register_norm(name: str, part: object) -> None:
    """A norm, and whether it looks at later steps."""
    if not callable(part):
        advice = "Give a function or a class that is called with the width and gives a layer"
        raise misfit("norm", name, part, f"is {describe_type(part)}", advice)
    require_signature("norm", name, part, part, ("width",))
    norm = tried("norm", name, part, lambda: part(WIDTH))
    if not isinstance(norm, Layer):
        raise misfit("norm", name, part, f"built {describe_type(norm)}", "Build a seqloom.nn.Layer")
    sizes = getattr(norm, "input_size", None), getattr(norm, "output_size", None)
    if sizes != (WIDTH, WIDTH):
        reason = f"built a layer from {sizes[0]} to {sizes[1]} for the width {WIDTH}"
        raise misfit("norm", name, part, reason, "Build one that keeps the width")
    NORMS.register(name, part, Origin.registered(part))
    mark(names.NORMS_OVER_TIME, name, not norm.traits.causal)


def register_head(name: str, part: object) -> None:
    """A head that chooses among classes."""
    kind = require_class("head", name, part, ClassHead, "Derive a class from seqloom.nn.heads.ClassHead")
    require_signature("head", name, part, kind, ("size", "classes"), ("smoothing",))
    build: Callable[..., ClassHead] = kind  # as was just checked
    exact = tried("head", name, part, lambda: is_likelihood(build(WIDTH, 3, smoothing=0.1)))
    HEADS.register(name, build, Origin.registered(part))
    mark(names.LIKELIHOODS, name, exact)


def is_likelihood(head: ClassHead) -> bool:
    """Whether the loss in eval mode is −log p; a head that can't say either is refused before training."""
    y, target = torch.randn(2, 4, head.input_size), torch.randint(head.classes, (2, 4))
    try:
        p = head.eval().probabilities(y).gather(2, target.unsqueeze(2))
        return bool(torch.isclose(head.loss(y, target).total, -p.log().sum(), rtol=1e-3))
    except Exception:
        return False


def tried(kind: str, name: str, part: object, run: Callable[[], Value]) -> Value:
    """What it gives; random numbers that it draws are not those of anything else."""
    with torch.random.fork_rng(devices=[]):
        return call_part(kind, name, part, run)


def mark(members: set[str], name: str, is_member: bool) -> None:
    """Add a name to the set of those that have a property, or remove it: an earlier part of this name may have it."""
    (members.add if is_member else members.discard)(name)
