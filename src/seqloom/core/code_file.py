"""Code files that the user names (`--code my_parts.py`): each is run once, to register the parts that it defines.

Only the user names them: no config and no run does, and none is taken from a run's folder.
"""

import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import CodeType, ModuleType

from seqloom.core.part_checks import line_in
from seqloom.core.part_origin import EXECUTED, code_hash
from seqloom.core.problem import PartError, SeqloomError, UserError, describe_exception
from seqloom.core.registry import Names, all_or_nothing, user_defined
from seqloom.core.run_format import MANIFEST
from seqloom.core.safe_open import NotRegular, open_regular

LARGEST = 16 << 20  # bytes of a file

parts_by_content: dict[str, set[tuple[Names, str]]] = {}
"""By the hash of a file: the parts that it registered."""


def load_code(file: str | Path) -> None:
    """Run a Python file that registers parts, as the module of its name; the same content is run once.

    The file may import its neighbors. If it fails, nothing of it stays registered or imported.
    """
    path = Path(file)
    refuse_name(path)
    source = read_source(path)
    refuse_run_folder(path)
    digest = code_hash(path.absolute(), source)
    if is_loaded(digest):
        return
    refuse_other_module(path)
    code = compile_source(path, source)
    before = user_defined()
    with all_or_nothing(), importing(path) as module:
        setattr(module, EXECUTED, digest)
        run_module(code, module, path)
        new = user_defined() - before
        if not new:
            advice = "Call one of `seqloom.register` in it, such as @seqloom.register.cell('mine')"
            raise UserError("registers nothing", advice, location=path, code="code-registers-nothing")
    parts_by_content[digest] = new


def is_loaded(digest: str) -> bool:
    """Whether what a file with this content registers is there already: named before, or imported by another file."""
    registered = user_defined()
    if digest in parts_by_content and parts_by_content[digest] <= registered:
        return True
    origins = (names.origin(name) for names, name in registered)
    return any(origin is not None and origin.sha256 == digest for origin in origins)


def refuse_name(path: Path) -> None:
    """A run records the file's name, in one line."""
    if not path.name.isprintable():
        raise UserError("the name of this file has invisible characters", "Rename it", location=path, code="code-name")


def read_source(path: Path) -> bytes:
    """The file's content, in UTF-8."""
    try:
        with open_regular(path) as stream:
            source = stream.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        advice = "Check the name: --code takes a Python file"
        raise UserError("there is no such file", advice, location=path, code="code-missing") from None
    except NotRegular:
        what = "is a folder" if path.is_dir() else "is not a plain file"
        advice = "Name a Python file"
        raise UserError(what, advice, location=path, code="code-not-a-file") from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UserError(f"can't be read ({reason})", "Allow it", location=path, code="code-unreadable") from None
    if len(source) > LARGEST:
        what = f"more than {LARGEST:,} bytes, too large for Python code"
        raise UserError(what, "Name a Python file", location=path, code="code-too-large")
    try:
        source.decode()
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        advice = "Save it as UTF-8, or name a Python file"
        raise UserError("not UTF-8", advice, location=f"{path}:{line}", code="code-not-utf8") from None
    return source


def refuse_run_folder(path: Path) -> None:
    """A run may come from a stranger."""
    real = path.resolve()
    folder = path.parent.resolve()
    for each in (*real.parents, folder, *folder.parents):
        if (each / MANIFEST).exists():
            what = f"lies in a run's folder ({each}), and code is never loaded from a run"
            raise UserError(what, "Read it, and copy it elsewhere", location=path, code="code-in-run")


def refuse_other_module(path: Path) -> None:
    """The file becomes the module of its name, so no other module may have it."""
    name, folder = path.stem, path.parent.resolve()
    if name in sys.modules:
        other = getattr(sys.modules[name], "__file__", None) or "built in"
    else:
        spec = PathFinder.find_spec(name, [each for each in sys.path if Path(each).resolve() != folder])
        other = spec.origin if spec is not None and spec.origin is not None else str(path)
    if Path(other).resolve() != path.resolve():
        what = f"its name is that of another module, {name} ({other})"
        raise UserError(what, "Rename the file", location=path, code="code-name-taken")


def compile_source(path: Path, source: bytes) -> CodeType:
    """The file's code."""
    try:
        return compile(source, str(path.absolute()), "exec", dont_inherit=True)
    except SyntaxError as error:
        where, why = f"{path}:{error.lineno}" if error.lineno else str(path), error.msg
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes, too many brackets
        where, why = str(path), str(error) or "too deeply nested"
    raise UserError(f"does not parse as Python ({why})", "Correct it", location=where, code="code-syntax") from None


@contextmanager
def importing(path: Path) -> Iterator[ModuleType]:
    """Within: the file's module, not yet run, is imported, and its folder is first in the import path.

    After an error neither the module nor its neighbors are imported.
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
        for each in neighbors(file.parent, set(sys.modules) - set(before)) | {name}:
            sys.modules.pop(each, None)
        sys.modules.update({name: before[name]} if name in before else {})
        raise
    finally:
        with suppress(ValueError):
            sys.path.remove(folder)


def neighbors(folder: Path, modules: Set[str]) -> set[str]:
    """Those of these modules that lie in the folder, with the modules of a package that does."""
    files = {each: getattr(sys.modules[each], "__file__", None) for each in modules if "." not in each}
    tops = {each for each, file in files.items() if file and folder in (Path(file).parent, Path(file).parent.parent)}
    return {each for each in modules if each.partition(".")[0] in tops}


def run_module(code: CodeType, module: ModuleType, path: Path) -> None:
    """Run the code of a module; what it raises is one sentence with the line of this file, and its cause."""
    try:
        exec(code, vars(module))
    except (PartError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: only the command line ends the command
        where = line_in({code.co_filename}, error) or str(path)
        if isinstance(error, SeqloomError):
            problem = error.template
            message = f"{problem.location}: {problem.message}" if problem.location else problem.message
            raise UserError.of(replace(problem, location=where, message=message)) from error
        what = f"importing it raised {describe_exception(error)}"
        advice = "Correct it (SEQLOOM_DEBUG=1 shows the traceback)"
        raise UserError(what, advice, location=where, code="code-raises") from error
