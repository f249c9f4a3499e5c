"""Registration of the user-defined parts of models. A part is checked before its name is taken."""

import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType

import torch
from torch import Tensor, nn

from seqloom.core import names
from seqloom.core.part import Part, describe_type, first_line, register_function
from seqloom.core.wording import short_repr
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

SIZE, OTHER_SIZE = 32, 64  # to build parts for their checks; divisible by usual numbers of heads and groups


@register_function("cell")
def register_cell(part: Part, *, summary: str = "", paper: str = "", url: str = "") -> None:
    """A cell: a subclass of `seqloom.nn.Cell` that takes (input_size, hidden_size, *, bias); a name for `model.arch`.

    summary, paper, url: for `seqloom list models`, also of layers and families; by default, the docstring's first line
    """
    cell_class = part.as_class(Cell, "seqloom.nn.Cell", "input_size, hidden_size, *, bias")
    with torch.random.fork_rng(devices=[]), part.errors():
        cell = cell_class(SIZE, OTHER_SIZE, bias=True)
    sizes = cell.input_size, cell.hidden_size
    if sizes != (SIZE, OTHER_SIZE):
        reason = f"has input_size {sizes[0]} and hidden_size {sizes[1]} when built with {SIZE}, {OTHER_SIZE}"
        raise part.misfit(reason, "Pass both to super().__init__(input_size, hidden_size, bias=bias)")
    CELLS.register(part.name, cell_class, part.origin)
    add_architecture(part, RECURRENT, summary, paper, url, vectors=tuple(cell_class.carries))


@register_function("layer")
def register_layer(part: Part, *, summary: str = "", paper: str = "", url: str = "") -> None:
    """A function or class build(input_size, *, causal) that returns a layer; a name for `model.arch`.

    A model has `model.depth` of them, each over the output of the one before, with dropout between.
    """
    add_architecture(part, family_for(as_build(part.value)), summary, paper, url)


@register_function("family")
def register_family(part: Part, *, summary: str = "", paper: str = "", url: str = "") -> None:
    """A model family: a subclass of `seqloom.models.family.Family` with `sizes` and `build`, for `model.arch`."""
    family = part.as_class(Family, "seqloom.models.family.Family")
    if family.build is Family.build:
        raise part.misfit("has no build", "Write build(self, input_size, *, causal)")
    for size in names.SIZES:
        if missing := sorted({"dim", "depth"} - set(family.sizes.get(size, {}))):
            reason = f"has no {' and '.join(missing)} for the size {size}"
            raise part.misfit(reason, f"Give `sizes` for {', '.join(names.SIZES)}")
    add_architecture(part, family, summary, paper, url)


def add_architecture(
    part: Part, family: str | type[Family], summary: str, paper: str, url: str, vectors: tuple[str, ...] = ()
) -> None:
    ARCHITECTURES.names.check(part.name, part.origin, part.kind)
    entry = Architecture(family, summary or first_line(part.value), paper, url, part.kind, vectors)
    ARCHITECTURES.register(part.name, entry, part.origin)


@register_function("score")
def register_score(part: Part) -> None:
    """A score: a subclass of `seqloom.nn.Score` that takes (query_size, key_size, *, heads, key_heads); a name for
    `model.attention` and `model.score`.
    """
    kind = part.as_class(Score, "seqloom.nn.Score", "query_size, key_size, *, heads, key_heads")

    def compute(key_size: int) -> Tensor:
        score = kind(SIZE, key_size, heads=2, key_heads=1)
        q, k = torch.randn(1, 2, 2, score.query_size), torch.randn(1, 1, 3, score.key_size)
        return score.scores(score.query(q), score.key(k))

    with torch.random.fork_rng(devices=[]), part.errors():
        compute(SIZE)
    is_dot = kind.query is Score.query and kind.key is Score.key and kind.scores is Score.scores and kind.kind == "dot"
    SCORES.register(part.name, kind, part.origin)
    set_member(names.SAME_WIDTH, part.name, not succeeds(lambda: compute(OTHER_SIZE)))
    set_member(names.ROTATABLE, part.name, is_dot)


@register_function("activation")
def register_activation(part: Part) -> None:
    """An activation: a function of one tensor, or a class of `torch.nn.Module` that is built without arguments; a name
    for `model.activation`.
    """
    function = part.value
    if isinstance(function, type) and issubclass(function, nn.Module):
        part.check_signature(function, "")
        part.call(function)
        ACTIVATIONS.register(part.name, function, part.origin)
        return
    if not isinstance(function, FunctionType) and not inspect.isbuiltin(function):
        advice = "Give a function of one tensor, or a class of torch.nn.Module that is built without arguments"
        raise part.misfit(f"is {describe_type(function)}", advice)
    with torch.random.fork_rng(devices=[]), part.errors():
        y = function(torch.randn(2, 3))
    if not isinstance(y, Tensor):
        raise part.misfit(f"returned {short_repr(y)} for a tensor", "Return a tensor of the same shape")
    ACTIVATIONS.register(part.name, partial(Lambda, function), part.origin)


@register_function("norm")
def register_norm(part: Part) -> None:
    """A norm: a function or class that is called with the width and returns a layer of it; a name for `model.norm`."""
    build = part.value
    if not callable(build):
        advice = "Give a function or a class that is called with the width and gives a layer"
        raise part.misfit(f"is {describe_type(build)}", advice)
    part.check_signature(build, "width")
    with torch.random.fork_rng(devices=[]), part.errors():
        norm = build(SIZE)
    if not isinstance(norm, Layer):
        raise part.misfit(f"built {describe_type(norm)}", "Build a seqloom.nn.Layer")
    sizes = getattr(norm, "input_size", None), getattr(norm, "output_size", None)
    if sizes != (SIZE, SIZE):
        reason = f"built a layer from {sizes[0]} to {sizes[1]} for the width {SIZE}"
        raise part.misfit(reason, "Build one that keeps the width")
    NORMS.register(part.name, build, part.origin)
    set_member(names.NORMS_OVER_TIME, part.name, not norm.traits.causal)


@register_function("head")
def register_head(part: Part) -> None:
    """A head: a subclass of `seqloom.nn.heads.ClassHead` that takes (size, classes, *, smoothing); a name for
    `model.head`.
    """
    build: Callable[..., ClassHead] = part.as_class(
        ClassHead, "seqloom.nn.heads.ClassHead", "size, classes, *, smoothing"
    )
    with torch.random.fork_rng(devices=[]), part.errors():
        head = build(SIZE, 3, smoothing=0.1).eval()

    def loss_is_likelihood() -> bool:
        y, target = torch.randn(2, 4, head.input_size), torch.randint(head.classes, (2, 4))
        p = head.probabilities(y).gather(2, target.unsqueeze(2))
        return bool(torch.isclose(head.loss(y, target).total, -p.log().sum(), rtol=1e-3))

    HEADS.register(part.name, build, part.origin)
    set_member(names.LIKELIHOODS, part.name, succeeds(loss_is_likelihood))


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
