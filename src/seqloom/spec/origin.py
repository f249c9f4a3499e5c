"""Where a user-defined part comes from: the code that registers it, and the file and line of its definition."""

import ast
import inspect
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from sysconfig import get_paths
from types import FrameType, FunctionType
from uuid import uuid4

BETWEEN = ("seqloom", "jaxtyping", "beartype")
"""Packages between who registers and this file: the two others wrap functions to check types at run time."""
EXECUTED = "__seqloom_sha256__"
"""In a module that `--code` runs: the hash of the content that runs, whatever the file holds by now."""


FOLDERS = (
    *(get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    str(Path(__file__).parents[1]),
)
LIBRARIES = tuple({f"{Path(folder).resolve()}{os.sep}" for folder in FOLDERS})
"""Folders whose code is not the user's."""


@dataclass(frozen=True)
class Origin:
    """Where a user-defined part comes from.

    module, file: which register it: a module, and the name of its file without the folder; no file in a notebook
    sha256: of the definition: its file and the neighbors that the file imports (`code_hash`), or its source in a
        notebook; of what a library defines, of the file that registers it
    location: file and line of the definition, for messages
    path: of the file of the definition, by which a traceback names it
    name: of the class or function in its module
    """

    module: str
    file: str = ""
    sha256: str = ""
    location: str = ""
    path: str = ""
    name: str = ""

    @staticmethod
    def of(part: object) -> "Origin":
        """Of a class, a function or an object of a class, by its definition."""
        defined = definition(part)
        module, name = defined.__module__ or "__main__", "" if is_object(part) else defined.__qualname__
        path = file_of(defined)
        if path is None:
            return Origin(module, "", source_hash(defined), module, name=name)
        digest = vars(sys.modules.get(module, sys)).get(EXECUTED) or code_hash(path)
        return Origin(module, path.name, digest, location_of(part), str(path), name)

    @staticmethod
    def registered(part: object) -> "Origin":
        """The same, but with the module that calls seqloom now to register the part: it may have imported it."""
        origin, caller = Origin.of(part), calling_frame()
        module, path = str(caller.f_globals.get("__name__")), caller.f_globals.get("__file__")
        if path is None or not Path(path).is_file():
            return replace(origin, module=module, file="" if is_library(origin.path) else origin.file)
        registering = replace(origin, module=module, file=Path(path).name)
        if isinstance(part, partial) or is_library(origin.path):
            return replace(registering, sha256=caller.f_globals.get(EXECUTED) or code_hash(Path(path)))
        return registering

    def is_again(self, other: "Origin") -> bool:
        """Whether the same definition is registered once more, by a cell of a notebook or a module that is reloaded."""
        named = bool(self.name) and "<lambda>" not in self.name
        return named and (self.module, self.name) == (other.module, other.name)


def location_of(part: object) -> str:
    """File and line of a part's definition; of what a library defines, or of an object, of the line that gives it."""
    defined = definition(part)
    path = file_of(defined)
    if path is None and defined.__module__ != "builtins":
        return defined.__module__
    if path is None or is_library(str(path)) or is_object(part):
        caller = calling_frame()
        return f"{short_path(caller.f_code.co_filename)}:{caller.f_lineno}"
    try:
        return f"{short_path(path)}:{inspect.getsourcelines(defined)[1]}"
    except (OSError, TypeError):
        return short_path(path)


def file_of(defined: type | FunctionType) -> Path | None:
    """The file of a definition, if there is one."""
    try:
        path = inspect.getsourcefile(defined)
    except (OSError, TypeError):
        path = getattr(sys.modules.get(defined.__module__), "__file__", None)
    return Path(path) if path is not None and Path(path).is_file() else None


def is_library(path: str) -> bool:
    """Whether a file belongs to seqloom, to Python or to an installed package."""
    return not path or str(Path(path).resolve()).startswith(LIBRARIES)


def short_path(path: str | Path) -> str:
    """A path for messages: relative to the current folder, for a file below it."""
    absolute, here = Path(path).absolute(), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(path)


def calling_frame() -> FrameType:
    """Of the code that called seqloom."""
    frame = sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in BETWEEN:
        frame = frame.f_back
    return frame


def definition(part: object) -> type | FunctionType:
    """The class or function that is behind a decorated or partial function, or an object."""
    while isinstance(part, partial):
        part = part.func
    part = inspect.unwrap(part) if callable(part) else part
    return part if isinstance(part, type | FunctionType) else type(part)


def is_object(part: object) -> bool:
    """Whether a part is of a class, and neither a class nor a function."""
    return not isinstance(part, partial) and definition(part) is type(part)


def source_hash(defined: type | FunctionType) -> str:
    """The SHA-256 of a definition without a file; of one whose source nobody has, something that never comes again."""
    try:
        return sha256(inspect.getsource(defined).encode()).hexdigest()
    except (OSError, TypeError):
        return uuid4().hex


def code_hash(path: Path, source: bytes | None = None) -> str:
    """The SHA-256 of a Python file; of one that imports its neighbors, of all of their hashes.

    source: its content, if that has been read
    """
    contents = {path: path.read_bytes() if source is None else source}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        for neighbor in imported_neighbors(path.parent, file, contents[file]):
            if neighbor not in contents:
                contents[neighbor] = neighbor.read_bytes()
                waiting.append(neighbor)
    hashes = [sha256(contents.pop(path)).hexdigest()]
    hashes += (f"{each.relative_to(path.parent)} {sha256(contents[each]).hexdigest()}" for each in sorted(contents))
    return hashes[0] if len(hashes) == 1 else sha256("\n".join(hashes).encode()).hexdigest()


def imported_neighbors(folder: Path, file: Path, source: bytes) -> Iterator[Path]:
    """The files of a folder, and of packages in it, that a file there imports."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names, base = [alias.name for alias in node.names], folder
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names]
            base = file.parents[node.level - 1] if 0 < node.level <= len(file.parents) else folder
        else:
            continue
        for name in names:
            words = name.split(".")
            for count in range(1, len(words) + 1):  # a.b.c, which may be a name in a.b, imports a and a.b
                path = base.joinpath(*words[:count])
                found = (path.with_name(f"{path.name}.py"), path / "__init__.py")
                yield from (each for each in found if each.is_file() and each.is_relative_to(folder))
