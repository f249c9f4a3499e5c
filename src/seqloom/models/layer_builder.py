"""Layers of one's own as a model: registered under a name (`seqloom.register.layer`), or given as `model=build`."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from pydantic import create_model

from seqloom.core.config.section import Values
from seqloom.core.part_checks import describe_type
from seqloom.core.part_origin import location_of
from seqloom.core.problem import PartError, Problem, describe_exception
from seqloom.models.family import Family, Use, cannot_generate

if TYPE_CHECKING:
    from seqloom.nn.layer import Layer

CUSTOM = "custom"  # model.arch of a model whose layers a function builds that has no name in a registry


Build = Callable[..., object]
"""build(input_size, *, causal), a function or a class, that gives a layer; it is causal if it must be. What it gives is
checked each time (`built`)."""


WIDTHS = {"tiny": 32, "small": 128, "base": 512}
SIZES: Mapping[str, Values] = {
    size: {"dim": width, "depth": 2 if size == "base" else 1} for size, width in WIDTHS.items()
}


class Custom(Family):
    """`depth` of the layers that one function builds, each over what the one below gives, and dropout after each."""

    sizes: ClassVar[Mapping[str, Values]] = SIZES
    builder: ClassVar[Build]
    longest_input: ClassVar[int | None] = None

    @property
    def title(self) -> str:
        """What it is called."""
        return self.arch

    @property
    def output_width(self) -> int:
        return self.widths[0]

    @property
    def hidden_width(self) -> int:
        return self.widths[0]

    @property
    def output_is_hidden(self) -> bool:
        one, other = self.widths
        return one == other

    @property
    def output_follows_input(self) -> bool:
        return self.widths == (self.dim, 2 * self.dim)

    @property
    def widths(self) -> tuple[int, int]:
        """Of its output, over vectors as wide as the model's, and over others."""
        one, other = (self.width_over(each) for each in (self.dim, 2 * self.dim))
        return one, other

    def width_over(self, width: int) -> int:
        """Of its output, over vectors of this width."""
        for _ in range(self.depth):
            width = probe(type(self).builder, width, causal=type(self).generates).output_size
        return width

    @property
    def length_limit(self) -> int | None:
        return type(self).longest_input

    def conflicts(self, use: Use) -> Iterator[Problem]:
        if use is not Use.ENCODE and not self.generates:
            yield cannot_generate(self.title, use)

    def build(self, input_size: int, *, causal: bool) -> "Layer":
        from seqloom.nn.dropout import Dropout
        from seqloom.nn.stack import Stack

        layers: list[Layer] = []
        for _ in range(self.depth):
            below = layers[-1].output_size if layers else input_size
            layer = built(type(self).builder, below, causal=causal)
            layers += [layer, Dropout(layer.output_size, self.dropout)]
        return Stack(layers)


class Unnamed(Custom):
    """The same, of a function that is given as `model=build`."""

    arch: Literal["custom"]

    @property
    def title(self) -> str:
        return name_of(type(self).builder)

    def describe(self) -> str:
        return f"{self.title}, {self.size_words()}"


class Probe(NamedTuple):
    """What is known of a layer that a function builds.

    output_size: its width
    causal: whether it is
    carries: whether it has a state
    grows: whether its state grows with each step
    max_length: the most steps that it takes
    """

    output_size: int
    causal: bool
    carries: bool
    grows: bool
    max_length: int | None


def family_of(build: Build, base: type[Custom] = Custom) -> type[Custom]:
    """The family of models whose layers this function builds; a `PartError` if it is no such function.

    It is the same class as long as the function builds the same: what that is may change, as in a notebook.
    """
    causal, whole = (first_probe(build, causal=causal) for causal in (True, False))
    try:
        return composed_family(build, base, causal, whole)
    except TypeError:  # an object that has no hash
        return composed_family.__wrapped__(build, base, causal, whole)


