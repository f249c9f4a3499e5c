"""Registration of the user-defined parts of models. A part is checked before its name is taken."""

import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import TypeVar

import torch
from torch import Tensor, nn

from seqloom.core import names
from seqloom.core.part_checks import call_part, describe_type, first_line, misfit, require_class, require_signature
from seqloom.core.part_origin import Origin
from seqloom.core.registry import short_repr
from seqloom.models.family import Family
from seqloom.models.layer_builder import as_build, family_for
from seqloom.models.registry import ARCHITECTURES, RECURRENT, Architecture
from seqloom.nn.activations import ACTIVATIONS, Lambda
from seqloom.nn.cells import CELLS, Cell
from seqloom.nn.heads.head import ClassHead
from seqloom.nn.heads.per_token import HEADS
from seqloom.nn.layer import Layer
from seqloom.nn.normalization import NORMS
from seqloom.nn.scores import SCORES, Score

Value = TypeVar("Value")
SIZE, OTHER_SIZE = 32, 64  # of parts that are tried: divisible by usual numbers of heads and groups


def register_cell(name: str, part: object, *, summary: str, paper: str, url: str) -> None:
    """Register a cell, and the recurrent architecture of this name."""
    kind = require_class("cell", name, part, Cell, "Derive a class from seqloom.nn.Cell")
    require_signature("cell", name, part, kind, ("input_size", "hidden_size"), ("bias",))
    cell = try_part("cell", name, part, lambda: kind(SIZE, OTHER_SIZE, bias=True))
    sizes = cell.input_size, cell.hidden_size
    if sizes != (SIZE, OTHER_SIZE):
        reason = f"has input_size {sizes[0]} and hidden_size {sizes[1]} when built with {SIZE}, {OTHER_SIZE}"
        raise misfit("cell", name, part, reason, "Pass both to super().__init__(input_size, hidden_size, bias=bias)")
    origin = Origin.registered(part)
    CELLS.names.check(name, origin)
    register_architecture(name, part, Architecture(RECURRENT, summary or first_line(part), paper, url, "cell"))
    CELLS.register(name, kind, origin)


def register_layer(name: str, part: object, *, summary: str, paper: str, url: str) -> None:
    """Register a function that builds layers, as an architecture that stacks them."""
    family = family_for(as_build(part))
    register_architecture(name, part, Architecture(family, summary or first_line(part), paper, url, "layer"))


def register_family(name: str, part: object, *, summary: str, paper: str, url: str) -> None:
    """Register a model family, as an architecture."""
    family = require_class("family", name, part, Family, "Derive a class from seqloom.models.family.Family")
    if family.build is Family.build:
        raise misfit("family", name, part, "has no build", "Write build(self, input_size, *, causal)")
    for size in names.SIZES:
        missing = sorted({"dim", "depth"} - set(family.sizes.get(size, {})))
        if missing:
            reason = f"has no {' and '.join(missing)} for the size {size}"
            raise misfit("family", name, part, reason, f"Give `sizes` for {', '.join(names.SIZES)}")
    register_architecture(name, part, Architecture(family, summary or first_line(part), paper, url))


def register_architecture(name: str, part: object, architecture: Architecture) -> None:
    origin = Origin.registered(part)
    ARCHITECTURES.names.check(name, origin, architecture.kind)
    ARCHITECTURES.register(name, architecture, origin)


def register_score(name: str, part: object) -> None:
    """Register a score. Whether it compares vectors of two widths, and goes with rotary positions, is found out."""
    kind = require_class("score", name, part, Score, "Derive a class from seqloom.nn.Score")
    require_signature("score", name, part, kind, ("query_size", "key_size"), ("heads", "key_heads"))

    def compute(key_size: int) -> Tensor:
        score = kind(SIZE, key_size, heads=2, key_heads=1)
        q, k = torch.randn(1, 2, 2, score.query_size), torch.randn(1, 1, 3, score.key_size)
        return score.scores(score.query(q), score.key(k))

    try_part("score", name, part, lambda: compute(SIZE))
    is_dot = kind.query is Score.query and kind.key is Score.key and kind.scores is Score.scores and kind.kind == "dot"
    SCORES.register(name, kind, Origin.registered(part))
    set_member(names.SAME_WIDTH, name, not succeeds(lambda: compute(OTHER_SIZE)))
    set_member(names.ROTATABLE, name, is_dot)


