"""Run the python blocks of a page from top to bottom, in one namespace, as its reader would.

    python docs/execute.py docs/tour/*.md

runs each page in its own folder, so that what it saves in `pictures/` lies beside it. The tests run every page too, in
a temporary folder.

A block marked `py` is not run: it quotes the package, and must stand there word for word (indentation aside).
"""

import contextlib
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import matplotlib
import torch
from markdown_it import MarkdownIt
from matplotlib import pyplot

matplotlib.use("Agg")

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "seqloom"


@contextlib.contextmanager
def reproducible() -> Iterator[None]:
    """The same code draws the same bytes, in one look: numbers, identifiers and date within an SVG are fixed."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # sums in one order
    look = matplotlib.rc_params_from_file(HERE / "pictures.mplstyle", use_default_template=False)
    with matplotlib.rc_context({**look, "svg.hashsalt": "seqloom"}), patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):
        yield
    pyplot.close("all")


def blocks(page: Path, language: str = "python") -> Iterator[str]:
    """Each block in this language, below as many empty lines as stand above it: a traceback's line is the page's."""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.map and token.info.split()[:1] == [language]:
            yield "\n" * (token.map[0] + 1) + token.content


def check_quotes(page: Path) -> None:
    """What the page quotes is what the package says."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))]
    for block in blocks(page, "py"):
        quote = block.strip("\n")
        indented = [textwrap.indent(quote, " " * width) + "\n" for width in (0, 4, 8, 12)]
        if not any(text in source for text in indented for source in sources):
            line = len(block) - len(block.lstrip("\n"))
            raise ValueError(f"{page}:{line}: this is not in the package any more, word for word:\n{quote}")


def execute(page: Path, folder: Path) -> None:
    """Run a page's blocks in `folder`, which gets a `pictures/` to save in."""
    page, namespace = page.resolve(), {"__name__": "__main__"}
    check_quotes(page)
    (folder / "pictures").mkdir(exist_ok=True)
    with contextlib.chdir(folder), reproducible():
        for block in blocks(page):
            exec(compile(block, str(page), "exec"), namespace)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name)
        execute(Path(name), Path(name).parent)
