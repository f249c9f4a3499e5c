"""Run the code of a page from top to bottom, as its reader would.

    python docs/execute.py docs/tour/*.md

runs each page in a temporary folder, and copies what it saves in `pictures/` beside the page. The tests run every page
too.

python   Runs, all in one namespace. A block whose first line is a comment with the name of a file, `# my_cell.py`, is
         written to that file instead; blocks of one name follow each other in it.
toml     With such a first line it is written to a file too.
sh       Commands of seqloom, which run in this process; a command that fails is an error.
text     Directly after an sh block it quotes lines of what the commands printed, numbers aside.
py       Is not run: it quotes the package, word for word (indentation aside).
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

import matplotlib
import torch
from markdown_it import MarkdownIt
from matplotlib import pyplot

from seqloom.cli.main import main
from seqloom.core.registry import user_defined_parts

matplotlib.use("Agg")

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "seqloom"
FILE = re.compile(r"# ([\w-]+\.(?:py|toml))\n")


class Block(NamedTuple):
    """A block of code on a page.

    line: of the page, of its fence; its code begins on the next
    after: the language of the block before it, if no heading or text is between them
    """

    language: str
    code: str
    line: int
    after: str


def blocks(page: Path) -> list[Block]:
    """Every block of code on the page."""
    found: list[Block] = []
    before = ""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.map:
            language = (token.info.split() or [""])[0]
            found.append(Block(language, token.content, token.map[0] + 1, before))
            before = language
        elif token.type == "inline":
            before = ""
    return found


def runs(page: Path) -> bool:
    """Whether a page has code that runs."""
    return any(block.language in ("python", "sh") for block in blocks(page))


@contextlib.contextmanager
def reproducible() -> Iterator[None]:
    """The same code draws the same bytes, in one look: numbers, identifiers and date within an SVG are fixed."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # sums in one order
    look = matplotlib.rc_params_from_file(HERE / "pictures.mplstyle", use_default_template=False)
    with matplotlib.rc_context({**look, "svg.hashsalt": "seqloom"}), patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):
        yield
    pyplot.close("all")


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Within: the folder is the current one, and modules are imported from it. After: they, and the parts that were
    registered, are forgotten.
    """
    parts, modules = user_defined_parts(), set(sys.modules)
    with contextlib.chdir(folder), patch.object(sys, "path", [str(folder), *sys.path]):
        try:
            yield
        finally:
            for names, name in user_defined_parts() - parts:
                names.remove(name)
            for name in set(sys.modules) - modules:
                if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                    del sys.modules[name]


def execute(page: Path, folder: Path) -> None:
    """Run the blocks of a page in `folder`, which gets a `pictures/` to save in."""
    page, folder = page.resolve(), folder.resolve()
    namespace: dict[str, object] = {"__name__": "__main__"}
    written: set[str] = set()
    printed = ""
    (folder / "pictures").mkdir(exist_ok=True)
    with working_in(folder), reproducible():
        for block in blocks(page):
            where, named = f"{page}:{block.line}", FILE.match(block.code)
            if block.language in ("python", "toml") and named:
                with Path(named[1]).open("a" if named[1] in written else "w", encoding="utf-8") as file:
                    file.write(block.code)
                written.add(named[1])
            elif block.language == "python":  # below empty lines, so that a traceback's line is the page's
                exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)
            elif block.language == "sh":
                printed = run_commands(where, block.code)
            elif block.language == "text" and block.after == "sh":
                check_output(where, block.code, printed)
            elif block.language == "py":
                check_quote(where, block.code)


def run_commands(where: str, code: str) -> str:
    """Run commands of seqloom one after another; what they print."""
    output = io.StringIO()
    for line in code.replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line, comments=True) or [""]
        if program not in ("seqloom", ""):
            raise ValueError(f"{where}: {program} is no command that a page may run")
        with contextlib.redirect_stdout(output):
            ended = main(words) if program else 0
        if ended:
            raise ValueError(f"{where}: exit code {ended}: {line}")
    print(output.getvalue(), end="")
    return output.getvalue()


def check_output(where: str, quote: str, printed: str) -> None:
    """Each line of the quote is one of those printed, if numbers and white space are left out."""
    lines = {comparable(line) for line in printed.splitlines()}
    for line in quote.splitlines():
        if comparable(line) not in lines:
            raise ValueError(f"{where}: the commands did not print this:\n{line}\nThey printed:\n{printed}")


def comparable(line: str) -> str:
    """A line without what differs from run to run.

    >>> comparable("run_a  0.974  3 MiB"), comparable("─────")
    ('run_a # # MiB', '─')
    """
    return " ".join(re.sub(r"\d[\d.,:]*", "#", re.sub("─+", "─", line)).split())


@cache
def sources() -> list[str]:
    """Of the package, file by file."""
    return [path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))]


def check_quote(where: str, quote: str) -> None:
    """What a page quotes is what the package says."""
    indented = [textwrap.indent(quote.strip("\n"), " " * width) + "\n" for width in (0, 4, 8, 12)]
    if not any(text in source for text in indented for source in sources()):
        raise ValueError(f"{where}: this is not in the package any more, word for word:\n{quote}")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name)
        with TemporaryDirectory() as folder:
            execute(Path(name), Path(folder))
            shutil.copytree(Path(folder) / "pictures", Path(name).parent / "pictures", dirs_exist_ok=True)