def register_activation(name: str, part: object) -> None:
    """Register an activation: a class of modules, or a function of one tensor."""
    origin = Origin.registered(part)
    if isinstance(part, type) and issubclass(part, nn.Module):
        require_signature("activation", name, part, part, ())
        try_part("activation", name, part, part)
        ACTIVATIONS.register(name, part, origin)
        return
    if not isinstance(part, FunctionType) and not inspect.isbuiltin(part):
        advice = "Give a function of one tensor, or a class of torch.nn.Module that is built without arguments"
        raise misfit("activation", name, part, f"is {describe_type(part)}", advice)
    y = try_part("activation", name, part, lambda: part(torch.randn(2, 3)))
    if not isinstance(y, Tensor):
        reason = f"returned {short_repr(y)} for a tensor"
        raise misfit("activation", name, part, reason, "Return a tensor of the same shape")
    ACTIVATIONS.register(name, partial(Lambda, part), origin)


def register_norm(name: str, part: object) -> None:
    """Register a norm. Whether it depends on later steps is found out."""
    if not callable(part):
        advice = "Give a function or a class that is called with the width and gives a layer"
        raise misfit("norm", name, part, f"is {describe_type(part)}", advice)
    require_signature("norm", name, part, part, ("width",))
    norm = try_part("norm", name, part, lambda: part(SIZE))
    if not isinstance(norm, Layer):
        raise misfit("norm", name, part, f"built {describe_type(norm)}", "Build a seqloom.nn.Layer")
    sizes = getattr(norm, "input_size", None), getattr(norm, "output_size", None)
    if sizes != (SIZE, SIZE):
        reason = f"built a layer from {sizes[0]} to {sizes[1]} for the width {SIZE}"
        raise misfit("norm", name, part, reason, "Build one that keeps the width")
    NORMS.register(name, part, Origin.registered(part))
    set_member(names.NORMS_OVER_TIME, name, not norm.traits.causal)


def register_head(name: str, part: object) -> None:
    """Register a head. Whether its loss in eval mode is −log p is found out."""
    kind = require_class("head", name, part, ClassHead, "Derive a class from seqloom.nn.heads.ClassHead")
    require_signature("head", name, part, kind, ("size", "classes"), ("smoothing",))
    build: Callable[..., ClassHead] = kind
    head = try_part("head", name, part, lambda: build(SIZE, 3, smoothing=0.1).eval())

    def loss_is_likelihood() -> bool:
        y, target = torch.randn(2, 4, head.input_size), torch.randint(head.classes, (2, 4))
        p = head.probabilities(y).gather(2, target.unsqueeze(2))
        return bool(torch.isclose(head.loss(y, target).total, -p.log().sum(), rtol=1e-3))

    HEADS.register(name, build, Origin.registered(part))
    set_member(names.LIKELIHOODS, name, succeeds(loss_is_likelihood))


def try_part(kind: str, name: str, part: object, function: Callable[[], Value]) -> Value:
    """Call a function of a part without a change of torch's random state; an error is the part's."""
    with torch.random.fork_rng(devices=[]):
        return call_part(kind, name, part, function)


def succeeds(function: Callable[[], object]) -> bool:
    """Whether a property of a part holds: its check may raise any error, or return False."""
    try:
        with torch.random.fork_rng(devices=[]):
            return function() is not False
    except Exception:
        return False


def set_member(members: set[str], name: str, is_member: bool) -> None:
    """Add a name to a set, or remove what an earlier part of this name left in it."""
    (members.add if is_member else members.discard)(name)
