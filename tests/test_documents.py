"""All code in README.md and in the docs runs, except in decisions, which may quote older code."""

from pathlib import Path

import pytest

import seqloom
from docs.execute import execute, runs
from seqloom.nn import CELLS

root = Path(__file__).parent.parent
pages = [*root.glob("README.md"), *sorted((root / "docs").rglob("*.md"))]
pages = [page for page in pages if "decisions" not in page.parts and runs(page)]


@pytest.mark.parametrize("page", pages, ids=lambda page: str(page.relative_to(root)))
@pytest.mark.usefixtures("unchecked")  # the shape checks would double its time
def test_the_code_on_the_page_runs(page: Path, tmp_path: Path) -> None:
    execute(page, tmp_path)


def test_an_exception_has_its_line_in_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A page.\n\n```python\nx = 1\n```\n\nMore.\n\n```python\nx += 1\nraise ValueError(x)\n```\n")
    with pytest.raises(ValueError, match="2") as caught:
        execute(page, tmp_path)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == (page, 11)


def test_a_quote_that_is_no_longer_in_the_package_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A page.\n\n```py\nh = o * torch.tanh(c)\n```\n")
    execute(page, tmp_path)
    page.write_text("A page.\n\n```py\nh = o * torch.sinh(c)\n```\n")
    with pytest.raises(ValueError, match=r"page\.md:3: this is not in the package any more"):
        execute(page, tmp_path)


FILES = """
```python
# pages_cell.py
import seqloom
from seqloom.nn import GRU
```

More of it:

```python
# pages_cell.py
@seqloom.register.cell("pages")
class Pages(GRU):
    parts = GRU.parts
```

```sh
seqloom list models \\
    --code pages_cell.py  # a command
```

```python
from pages_cell import Pages
assert Pages.__module__ == "pages_cell"
```
"""


def test_a_page_may_write_a_file_and_run_commands_with_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(FILES)
    for folder in ("first", "again"):  # parts and modules of a page are removed after it
        (tmp_path / folder).mkdir()
        execute(page, tmp_path / folder)
        assert "pages" not in CELLS


def test_a_command_that_fails_is_reported_at_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("A page.\n\n```sh\nseqloom list frobs\n```\n")
    with pytest.raises(ValueError, match=r"page\.md:3: exit code 2: seqloom list frobs"):
        execute(page, tmp_path)
    assert "frobs" in capsys.readouterr().err
    page.write_text("```sh\nrm runs\n```\n")
    with pytest.raises(ValueError, match="rm is no command that a page may run"):
        execute(page, tmp_path)


def test_the_output_of_a_command_is_that_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nseqloom --version\n```\n\n```text\nseqloom 9.9.9\n```\n")
    assert seqloom.__version__ != "9.9.9"  # numbers are not compared
    execute(page, tmp_path)
    page.write_text("```sh\nseqloom --version\n```\n\n```text\nsequence 0.1\n```\n")
    with pytest.raises(ValueError, match=r"page\.md:5: the commands did not print this:\nsequence 0\.1\n"):
        execute(page, tmp_path)
    page.write_text("```sh\nseqloom --version\n```\n\nIn other words:\n\n```text\nsequence 0.1\n```\n")
    execute(page, tmp_path)


def test_the_same_code_draws_the_same_bytes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nfrom matplotlib import pyplot\nimport torch\n"
        "pyplot.figure()\npyplot.plot(torch.randn(9).cumsum(0))\npyplot.savefig('pictures/walk.svg')\n```\n"
    )
    files = []
    for _ in range(2):
        execute(page, tmp_path)
        files.append((tmp_path / "pictures" / "walk.svg").read_bytes())
    assert files[0] == files[1]
