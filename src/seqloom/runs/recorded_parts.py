"""The user-defined parts of a run: recorded when it is made, registered and unchanged when it is opened."""

import shlex
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from seqloom.core.part_origin import Origin
from seqloom.core.plurals import join_words
from seqloom.core.problem import PartWarning, Problem, RunError, format_problem
from seqloom.core.registry import Names
from seqloom.core.run_format import Manifest, Part, verify
from seqloom.data.source import DataSource
from seqloom.models.layer_builder import Build, name_of
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import task_of
from seqloom.tasks.user_defined_parts import kind_of, used_parts

MODEL = "model"  # the kind of the function of `model=build`: it is given, not registered
SAME_BUILD = "Pass the function that it was made with, as it was, or begin a new run"
AS_IT_WAS = "Register what it was made with (--code names its file), or begin a new run"


def parts_to_record(experiment: Experiment, source: DataSource | None = None) -> tuple[Part, ...]:
    """What the manifest of a run says of the parts that its experiment and its data use."""
    return tuple(part_of(kind, name, origin) for kind, name, origin in used_parts(experiment, source))


def part_of(kind: str, name: str, origin: Origin) -> Part:
    """A part, with where it comes from."""
    if origin.file:
        return Part(kind, name, file=origin.file, sha256=origin.sha256)
    return Part(kind, name, module=origin.module)


def open_manifest(folder: Path, build: Build | None = None) -> Manifest:
    """The manifest of a run whose files are whole and whose parts are registered; a changed part is a warning.

    build: the function that builds its layers, of a run that was made with `model=build`
    """
    manifest = check_manifest(folder, build)
    if (problem := changed_parts(manifest.parts, folder, build)) is not None:
        warn(problem)
    return manifest


def open_manifest_to_resume(folder: Path, build: Build | None = None) -> Manifest:
    """The same of a run that goes on: a changed part is an error."""
    manifest = check_manifest(folder, build)
    if (problem := changed_parts(manifest.parts, folder, build)) is not None:
        raise RunError.of(replace(problem, advice=AS_IT_WAS if build is None else SAME_BUILD))
    return manifest


def check_manifest(folder: Path, build: Build | None = None) -> Manifest:
    """The manifest of a run whose files are whole, and whose parts and task are there."""
    manifest = verify(folder)
    problem = missing_parts(manifest.parts, folder) or missing_build(manifest.parts, folder, build)
    if problem is not None:
        raise RunError.of(problem)
    task_of(folder, manifest.task)
    return manifest


def warn(problem: Problem) -> str:
    """The sentence of a problem, after a warning that says it."""
    sentence = format_problem(problem)
    warnings.warn(sentence, PartWarning, stacklevel=4)
    return sentence


def missing_parts(parts: Iterable[Part], folder: Path) -> Problem | None:
    """The parts of a run that are not registered, if there are any."""
    gone = [part for part in parts if part.kind != MODEL and not holders(part)]
    if not gone:
        return None
    verb, them = ("is", "it") if len(gone) == 1 else ("are", "them")
    files = dict.fromkeys(part.file for part in gone if part.file)
    if files:
        code = " ".join(f"--code {shlex.quote(file)}" for file in files)
        module = "module that registers" if len(files) == 1 else "modules that register"
        advice = f"Pass {code} (in Python, import the {module} {them})"
        advice += "" if all(part.file for part in gone) else ", and register those of modules first"
    else:
        advice = f"Register {them} first (on the command line, from a file that --code names)"
    message = f"made with {join_words(group_by_source(gone, source))}, which {verb} not registered"
    return Problem("parts-missing", message, advice, str(folder), values={"parts": [part.name for part in gone]})


def missing_build(parts: Iterable[Part], folder: Path, build: Build | None) -> Problem | None:
    """The function that builds the layers of a run, if one does and it is not given."""
    for part in parts:
        if part.kind == MODEL and build is None:
            message = f"its layers were built by the function {part.name} of {source(part)}"
            advice = "Pass the function: seqloom.load(folder, model=build), or resume(folder, model=build)"
            return Problem("build-missing", message, advice, str(folder))
    return None


def changed_parts(parts: Iterable[Part], folder: Path, build: Build | None = None) -> Problem | None:
    """The parts that have another content than when the run was made, or, without a file, come from another module."""
    now: dict[Part, Part] = {}
    for part in parts:
        other = part_now(part, build)
        if (part.name, part.sha256, part.module) != (other.name, other.sha256, other.module):
            now[part] = other
    if not now:
        return None
    groups = group_by_source(now, lambda part: f"{exact_source(part)}, now {of_source(part, now[part])}")
    message, values = f"made with {', and '.join(groups)}", {"parts": [part.name for part in now]}
    return Problem("parts-changed", message, "Its results may differ", str(folder), values=values)


def part_now(part: Part, build: Build | None) -> Part:
    """What the part of this kind and name is now; one that is built in by now is what it was."""
    if part.kind == MODEL:
        return part if build is None else part_of(MODEL, name_of(build), Origin.of(build))
    origin = origin_of(part)
    return part if origin is None else part_of(part.kind, part.name, origin)


def of_source(part: Part, other: Part) -> str:
    """The source of what a part is now, with its name if that is another."""
    return f"{'' if other.name == part.name else f'{other.name!r} '}of {exact_source(other)}"


def holders(part: Part) -> list[Names]:
    """The names of its kind, if the part is among them; a cell is an architecture too."""
    return [names for names in Names.all if part.name in names and kind_of(names, part.name) == part.kind]


def origin_of(part: Part) -> Origin | None:
    """Where the part of this kind and name comes from now; None for a built-in one."""
    return next((origin for names in holders(part) if (origin := names.origin(part.name)) is not None), None)


def group_by_source(parts: Iterable[Part], source: Callable[[Part], str]) -> list[str]:
    """Parts, those of one source together.

    >>> group_by_source(
    ...     [Part("cell", "mine", "a.py"), Part("score", "near", "a.py"), Part("task", "count", module="m")], source
    ... )
    ["the cell 'mine' and the score 'near' of a.py", "the task 'count' of the module m"]
    """
    groups: dict[str, list[str]] = {}
    for part in parts:
        groups.setdefault(source(part), []).append(f"the {part.kind} {part.name!r}")
    return [f"{join_words(names)} of {each}" for each, names in groups.items()]


def source(part: Part) -> str:
    """The file, or the module of a part without one."""
    return part.file or f"the module {part.module}"


def exact_source(part: Part) -> str:
    """The same, with the content."""
    return f"{part.file} (SHA-256 {part.sha256[:8]}…)" if part.file else source(part)
