"""Packages that import a module only when one of its names is used."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def attach(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    The names are those that the package's `__init__.pyi` imports, which type checkers and editors read too. The modules
    of the package are attributes as well.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    modules = {
        alias.asname or alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def __getattr__(name: str) -> object:
        if name in modules:
            return getattr(import_module(modules[name]), name)
        folder = Path(file).parent
        if (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists():
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    names = sorted(modules)
    return __getattr__, lambda: names, names
