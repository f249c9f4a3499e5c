"""Packages that import nothing until a name is asked for."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def attach(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the one list of its names: the imports in the
    `__init__.pyi` beside it, which type checkers and editors read too. Its modules can be asked for by name as well.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    where = {
        alias.asname or alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def __getattr__(name: str) -> object:
        if name in where:
            return getattr(import_module(where[name]), name)
        if (Path(file).parent / f"{name}.py").exists() or (Path(file).parent / name / "__init__.py").exists():
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    names = sorted(where)
    return __getattr__, lambda: names, names
