"""Whether the user-defined parts of a model keep the contract of their kinds, checked before any data are read."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from seqloom.core.part import Part
from seqloom.core.problem import PartError, SeqloomError
from seqloom.models.family import Use
from seqloom.models.layer_builder import WIDTHS, Custom, Unnamed, build_layer, builder_name
from seqloom.models.registry import ARCHITECTURES
from seqloom.nn.activations import ACTIVATIONS
from seqloom.nn.cells import CELLS
from seqloom.nn.conformance import Violation, check_activation, check_head, check_layer, check_scores
from seqloom.nn.heads.per_token import HEADS
from seqloom.nn.layer import Layer
from seqloom.nn.normalization import NORMS
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.scores import SCORES
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment as experiment_of
from seqloom.tasks.user_defined_parts import MODEL, used_parts

WIDTH, HIDDEN, CLASSES = 32, 64, 5  # of the parts that are built; some need multiples of their heads or groups
# The registry of each kind of part, and the check of its entries.
CHECKS: Mapping[str, tuple[Mapping[str, Any], Callable[[Any], None]]] = {
    "cell": (CELLS, lambda cell: check_layer(Recurrent(cell(WIDTH, HIDDEN, bias=True)))),
    "norm": (NORMS, lambda norm: check_layer(norm(WIDTH))),
    "activation": (ACTIVATIONS, lambda activation: check_activation(activation())),
    "score": (SCORES, lambda score: check_scores(score(WIDTH, WIDTH, heads=heads, key_heads=1) for heads in (1, 2))),
    "head": (HEADS, lambda head: check_head(head(WIDTH, CLASSES, smoothing=0.1), WIDTH, CLASSES)),
}


def check_parts(experiment: Experiment) -> None:
    """Check each user-defined part of the model on a small batch; built-in parts are not checked.

    The first violation is a `PartError`. The random numbers that are drawn here do not change later ones.
    """
    for part in used_parts(experiment):
        try:
            with torch.random.fork_rng(devices=[]), torch.enable_grad(), part.errors():
                torch.default_generator.manual_seed(0)
                check_part(experiment, part)
        except PartError:
            raise
        except SeqloomError as error:
            refusal = Violation(f"was refused on a small batch: {error}".rstrip("."), "Correct it")
            violation = error if isinstance(error, Violation) else refusal
            title = f"the layer of {part.name}" if part.kind == MODEL else str(part)
            message, advice = f"{title} {violation.template.message}", violation.template.advice
            if violation.declare and part.kind != "cell":
                advice += f"; or declare {violation.declare} in its traits"
            raise PartError(message, advice, location=part.origin.location, code="part-breach") from error
    if isinstance(experiment.model, Custom):
        _ = experiment.model.output_has_hidden_width  # builds every layer over the output of the one below


def check_part(experiment: Experiment, part: Part) -> None:
    if part.kind in CHECKS:
        registry, check = CHECKS[part.kind]
        check(registry[part.name])
    elif part.kind in ("layer", "family", MODEL):
        for causal in directions(experiment, part.name):
            check_layer(small_layers(experiment, part, causal=causal), causal=causal)


def directions(experiment: Experiment, name: str) -> list[bool]:
    """Whether the task builds the layers of an architecture as causal ones, or not, or both."""
    model, use = experiment.model, experiment.use
    own = builder_name(type(model).builder) if isinstance(model, Unnamed) else model.arch
    if use is not Use.DECODE:
        return [use is Use.GENERATE]
    encodes, decodes = getattr(model, "encoder", None) in (name, model.arch), own == name
    return [False] * encodes + [True] * (decodes and not model.cross_attends)


def small_layers(experiment: Experiment, part: Part, *, causal: bool) -> Layer:
    """The layers of an architecture, as narrow as they can be built."""
    family = type(experiment.model) if part.kind == MODEL else ARCHITECTURES[part.name].family
    if not issubclass(family, Custom):
        tiny = experiment_of({"task": experiment.task, "model": {"arch": part.name, "size": "tiny"}}).model
        return tiny.build(tiny.dim, causal=causal)
    *widths, widest = (WIDTH, *WIDTHS.values())
    for width in widths:
        try:
            return build_layer(family.builder, width, causal=causal)
        except PartError:
            continue
    return build_layer(family.builder, widest, causal=causal)
