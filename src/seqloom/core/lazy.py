"""Modules that import a name only when it is used."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def attach(module: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a module: the names that its stub (`.pyi`) imports.

    Type checkers and editors read the stub too. The modules of a package are attributes as well.
    """
    path = Path(file)
    stub = ast.parse(path.with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    sources = {alias.asname or alias.name: (node.module, alias.name) for node in imports for alias in node.names}

    def __getattr__(name: str) -> object:
        source, original = sources.get(name, (None, name))
        if source is not None:
            return getattr(import_module(source), original)
        is_module = (path.parent / f"{name}.py").exists() or (path.parent / name / "__init__.py").exists()
        if path.stem == "__init__" and is_module:
            return import_module(f"{module}.{name}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    names = sorted(sources)
    return __getattr__, lambda: names, names
