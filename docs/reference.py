"""Write reference.md: every public name on one page, with the first sentence or equation of what it says of itself.

    python docs/reference.py

The tests ask that the page is what this would write now.
"""

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import seqloom
from seqloom.core.registry import Registry

PAGE = Path(__file__).resolve().parent / "reference.md"

# Public, but not imported from `seqloom.nn` itself: the name as one writes it, by the module it stands in.
BESIDE = {
    "seqloom.kernels": ["seqloom.kernels.use"],
    "seqloom.nn.record": ["seqloom.record"],
    "seqloom.api": ["seqloom.train", "seqloom.resume", "seqloom.load"],
    "seqloom.nn.transformer": [
        f"transformer.{name}" for name in ("encoder", "decoder", "cross_decoder", "block", "BASE", "LLAMA")
    ],
}

TOP = """# All names

<!-- Written by docs/reference.py: change the docstrings, not this page. -->

Every public name, by the module that it comes from. All but those with a dot are imported from `seqloom.nn`
(`from seqloom.nn import LSTM, Recurrent`), and so is `transformer`. `help(name)` says more: arguments, shapes.
"""


def modules() -> dict[str, list[str]]:
    """The public names of each module: the imports in the stub of `seqloom.nn`, and those beside."""
    found: dict[str, list[str]] = {}
    stub = Path(seqloom.nn.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found.setdefault(node.module, []).extend(alias.name for alias in node.names)
    for module, names in BESIDE.items():
        found.setdefault(module, []).extend(names)
    return dict(sorted(found.items()))


def says(value: Any) -> str:
    """A function's or a class's first paragraph, a registry's names, the value of a constant."""
    if isinstance(value, Registry):
        return "by name: " + ", ".join(f"`{name}`" for name in value)
    if inspect.isroutine(value) or inspect.isclass(value):
        return escape(first_paragraph(value).rstrip(":"))
    if dataclasses.is_dataclass(value):
        fields = [(field.name, getattr(value, field.name), field.default) for field in dataclasses.fields(value)]
        other = ", ".join(f"{name}={now!r}" for name, now, default in fields if now != default)
        return f"`{type(value).__name__}({other})`"
    return f"`{value!r}`"


def first_paragraph(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def escape(text: str) -> str:
    """Plain text for Markdown: code between backticks stays, addresses become links, and marks are only marks."""
    pieces = re.split(r"(`[^`]*`|https?://[^\s);,]+)", text)
    for i, piece in enumerate(pieces):
        if i % 2:
            pieces[i] = piece if piece.startswith("`") else f"<{piece}>"
        else:
            pieces[i] = re.sub(r"([\\*_\[\]|])", r"\\\1", piece).replace("<", "&lt;")
    return "".join(pieces)


def lines() -> Iterator[str]:
    yield TOP
    for module, names in modules().items():
        yield f"## {escape(first_paragraph(import_module(module))).rstrip('.')}\n\n`{module}`\n"
        for name in names:
            value = getattr(import_module(module), name.rpartition(".")[2])
            yield f"- `{name}`: {says(value)}"
        yield ""


def reference() -> str:
    return "\n".join(lines()).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