@lru_cache(maxsize=64)
def composed_family(build: Build, base: type[Custom], causal: "Probe", whole: "Probe") -> type[Custom]:
    """The same, given what is known of its layers."""
    limits = [each.max_length for each in (causal, whole) if each.max_length is not None]
    family = create_model(base.__name__, __base__=base, __module__=__name__)
    family.builder = build
    family.generates, family.carries_state, family.begins_in_state = causal.causal, not causal.grows, causal.carries
    family.default_max_length = min([Custom.default_max_length, *limits])
    family.longest_input = min(limits, default=None)
    return family


def builder_of(section: Family) -> Build | None:
    """The function that was given as `model=build`, if one was."""
    return type(section).builder if isinstance(section, Unnamed) else None


def name_of(build: Build) -> str:
    """The function's own."""
    return str(getattr(build, "__qualname__", type(build).__qualname__))


def as_build(build: object) -> Build:
    """What came as a function or a class that is called as build(input_size, causal=True), if it is one."""
    import inspect

    from torch import nn

    from seqloom.nn.cells import Cell

    location = location_of(build)
    if isinstance(build, type) and issubclass(build, Cell):
        name = build.__name__
        advice = f'Register it with seqloom.register.cell("{name.lower()}", {name}), and give model="{name.lower()}"'
        raise PartError(f"{name} is a cell, and no function that builds layers", advice, location=location)
    if isinstance(build, type) and issubclass(build, Family):
        advice = "Register it with seqloom.register.family, and give its name"
        raise PartError(f"{build.__name__} is a model family, and no function that builds layers", advice)
    if isinstance(build, nn.Module) or not callable(build):
        what = f"{describe_type(build)} is no function that builds layers"
        raise PartError(what, "Give a function build(input_size, *, causal) that returns a layer", location=location)
    try:
        inspect.signature(build).bind(32, causal=True)
    except (TypeError, ValueError) as wrong:
        what = f"{name_of(build)} can't be called as build(input_size, causal=True): {wrong}"
        raise PartError(what, "Give it these two parameters", location=location, code="part-signature") from None
    return build


def first_probe(build: Build, *, causal: bool) -> Probe:
    """What is known of its layers at the first of the usual widths that it takes."""
    wrong: PartError | None = None
    for width in WIDTHS.values():
        try:
            return probe(build, width, causal=causal)
        except PartError as error:
            wrong = wrong or error
    assert wrong is not None
    raise wrong


def probe(build: Build, width: int, *, causal: bool) -> Probe:
    """What is known of its layer over vectors of this width; it is built without memory for its weights, if it can."""
    import torch

    with torch.random.fork_rng(devices=[]):
        try:
            with torch.device("meta"):
                layer = built(build, width, causal=causal)
        except PartError:
            layer = built(build, width, causal=causal)
    shapes, traits = layer.state_shapes(), layer.traits
    grows = any(None in shape for shape in shapes.values())
    return Probe(layer.output_size, traits.causal, bool(shapes), grows, traits.max_length)


def built(build: Build, width: int, *, causal: bool) -> "Layer":
    """A layer over vectors of this width, checked."""
    from seqloom.nn.layer import Layer

    location, call = location_of(build), f"{name_of(build)}({width}, causal={causal})"
    try:
        layer: object = build(width, causal=causal)
    except Exception as wrong:
        advice = "It must build a layer over vectors of any width that model.dim may have"
        raise PartError(f"{call} raised {describe_exception(wrong)}", advice, location=location) from wrong
    if not isinstance(layer, Layer):
        advice = "Return a seqloom.nn.Layer; seqloom.nn.from_torch converts those of torch.nn that have an equivalent"
        raise PartError(f"{call} returned {describe_type(layer)}, not a layer", advice, location=location)
    sizes = [getattr(layer, name, None) for name in ("input_size", "output_size")]
    if sizes[0] != width:
        what = f"{call} returned a layer of input_size {sizes[0]}"
        raise PartError(what, f"Return one that reads vectors of {width}", location=location)
    if not isinstance(sizes[1], int) or sizes[1] < 1:
        what = f"{call} returned a layer of output_size {sizes[1]}"
        raise PartError(what, "Set output_size to the width of what it gives", location=location)
    return layer
