"""Where a user-defined part comes from: the code that registers it, and the file and line of its definition."""

import ast
import inspect
import os
import sys
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from types import FrameType, FunctionType

INTERNAL = ("seqloom", "jaxtyping", "beartype")
"""Packages whose frames are not the caller's: the two others wrap functions to check types at run time."""
EXECUTED = "__seqloom_sha256__"
"""Set in a module that `--code` runs: the hash of its code when it was run; the file may have changed since."""


@dataclass(frozen=True)
class Origin:
    """Where a user-defined part comes from.

    module, file: of the code that registers it; the file without its folder, and empty in a notebook
    sha256: of the file of the definition and of those that it imports from its folder (`code_hash`); of the source, in
        a notebook; of the file that registers it, if a library defines it
    location: file and line of the definition, for messages
    path: of the file of the definition, as tracebacks have it
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
        """The origin of a class, a function, or an object (by its class)."""
        definition = definition_of(part)
        module, name = definition.__module__ or "__main__", definition.__qualname__ if definition is part else ""
        path = file_of(definition)
        if path is None:
            return Origin(module, "", source_hash(definition), location_of(part), name=name)
        digest = vars(sys.modules.get(module, sys)).get(EXECUTED) or code_hash(path, module=module)
        return Origin(module, path.name, digest, location_of(part), str(path), name)

    @staticmethod
    def registered(part: object) -> "Origin":
        """The origin of a part that is being registered, with the module and file of the caller."""
        origin, caller = Origin.of(part), calling_frame().f_globals
        module, path = str(caller.get("__name__")), caller.get("__file__")
        if path is None or not Path(path).is_file():
            return replace(origin, module=module, file="" if is_library(origin.path) else origin.file)
        digest = origin.sha256
        if isinstance(part, partial) or is_library(origin.path):
            digest = caller.get(EXECUTED) or code_hash(Path(path), module=module)
        return replace(origin, module=module, file=Path(path).name, sha256=digest)

    def is_redefined_by(self, other: "Origin") -> bool:
        """Whether `other` is the same definition, run again in a notebook or in a reloaded module."""
        named = self.name and "<lambda>" not in self.name and "<locals>" not in self.name
        return bool(named) and (self.module, self.name) == (other.module, other.name)


def location_of(part: object) -> str:
    """File and line of a definition; of the calling code, for an object and for what a library defines."""
    definition = definition_of(part)
    path = file_of(definition)
    is_foreign = definition.__module__ == "builtins" if path is None else is_library(str(path))
    if is_foreign or definition is type(part):
        caller = calling_frame()
        return f"{short_path(caller.f_code.co_filename)}:{caller.f_lineno}"
    if path is None:
        return definition.__module__ or "__main__"
    try:
        return f"{short_path(path)}:{inspect.getsourcelines(definition)[1]}"
    except (OSError, TypeError):
        return short_path(path)


def definition_of(part: object) -> type | FunctionType:
    """The class or function behind a decorated or partial function; the class of an object."""
    while isinstance(part, partial):
        part = part.func
    part = inspect.unwrap(part) if callable(part) else part
    return part if isinstance(part, type | FunctionType) else type(part)


def file_of(definition: type | FunctionType) -> Path | None:
    try:
        path = inspect.getsourcefile(definition)
    except (OSError, TypeError):
        path = getattr(sys.modules.get(definition.__module__), "__file__", None)
    return Path(path) if path is not None and Path(path).is_file() else None


def is_library(path: str) -> bool:
    """Whether a file belongs to seqloom, to Python or to an installed package."""
    return not path or str(Path(path).resolve()).startswith(library_folders())


@cache
def library_folders() -> tuple[str, ...]:
    from sysconfig import get_paths  # slow to import, and --help does not need it

    paths = get_paths()
    python = (Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple({f"{folder.resolve()}{os.sep}" for folder in (Path(__file__).parents[1], *python)})


def short_path(path: str | Path) -> str:
    """A path for messages: relative, if it is below the current folder."""
    absolute, cwd = Path(path).absolute(), Path.cwd()
    return str(absolute.relative_to(cwd)) if absolute.is_relative_to(cwd) else str(path)


def calling_frame() -> FrameType:
    """The innermost frame outside seqloom."""
    frame = sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in INTERNAL:
        frame = frame.f_back
    return frame


# Hashes --------------------------------------------------------------------------------------------------------------


def source_hash(definition: type | FunctionType) -> str:
    """The SHA-256 of a definition that has no file; random if its source is unknown."""
    try:
        return sha256(inspect.getsource(definition).encode()).hexdigest()
    except (OSError, TypeError):
        return os.urandom(16).hex()


def code_hash(path: Path, source: bytes | None = None, module: str = "") -> str:
    """The SHA-256 of a Python file; if it imports files from its folder or packages, of the hashes of all of them.

    source: its content, if that has been read
    module: the name under which it is imported, if known, which tells its packages
    """
    path = path.absolute()
    folders = import_folders(path, module)
    contents = {path: path.read_bytes() if source is None else source}
    queue = [] if is_library(str(path)) else [path]
    while queue:
        file = queue.pop()
        for neighbor in imported_paths(folders, file, contents[file]):
            if neighbor not in contents and neighbor.is_file() and not is_library(str(neighbor)):
                contents[neighbor] = neighbor.read_bytes()
                queue.append(neighbor)
    first = sha256(contents.pop(path)).hexdigest()
    hashes = sorted(f"{os.path.relpath(file, path.parent)} {sha256(contents[file]).hexdigest()}" for file in contents)
    return sha256("\n".join([first, *hashes]).encode()).hexdigest() if hashes else first


def import_folders(path: Path, module: str) -> tuple[Path, ...]:
    """The folders in which a file's absolute imports are looked up: its own, and that of its topmost package."""
    top = path.parent
    while (top / "__init__.py").is_file() and top != top.parent:
        top = top.parent
    levels = module.count(".") + (path.name == "__init__.py")
    by_name = path.parents[levels] if levels < len(path.parents) else path.parent
    return tuple(dict.fromkeys((path.parent, top, by_name)))


@lru_cache(maxsize=256)
def imported_paths(folders: tuple[Path, ...], file: Path, source: bytes) -> tuple[Path, ...]:
    """The files that the imports of a file may load from these folders."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    paths: dict[Path, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names, bases = [alias.name for alias in node.names], folders
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names]
            bases = tuple(file.parents[node.level - 1 : node.level]) if node.level else folders
        else:
            continue
        for base, name in product(bases, names):
            words = name.split(".")
            for count in range(1, len(words) + 1):  # a.b.c imports a, a.b and, if it is a module, a.b.c
                path = base.joinpath(*words[:count])
                paths |= dict.fromkeys((path.with_name(f"{path.name}.py"), path / "__init__.py"))
    return tuple(paths)
