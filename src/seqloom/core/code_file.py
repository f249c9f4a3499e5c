"""Code files that the user names (`--code my_parts.py`): each is run once, to register the parts that it defines.

Only the user can name them: no config and no run can, and none is loaded from the folder of a run.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import CodeType, ModuleType

from seqloom.core.part import last_line_in
from seqloom.core.part_origin import EXECUTED, code_hash
from seqloom.core.problem import PartError, SeqloomError, UserError
from seqloom.core.registry import Names, undo_on_error, user_defined_parts
from seqloom.core.run_format import MANIFEST
from seqloom.core.safe_open import NotRegular, TooLarge, read_bytes, system_reason
from seqloom.core.wording import describe_exception

MAX_BYTES = 16 << 20

parts_by_hash: dict[str, set[tuple[Names, str]]] = {}
"""The parts that each loaded file registered, by the hash of its code."""


def load_code(file: str | Path) -> None:
    """Run a Python file that registers parts, as the module of its name; the same content is run once.

    The file may import its neighbors. If it fails, nothing of it stays registered or imported.
    """
    path = Path(file)
    if not path.name.isprintable():  # a run records the name, in one line
        raise UserError("the name of this file has invisible characters", "Rename it", location=path, code="code-name")
    source = read_source(path)
    refuse_run_folder(path)
    digest = code_hash(path.absolute(), source)
    if is_loaded(digest):
        return
    refuse_other_module(path)
    code, before = compile_source(path, source), user_defined_parts()
    with undo_on_error(), new_module(path) as module:
        setattr(module, EXECUTED, digest)
        run_module(code, module, path)
        new = user_defined_parts() - before
        if not new:
            advice = "Call one of `seqloom.register` in it, such as @seqloom.register.cell('mine')"
            raise UserError("registers nothing", advice, location=path, code="code-registers-nothing")
    parts_by_hash[digest] = new


def is_loaded(digest: str) -> bool:
    """Whether the parts of a file with this hash are registered: it was loaded before, or another file imported it."""
    registered = user_defined_parts()
    if digest in parts_by_hash and parts_by_hash[digest] <= registered:
        return True
    origins = (names.origin(name) for names, name in registered)
    return any(origin is not None and origin.sha256 == digest for origin in origins)


def read_source(path: Path) -> bytes:
    """The content of a file in UTF-8."""
    try:
        source = read_bytes(path, MAX_BYTES)
        source.decode()
        return source
    except (FileNotFoundError, NotADirectoryError):
        advice = "Check the name: --code takes a Python file"
        raise UserError("there is no such file", advice, location=path, code="code-missing") from None
    except NotRegular:
        message = "is a folder" if path.is_dir() else "is not a plain file"
        raise UserError(message, "Name a Python file", location=path, code="code-not-a-file") from None
    except TooLarge as error:
        message = f"{error.strerror}, too large for Python code"
        raise UserError(message, "Name a Python file", location=path, code="code-too-large") from None
    except OSError as error:
        message = f"can't be read ({system_reason(error)})"
        raise UserError(message, "Change its permissions", location=path, code="code-unreadable") from None
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        advice = "Save it as UTF-8, or name a Python file"
        raise UserError("not UTF-8", advice, location=f"{path}:{line}", code="code-not-utf8") from None


def refuse_run_folder(path: Path) -> None:
    """A run may come from a stranger, so its folder, or one that a link leads to, can't hold code."""
    folder = path.parent.resolve()
    for parent in (*path.resolve().parents, folder, *folder.parents):
        if (parent / MANIFEST).exists():
            message = f"is in a run's folder ({parent}), and code is never loaded from a run"
            raise UserError(message, "Read it, and copy it elsewhere", location=path, code="code-in-run")


def refuse_other_module(path: Path) -> None:
    """The file becomes the module of its name, which no other module may have."""
    name, folder = path.stem, path.parent.resolve()
    if name in sys.modules:
        other = getattr(sys.modules[name], "__file__", None) or "built in"
    else:
        spec = PathFinder.find_spec(name, [entry for entry in sys.path if Path(entry).resolve() != folder])
        other = spec.origin if spec is not None and spec.origin is not None else str(path)
    if Path(other).resolve() != path.resolve():
        message = f"its name is that of another module, {name} ({other})"
        raise UserError(message, "Rename the file", location=path, code="code-name-taken")


def compile_source(path: Path, source: bytes) -> CodeType:
    try:
        return compile(source, str(path.absolute()), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # for null bytes or too many brackets
        line, reason = getattr(error, "lineno", None), getattr(error, "msg", str(error)) or "too deeply nested"
        location, message = f"{path}:{line}" if line else path, f"does not parse as Python ({reason})"
        raise UserError(message, "Correct it", location=location, code="code-syntax") from None


@contextmanager
def new_module(path: Path) -> Iterator[ModuleType]:
    """The module of a file, imported but not yet run; within the block its folder is first in the import path.

    After an error, neither the module nor those that it imported from its folder stay imported.
    """
    name, file = path.stem, path.absolute()
    spec = ModuleSpec(name, SourceFileLoader(name, str(file)), origin=str(file))
    spec.has_location = True
    module, before, folder = module_from_spec(spec), dict(sys.modules), str(file.parent)
    sys.modules[name] = module
    sys.path.insert(0, folder)
    try:
        yield module
    except BaseException:
        new = {imported for imported in sys.modules.keys() - before.keys() if imported.partition(".")[0] not in before}
        for imported in {imported for imported in new if is_in_folder(imported, file.parent)} | {name}:
            sys.modules.pop(imported, None)
        sys.modules.update({name: before[name]} if name in before else {})
        raise
    finally:
        with suppress(ValueError):
            sys.path.remove(folder)


def is_in_folder(name: str, folder: Path) -> bool:
    """Whether a module, or its topmost package, is in a folder."""
    file = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
    return file is not None and folder in list(Path(file).parents)[:2]


def run_module(code: CodeType, module: ModuleType, path: Path) -> None:
    """Run the code of a module; an error becomes a `UserError` with the last line of this file in the traceback."""
    try:
        exec(code, vars(module))
    except (PartError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: only the command line ends the command
        location = last_line_in({code.co_filename}, error) or str(path)
        if isinstance(error, SeqloomError):
            problem = error.template
            message = f"{problem.location}: {problem.message}" if problem.location else problem.message
            raise UserError.of(replace(problem, location=location, message=message)) from error
        message = f"importing it raised {describe_exception(error)}"
        advice = "Correct it (SEQLOOM_DEBUG=1 shows the traceback)"
        raise UserError(message, advice, location=location, code="code-raises") from error
