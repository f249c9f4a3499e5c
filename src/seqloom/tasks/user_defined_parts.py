"""The user-defined parts that an experiment uses: a run records them, and they must be registered to open it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, get_args, get_origin

from seqloom.core import names
from seqloom.core.config.section import OneOf, Section
from seqloom.core.part import Part, last_line_in
from seqloom.core.part_origin import Origin
from seqloom.core.problem import PartError, SeqloomError, is_out_of_memory
from seqloom.core.registry import Names, user_defined_parts
from seqloom.core.wording import describe_exception
from seqloom.data.formats import FORMATS
from seqloom.data.source import DataSource
from seqloom.models.layer_builder import builder_name, builder_of
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS

MODEL = "model"  # the kind of the function of `model=build`, which is passed and not registered
DATA_KINDS = ("reader", "corpus", "tokenizer", "task")


def used_parts(experiment: Experiment, source: DataSource | None = None) -> list[Part]:
    """Each user-defined part that the experiment uses, once; the function of `model=build` is one of kind model.

    source: its data; without them, a reader that is found by the names of files is not among the parts
    """
    parts = [part_named(registry, name) for registry, name in names_used(experiment, source)]
    if (build := builder_of(experiment.model)) is not None:
        parts.append(Part(MODEL, builder_name(build), Origin.of(build)))
    return list(dict.fromkeys(part for part in parts if part is not None))


def registered_parts() -> list[Part]:
    parts = {part for registry, name in user_defined_parts() if (part := part_named(registry, name)) is not None}
    return sorted(parts, key=lambda part: (part.kind, part.name))


def part_named(registry: Names, name: str) -> Part | None:
    """The user-defined part of this name; None for a built-in one."""
    origin = registry.origin(name)
    return None if origin is None else Part(kind_of(registry, name), name, origin)


def kind_of(registry: Names, name: str) -> str:
    """What `seqloom.register` calls a part: an architecture is a cell, a layer or a family."""
    return ARCHITECTURES[name].kind if registry is ARCHITECTURES.names else registry.kind


def data_code(experiment: Experiment, source: DataSource) -> list[str]:
    """The hashes of the user-defined parts that decide how the data are read."""
    return [part.origin.sha256 for part in used_parts(experiment, source) if part.kind in DATA_KINDS]


@contextmanager
def part_errors(experiment: Experiment) -> Iterator[None]:
    """Turns an exception from the file of a user-defined part into one sentence that names its line there."""
    try:
        yield
    except SeqloomError:
        raise
    except Exception as error:
        location = last_line_in({part.origin.path for part in used_parts(experiment)}, error)
        if location is None or is_out_of_memory(error):
            raise
        raise PartError(describe_exception(error), "Correct it", location=location, code="part-error") from error


def names_used(experiment: Experiment, source: DataSource | None) -> Iterator[tuple[Names, str]]:
    """The registries and the names in them, built-in ones too, that an experiment uses; some may be repeated."""
    yield TASKS.names, experiment.task
    for _, section in experiment:
        if isinstance(section, Section):
            for key, field in type(section).model_fields.items():
                registry = registry_of(field.annotation, field.metadata)
                value = getattr(section, key)
                for name in value if isinstance(value, tuple) else (value,):
                    if registry is not None and isinstance(name, str):
                        yield registry, name
    if experiment.data.format in FORMATS:
        yield FORMATS.names, experiment.data.format
    for data_input in source.inputs if source is not None else ():
        yield FORMATS.names, data_input.format.name
    corpus = experiment.data.corpus if source is None else source.corpus
    if corpus is not None:
        yield experiment.data_spec.corpora.names, corpus
        yield names.TOKENIZERS, experiment.data_spec.corpora[corpus].tokenizer or ""


def registry_of(annotation: object, metadata: Sequence[object] = ()) -> Names | None:
    """The registry whose entries the values of this type name."""
    for item in metadata:
        if isinstance(item, OneOf) and isinstance(item.names, Names):
            return item.names
    if get_origin(annotation) is Annotated:
        inside, *metadata = get_args(annotation)
        return registry_of(inside, metadata)
    return next((registry for arg in get_args(annotation) if (registry := registry_of(arg)) is not None), None)
