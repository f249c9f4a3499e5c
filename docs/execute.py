"""Run the python blocks of a page from top to bottom, in one namespace, as its reader would.

    python docs/execute.py docs/tour/*.md

runs each page in its own folder, so that what it saves in `pictures/` lies beside it. The tests run every page too, in
a temporary folder.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import matplotlib
import torch
from markdown_it import MarkdownIt
from matplotlib import pyplot

matplotlib.use("Agg")


@contextlib.contextmanager
def reproducible() -> Iterator[None]:
    """The same code draws the same bytes: numbers, identifiers and date within an SVG are fixed."""
    torch.manual_seed(0)
    with matplotlib.rc_context({"svg.hashsalt": "seqloom"}), patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):
        yield
    pyplot.close("all")


def blocks(page: Path) -> Iterator[str]:
    """Each python block, below as many empty lines as stand above it in the page: a traceback's line is the page's."""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.map and token.info.split()[:1] == ["python"]:
            yield "\n" * (token.map[0] + 1) + token.content


def execute(page: Path, folder: Path) -> None:
    """Run a page's blocks in `folder`, which gets a `pictures/` to save in."""
    page, namespace = page.resolve(), {"__name__": "__main__"}
    (folder / "pictures").mkdir(exist_ok=True)
    with contextlib.chdir(folder), reproducible():
        for block in blocks(page):
            exec(compile(block, str(page), "exec"), namespace)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name)
        execute(Path(name), Path(name).parent)
