"""The user-defined parts that an experiment uses: what a run records, and what must be registered to open it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, get_args, get_origin

from seqloom.data.formats import AUTO, FORMATS
from seqloom.data.paths import without_gz
from seqloom.models.custom import builder_of, name_of
from seqloom.models.registry import ARCHITECTURES
from seqloom.spec import names
from seqloom.spec.config.applicability import FILES
from seqloom.spec.config.section import OneOf, Section
from seqloom.spec.registry import Names, Origin, Registry
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS

UsedPart = tuple[str, str, Origin]
"""Kind, name, origin."""


def used_parts(experiment: Experiment) -> list[UsedPart]:
    """Each user-defined part that the experiment names, once; the function of `model=build` is one of kind model."""
    used: dict[tuple[str, str], Origin] = {}
    for kind, name, origin in parts_named(experiment):
        used.setdefault((kind, name), origin)
    return [(kind, name, origin) for (kind, name), origin in used.items()]


def parts_named(experiment: Experiment) -> Iterator[UsedPart]:
    """The same, but one that is named twice comes twice."""
    yield from of_names(TASKS.names, experiment.task)
    for _, section in experiment:
        if isinstance(section, Section):
            yield from parts_of(section)
    for name in formats(experiment):
        yield from of_names(FORMATS.names, name)
    corpora, corpus = experiment.reads.corpora, experiment.data.corpus
    if isinstance(corpora, Registry) and corpus is not None:
        yield from of_names(corpora.names, corpus)
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
    """How `seqloom.register` calls it: an architecture is a cell, a layer or a family."""
    if known is not ARCHITECTURES.names:
        return known.kind
    return next((each.kind for each in (names.CELLS, names.LAYERS) if name in each), "family")


def formats(experiment: Experiment) -> Iterator[str]:
    """The format that is named, or those that the names of the files tell."""
    if experiment.data.format != AUTO:
        yield experiment.data.format
        return
    for path in (Path(name) for split in FILES for name in getattr(experiment.data, split)):
        yield from (name for name, each in FORMATS.items() if without_gz(path).suffix.lower() in each.suffixes)
