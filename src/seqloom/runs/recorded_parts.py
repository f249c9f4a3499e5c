"""The user-defined parts of a run, recorded in its manifest: whether they are registered and unchanged."""

import shlex
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from seqloom.core.part import Part
from seqloom.core.part_origin import Origin
from seqloom.core.problem import PartWarning, Problem, RunError, format_problem
from seqloom.core.registry import Names
from seqloom.core.run_format import Manifest, RecordedPart, verify
from seqloom.core.wording import join_words
from seqloom.data.source import DataSource
from seqloom.models.layer_builder import Build, builder_name
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import task_of
from seqloom.tasks.user_defined_parts import MODEL, kind_of, used_parts

PASS_ORIGINAL = "Pass the unchanged function that it was made with, or start a new run"
REGISTER_ORIGINAL = "Register the parts that it was made with (--code names their file), or start a new run"
PASS_BUILD = "Pass the function: seqloom.load(folder, model=build), or resume(folder, model=build)"


def parts_to_record(experiment: Experiment, source: DataSource | None = None) -> tuple[RecordedPart, ...]:
    """The user-defined parts that an experiment and its data use, for the manifest."""
    return tuple(map(recorded_part, used_parts(experiment, source)))


def recorded_part(part: Part) -> RecordedPart:
    """The part as the manifest records it: by its file and the SHA-256 of that, or by its module."""
    origin = part.origin
    if origin.file:
        return RecordedPart(part.kind, part.name, file=origin.file, sha256=origin.sha256)
    return RecordedPart(part.kind, part.name, module=origin.module)


def open_manifest(folder: Path, build: Build | None = None, *, resume: bool = False) -> Manifest:
    """The manifest of a run whose files are verified and whose parts are registered.

    A part that has changed since the run was made is a warning, or an error to `resume` it.

    build: the function that builds its layers, of a run made with `model=build`
    """
    manifest = verify(folder)
    problem = missing_parts(manifest.parts, folder) or missing_build(manifest.parts, folder, build)
    if problem is not None:
        raise RunError.of(problem)
    task_of(folder, manifest.task)
    if (problem := changed_parts(manifest.parts, folder, build)) is not None:
        if resume:
            raise RunError.of(replace(problem, advice=REGISTER_ORIGINAL if build is None else PASS_ORIGINAL))
        warn(problem)
    return manifest


def warn(problem: Problem) -> str:
    """Give a warning, and return its text."""
    text = format_problem(problem)
    warnings.warn(text, PartWarning, stacklevel=4)
    return text


def missing_parts(parts: Iterable[RecordedPart], folder: Path) -> Problem | None:
    """The problem of parts that are not registered, if there are any."""
    missing = [part for part in parts if part.kind != MODEL and not names_with(part)]
    if not missing:
        return None
    verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
    files = dict.fromkeys(part.file for part in missing if part.file)
    advice = f"Register {them} first (on the command line, from a file that --code names)"
    if files:
        code = " ".join(f"--code {shlex.quote(file)}" for file in files)
        module = "module that registers" if len(files) == 1 else "modules that register"
        others = "" if all(part.file for part in missing) else ", and register those of modules first"
        advice = f"Pass {code} (in Python, import the {module} {them}){others}"
    message = f"made with {join_words(group_by_source(missing, source))}, which {verb} not registered"
    return Problem("parts-missing", message, advice, str(folder), values={"parts": [part.name for part in missing]})


def missing_build(parts: Iterable[RecordedPart], folder: Path, build: Build | None) -> Problem | None:
    """The problem of a function that built the layers of a run and is not passed."""
    model = next((part for part in parts if part.kind == MODEL), None)
    if model is None or build is not None:
        return None
    message = f"its layers were built by the function {model.name} of {source(model)}"
    return Problem("build-missing", message, PASS_BUILD, str(folder))


def changed_parts(parts: Iterable[RecordedPart], folder: Path, build: Build | None = None) -> Problem | None:
    """The problem of parts whose file has changed since the run was made, or that are now of another file or module."""
    current = {part: current_part(part, build) for part in parts}
    changed = [part for part, now in current.items() if replace(part, file=now.file) != now]
    if not changed:
        return None

    def sources(part: RecordedPart) -> str:
        now = current[part]
        name = "" if now.name == part.name else f"{now.name!r} "
        return f"{exact_source(part)}, now {name}of {exact_source(now)}"

    message = f"made with {', and '.join(group_by_source(changed, sources))}"
    values = {"parts": [part.name for part in changed]}
    return Problem("parts-changed", message, "Its results may differ", str(folder), values=values)


def current_part(part: RecordedPart, build: Build | None) -> RecordedPart:
    """The part that now has this kind and name; the recorded one, if seqloom has it built in by now."""
    if part.kind == MODEL:
        return part if build is None else recorded_part(Part(MODEL, builder_name(build), Origin.of(build)))
    origins = (names.origin(part.name) for names in names_with(part))
    origin = next((origin for origin in origins if origin is not None), None)
    return part if origin is None else recorded_part(Part(part.kind, part.name, origin))


def names_with(part: RecordedPart) -> list[Names]:
    """The `Names` that contain the part: two for a cell, which is an architecture too."""
    return [names for names in Names.all if part.name in names and kind_of(names, part.name) == part.kind]


def group_by_source(parts: Iterable[RecordedPart], source: Callable[[RecordedPart], str]) -> list[str]:
    """Descriptions of parts, one for each source.

    >>> mine, near = RecordedPart("cell", "mine", "a.py"), RecordedPart("score", "near", "a.py")
    >>> group_by_source([mine, near, RecordedPart("task", "count", module="m")], source)
    ["the cell 'mine' and the score 'near' of a.py", "the task 'count' of the module m"]
    """
    groups: dict[str, list[str]] = {}
    for part in parts:
        groups.setdefault(source(part), []).append(f"the {part.kind} {part.name!r}")
    return [f"{join_words(descriptions)} of {origin}" for origin, descriptions in groups.items()]


def source(part: RecordedPart) -> str:
    return part.file or f"the module {part.module}"


def exact_source(part: RecordedPart) -> str:
    return f"{part.file} (SHA-256 {part.sha256[:8]}…)" if part.file else source(part)
