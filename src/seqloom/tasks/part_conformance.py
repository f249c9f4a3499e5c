"""Whether the user-defined parts of a model keep the contract of their kinds, checked before any data are read."""

from collections.abc import Iterator, Mapping
from functools import partial

import torch

from seqloom.core.part_checks import raised_error
from seqloom.core.problem import PartError, SeqloomError
from seqloom.models.family import Family, Use
from seqloom.models.layer_builder import WIDTHS, Custom, Unnamed, build_layer, name_of
from seqloom.models.registry import ARCHITECTURES
from seqloom.nn.activations import ACTIVATIONS
from seqloom.nn.cells import CELLS
from seqloom.nn.conformance import (
    Violation,
    activation_violations,
    head_violations,
    layer_violations,
    score_violations,
)
from seqloom.nn.heads.per_token import HEADS
from seqloom.nn.layer import Layer
from seqloom.nn.normalization import NORMS
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.scores import SCORES
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment as experiment_of
from seqloom.tasks.user_defined_parts import used_parts

WIDTH, OTHER, CLASSES = 32, 64, 5  # of the parts that are built; some need multiples of their heads or groups
REGISTRIES: Mapping[str, Mapping[str, object]] = {
    "cell": CELLS, "norm": NORMS, "activation": ACTIVATIONS, "score": SCORES, "head": HEADS,
}  # fmt: skip


def check_parts(experiment: Experiment) -> None:
    """Check each user-defined part of the model on a small batch; built-in parts are not checked.

    The first violation is a `PartError`. The random numbers that are drawn here do not change later ones.
    """
    for kind, name, origin in used_parts(experiment):
        violation = first_violation(experiment, kind, name)
        if violation is not None:
            title = f"the layer of {name}" if kind == "model" else f"the {kind} {name!r}"
            message, advice = f"{title} {violation.message}", violation.advice
            if violation.declare and kind != "cell":
                advice += f"; or declare {violation.declare} in its traits"
            raise PartError(message, advice, location=origin.location, code="part-breach")
    if isinstance(experiment.model, Custom):
        _ = experiment.model.output_is_hidden  # builds every layer over the output of the one below


def first_violation(experiment: Experiment, kind: str, name: str) -> Violation | None:
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.default_generator.manual_seed(0)
            return next(violations(experiment, kind, name), None)
    except PartError:
        raise
    except SeqloomError as error:
        return Violation(f"was refused on a small batch: {error}".rstrip("."), "Correct it")
    except Exception as error:
        raise raised_error(kind, name, definition(experiment, kind, name), error) from error


def definition(experiment: Experiment, kind: str, name: str) -> object:
    """The part itself, which has a file and a line."""
    if kind in REGISTRIES:
        part = REGISTRIES[kind][name]
        return part.args[0] if isinstance(part, partial) else part
    family = family_of(experiment, kind, name)
    return family.builder if issubclass(family, Custom) else family


def violations(experiment: Experiment, kind: str, name: str) -> Iterator[Violation]:
    if kind == "cell":
        yield from layer_violations(Recurrent(CELLS[name](WIDTH, OTHER, bias=True)))
    elif kind == "norm":
        yield from layer_violations(NORMS[name](WIDTH))
    elif kind == "activation":
        yield from activation_violations(ACTIVATIONS[name]())
    elif kind == "score":
        yield from score_violations(SCORES[name](WIDTH, WIDTH, heads=1, key_heads=1))
        yield from score_violations(SCORES[name](WIDTH, WIDTH, heads=2, key_heads=1))
    elif kind == "head":
        yield from head_violations(HEADS[name](WIDTH, CLASSES, smoothing=0.1), WIDTH, CLASSES)
    elif kind in ("layer", "model", "family"):
        for causal in directions(experiment, name):
            yield from layer_violations(small_layers(experiment, kind, name, causal=causal), causal=causal)


def directions(experiment: Experiment, name: str) -> list[bool]:
    """Whether the task builds the layers of an architecture as causal ones, or not, or both."""
    model, use = experiment.model, experiment.use
    own = name_of(type(model).builder) if isinstance(model, Unnamed) else model.arch
    if use is not Use.DECODE:
        return [use is Use.GENERATE]
    encodes, decodes = getattr(model, "encoder", None) in (name, model.arch), own == name
    return [False] * encodes + [True] * (decodes and not model.cross_attends)


def family_of(experiment: Experiment, kind: str, name: str) -> type[Family]:
    return type(experiment.model) if kind == "model" else ARCHITECTURES[name].family


def small_layers(experiment: Experiment, kind: str, name: str, *, causal: bool) -> Layer:
    """The layers of an architecture, as narrow as they can be built."""
    family = family_of(experiment, kind, name)
    if not issubclass(family, Custom):
        tiny = experiment_of({"task": experiment.task, "model": {"arch": name, "size": "tiny"}}).model
        return tiny.build(tiny.dim, causal=causal)
    *widths, widest = (WIDTH, *WIDTHS.values())
    for width in widths:
        try:
            return build_layer(family.builder, width, causal=causal)
        except PartError:
            continue
    return build_layer(family.builder, widest, causal=causal)
