"""The user-defined parts that an experiment uses: what a run records, and what must be registered to open it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, get_args, get_origin

from seqloom.core import names
from seqloom.core.config.section import OneOf, Section
from seqloom.core.part_checks import last_line_in
from seqloom.core.part_origin import Origin
from seqloom.core.problem import PartError, SeqloomError, describe_exception, is_out_of_memory
from seqloom.core.registry import Names, user_defined_parts
from seqloom.data.formats import FORMATS
from seqloom.data.source import DataSource
from seqloom.models.layer_builder import builder_of, name_of
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS

UsedPart = tuple[str, str, Origin]
"""Kind, name, origin."""


DATA_KINDS = ("reader", "corpus", "tokenizer", "task")


def used_parts(experiment: Experiment, source: DataSource | None = None) -> list[UsedPart]:
    """Each user-defined part that the experiment uses, once; the function of `model=build` is one of kind model.

    source: its data; without them, a reader that is not named, but found by the names of files, is not among the parts
    """
    used: dict[tuple[str, str], Origin] = {}
    for kind, name, origin in parts_named(experiment, source):
        used.setdefault((kind, name), origin)
    return [(kind, name, origin) for (kind, name), origin in used.items()]


def registered_parts() -> list[UsedPart]:
    """Each user-defined part that is registered, by kind and name."""
    parts = {part for names, name in user_defined_parts() for part in of_names(names, name)}
    return sorted(parts, key=lambda part: part[:2])


def data_code(experiment: Experiment, source: DataSource) -> list[str]:
    """The hashes of the user-defined parts that decide how the data are read."""
    return [origin.sha256 for kind, _, origin in used_parts(experiment, source) if kind in DATA_KINDS]


@contextmanager
def part_errors(experiment: Experiment) -> Iterator[None]:
    """Within: an exception that comes from the file of a user-defined part is one sentence with the line there."""
    try:
        yield
    except SeqloomError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        location = last_line_in({origin.path for _, _, origin in used_parts(experiment)}, error)
        if location is None:
            raise
        raise PartError(describe_exception(error), "Correct it", location=location, code="part-error") from error


def parts_named(experiment: Experiment, source: DataSource | None) -> Iterator[UsedPart]:
    """The same, but one that is named twice comes twice."""
    yield from of_names(TASKS.names, experiment.task)
    for _, section in experiment:
        if isinstance(section, Section):
            yield from parts_of(section)
    if experiment.data.format in FORMATS:
        yield from of_names(FORMATS.names, experiment.data.format)
    for each in source.inputs if source is not None else ():
        yield from of_names(FORMATS.names, each.format.name)
    corpus = experiment.data.corpus if source is None else source.corpus
    if corpus is not None:
        yield from of_names(experiment.data_spec.corpora.names, corpus)
        yield from of_names(names.TOKENIZERS, experiment.data_spec.corpora[corpus].tokenizer or "")
    build = builder_of(experiment.model)
    if build is not None:
        yield "model", name_of(build), Origin.of(build)


def parts_of(section: Section) -> Iterator[UsedPart]:
    """Those that the keys of a section name: each key whose type is `OneOf` the names of a registry."""
    for key, field in type(section).model_fields.items():
        known = names_of(field.annotation, field.metadata)
        value = getattr(section, key)
        for name in value if isinstance(value, tuple) else (value,):
            if known is not None and isinstance(name, str):
                yield from of_names(known, name)


def names_of(annotation: object, metadata: Sequence[object] = ()) -> Names | None:
    """The names of which a value of this type is one, or several."""
    for each in metadata:
        if isinstance(each, OneOf) and isinstance(each.names, Names):
            return each.names
    if get_origin(annotation) is Annotated:
        inside, *more = get_args(annotation)
        return names_of(inside, more)
    return next((known for each in get_args(annotation) if (known := names_of(each)) is not None), None)


def of_names(known: Names, name: str) -> Iterator[UsedPart]:
    """A user-defined part of this name; nothing for a built-in one."""
    origin = known.origin(name)
    if origin is not None:
        yield kind_of(known, name), name, origin


def kind_of(known: Names, name: str) -> str:
    """What `seqloom.register` calls it: an architecture is a cell, a layer or a family."""
    return ARCHITECTURES[name].kind if known is ARCHITECTURES.names else known.kind
