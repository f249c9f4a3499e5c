"""Models whose layers a user's function builds: registered by name (`seqloom.register.layer`), or `model=build`."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import create_model

from seqloom.core.config.section import Values
from seqloom.core.part import describe_type
from seqloom.core.part_origin import location_of
from seqloom.core.problem import PartError, Problem
from seqloom.core.wording import describe_exception
from seqloom.models.family import Family, Use, cannot_generate

if TYPE_CHECKING:
    from seqloom.nn.layer import Layer

CUSTOM = "custom"  # model.arch of a model whose layers are built by a function without a registered name

Build = Callable[..., object]
"""build(input_size, *, causal), a function or class that returns a layer, which is causal if `causal` is true."""

WIDTHS = {"tiny": 32, "small": 128, "base": 512}


class Custom(Family):
    """`depth` layers that one function builds, each over the output of the one below, with dropout after each."""

    sizes: ClassVar[Mapping[str, Values]] = {
        size: {"dim": width, "depth": 2 if size == "base" else 1} for size, width in WIDTHS.items()
    }
    builder: ClassVar[Build]
    max_input: ClassVar[int | None] = None

    @property
    def title(self) -> str:
        return self.arch

    @property
    def hidden_width(self) -> int:
        return self.output_width_over(self.dim)

    @property
    def output_width(self) -> int:
        return self.hidden_width

    @property
    def encoder_width(self) -> int:
        return self.output_width_over(self.dim, causal=False)

    @property
    def output_has_hidden_width(self) -> bool:
        return self.output_width_over(self.dim) == self.output_width_over(2 * self.dim)

    @property
    def output_has_input_width(self) -> bool:
        return all(self.output_width_over(width) == width for width in (self.dim, 2 * self.dim))

    def output_width_over(self, width: int, *, causal: bool | None = None) -> int:
        """The width of the output over vectors of this width; `causal` by default if the layers can be."""
        for _ in range(self.depth):
            width = probe(type(self).builder, width, causal=self.generates if causal is None else causal).output_size
        return width

    @property
    def length_limit(self) -> int | None:
        return self.max_input

    def conflicts(self, use: Use) -> Iterator[Problem]:
        if use is not Use.ENCODE and not self.generates:
            yield cannot_generate(self.title, use)

    def build(self, input_size: int, *, causal: bool) -> "Layer":
        from seqloom.nn.dropout import Dropout
        from seqloom.nn.stack import Stack

        layers: list[Layer] = []
        for _ in range(self.depth):
            layer = build_layer(type(self).builder, layers[-1].output_size if layers else input_size, causal=causal)
            layers += [layer, Dropout(layer.output_size, self.dropout)]
        return Stack(layers)


class Unnamed(Custom):
    """The same for a function that is passed as `model=build`."""

    arch: Literal["custom"]

    @property
    def title(self) -> str:
        return builder_name(type(self).builder)

    def describe(self) -> str:
        return f"{self.title}, {self.describe_size()}"


def family_for(build: Build, base: type[Custom] = Custom) -> type[Custom]:
    """The family of models whose layers this function builds; a `PartError` if it does not build one.

    It is the same class as long as the layers have the same properties, which may change in a notebook.
    """
    layer, encoder = (probe_usual_widths(build, causal=causal) for causal in (True, False))
    shapes = layer.state_shapes().values()
    grows = any(None in shape for shape in shapes)
    limits = [traits.max_length for traits in (layer.traits, encoder.traits) if traits.max_length is not None]
    properties = (build, base, layer.traits.causal, not grows, bool(shapes), min(limits, default=None))
    try:
        return compose_family(*properties)
    except TypeError:  # an object without a hash
        return compose_family.__wrapped__(*properties)


@lru_cache(maxsize=64)
def compose_family(
    build: Build,
    base: type[Custom],
    causal: bool,
    carries_state: bool,
    has_state: bool,
    max_input: int | None,
) -> type[Custom]:
    family = create_model(base.__name__, __base__=base, __module__=__name__)
    family.builder, family.max_input = build, max_input
    family.generates, family.carries_state, family.has_initial_state = causal, carries_state, has_state
    family.default_max_length = min(Custom.default_max_length, max_input or Custom.default_max_length)
    return family


def builder_of(section: Family) -> Build | None:
    """The function that was passed as `model=build`, if one was."""
    return type(section).builder if isinstance(section, Unnamed) else None


def builder_name(build: Build) -> str:
    return str(getattr(build, "__qualname__", type(build).__qualname__))


def as_build(build: object) -> Build:
    """The argument `model=build`, if it is a function or class that can be called as build(input_size, causal=True)."""
    from torch import nn

    from seqloom.nn.cells import Cell

    code = "invalid-part"
    if isinstance(build, type) and issubclass(build, Cell):
        name = build.__name__
        message = f"{name} is a cell, not a function that builds layers"
        advice = f'Register it with seqloom.register.cell("{name.lower()}", {name}), and give model="{name.lower()}"'
    elif isinstance(build, type) and issubclass(build, Family):
        message = f"{build.__name__} is a model family, not a function that builds layers"
        advice = "Register it with seqloom.register.family, and give its name"
    elif isinstance(build, nn.Module) or not callable(build):
        message = f"{describe_type(build)} is not a function that builds layers"
        advice = "Give a function build(input_size, *, causal) that returns a layer"
    else:
        try:
            inspect.signature(build).bind(32, causal=True)
            return build
        except (TypeError, ValueError) as error:
            message = f"{builder_name(build)} can't be called as build(input_size, causal=True): {error}"
            advice, code = "Give it these two parameters", "part-signature"
    raise PartError(message, advice, location=location_of(build), code=code)


def probe_usual_widths(build: Build, *, causal: bool) -> "Layer":
    """The layer at the first of the usual widths for which the function builds one."""
    errors: list[PartError] = []
    for width in WIDTHS.values():
        try:
            return probe(build, width, causal=causal)
        except PartError as error:
            errors.append(error)
    raise errors[0]


def probe(build: Build, width: int, *, causal: bool) -> "Layer":
    """A layer over vectors of this width, to read its properties; on the meta device if possible."""
    import torch

    with torch.random.fork_rng(devices=[]):
        try:
            with torch.device("meta"):
                return build_layer(build, width, causal=causal)
        except PartError:
            return build_layer(build, width, causal=causal)


def build_layer(build: Build, width: int, *, causal: bool) -> "Layer":
    """Call the function, and check what it returns."""
    from seqloom.nn.layer import Layer

    location, call = location_of(build), f"{builder_name(build)}({width}, causal={causal})"
    try:
        layer: object = build(width, causal=causal)
    except Exception as error:
        advice = "It must build a layer over vectors of any width that model.dim may have"
        raise PartError(f"{call} raised {describe_exception(error)}", advice, location=location) from error
    input_size, output_size = (getattr(layer, name, None) for name in ("input_size", "output_size"))
    if not isinstance(layer, Layer):
        returned = f"{describe_type(layer)}, not a layer"
        advice = "Return a seqloom.nn.Layer; seqloom.nn.from_torch converts those of torch.nn that have an equivalent"
    elif input_size != width:
        returned = f"a layer of input_size {input_size}"
        advice = f"Return one that reads vectors of {width}"
    elif not isinstance(output_size, int) or output_size < 1:
        returned = f"a layer of output_size {output_size}"
        advice = "Set output_size to the width of its output"
    else:
        return layer
    raise PartError(f"{call} returned {returned}", advice, location=location)
