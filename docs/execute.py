"""Run the code of a page from top to bottom, as its reader would.

    python docs/execute.py docs/tour/*.md

runs each page in a temporary folder, and copies the pictures that it saves to `pictures/` in the page's folder. The
tests run every page too. What is done with a block depends on its language:

python   The block is run; all blocks of a page share a namespace. If its first line is a comment with a file name, such
         as `# my_cell.py`, the block is written to that file instead; later blocks with the same name are appended.
toml     A block with such a first line is written to that file.
sh       The block has seqloom commands, which run in this process; a command that fails is an error.
text     Directly after an sh block, each line must equal a line that the commands printed, except for numbers.
py       The block is not run: it must equal lines of the package, except for the indentation.
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

    line: the line of the page on which its fence is; the code begins on the next line
    after: the language of the previous block, if no heading or text is between the two
    """

    language: str
    code: str
    line: int
    after: str


def blocks(page: Path) -> list[Block]:
    """All blocks of code of the page."""
    result: list[Block] = []
    previous = ""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.map:
            language = (token.info.split() or [""])[0]
            result.append(Block(language, token.content, token.map[0] + 1, previous))
            previous = language
        elif token.type == "inline":
            previous = ""
    return result


def runs(page: Path) -> bool:
    """Whether a page has code that runs."""
    return any(block.language in ("python", "sh") for block in blocks(page))


@contextlib.contextmanager
def reproducible() -> Iterator[None]:
    """Fix seed, threads, style, and the identifiers and date of an SVG: the same code draws the same bytes."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # fixes the order of sums
    style = matplotlib.rc_params_from_file(HERE / "pictures.mplstyle", use_default_template=False)
    with matplotlib.rc_context({**style, "svg.hashsalt": "seqloom"}), patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):
        yield
    pyplot.close("all")


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Change to the folder and import modules from it; at the end remove them and the parts that were registered."""
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
    """Run the blocks of a page in `folder`; the page saves its pictures in `folder/pictures`."""
    page, folder = page.resolve(), folder.resolve()
    namespace: dict[str, object] = {"__name__": "__main__"}
    written: set[str] = set()
    printed = ""
    (folder / "pictures").mkdir(exist_ok=True)
    with working_in(folder), reproducible():
        for block in blocks(page):
            where, file_name = f"{page}:{block.line}", FILE.match(block.code)
            if block.language in ("python", "toml") and file_name:
                with Path(file_name[1]).open("a" if file_name[1] in written else "w", encoding="utf-8") as file:
                    file.write(block.code)
                written.add(file_name[1])
            elif block.language == "python":  # after empty lines, so that a traceback has the page's line numbers
                exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)
            elif block.language == "sh":
                printed = run_commands(where, block.code)
            elif block.language == "text" and block.after == "sh":
                check_output(where, block.code, printed)
            elif block.language == "py":
                check_quote(where, block.code)


def run_commands(where: str, code: str) -> str:
    """Run seqloom commands one after another; return what they print."""
    output = io.StringIO()
    for line in code.replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line, comments=True) or [""]
        if program not in ("seqloom", ""):
            raise ValueError(f"{where}: {program} is no command that a page may run")
        with contextlib.redirect_stdout(output):
            exit_code = main(words) if program else 0
        if exit_code:
            raise ValueError(f"{where}: exit code {exit_code}: {line}")
    print(output.getvalue(), end="")
    return output.getvalue()


def check_output(where: str, quote: str, printed: str) -> None:
    """Check that each line of the quote was printed, apart from numbers and white space."""
    lines = {comparable(line) for line in printed.splitlines()}
    for line in quote.splitlines():
        if comparable(line) not in lines:
            raise ValueError(f"{where}: the commands did not print this:\n{line}\nThey printed:\n{printed}")


def comparable(line: str) -> str:
    """The line without what differs between runs.

    >>> comparable("run_a  0.974  3 MiB"), comparable("─────")
    ('run_a # # MiB', '─')
    """
    return " ".join(re.sub(r"\d[\d.,:]*", "#", re.sub("─+", "─", line)).split())


@cache
def sources() -> list[str]:
    """The source of each file of the package."""
    return [path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))]


def check_quote(where: str, quote: str) -> None:
    """Check that the package contains the quote."""
    indented = [textwrap.indent(quote.strip("\n"), " " * width) + "\n" for width in (0, 4, 8, 12)]
    if not any(text in source for text in indented for source in sources()):
        raise ValueError(f"{where}: this is not in the package any more, word for word:\n{quote}")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name)
        with TemporaryDirectory() as folder:
            execute(Path(name), Path(folder))
            shutil.copytree(Path(folder) / "pictures", Path(name).parent / "pictures", dirs_exist_ok=True)
