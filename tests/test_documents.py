"""Every python block in README.md and in the docs runs. (Decisions are history: what they quote need not.)"""

from pathlib import Path

import pytest

from docs.execute import blocks, execute

root = Path(__file__).parent.parent
pages = [*root.glob("README.md"), *sorted((root / "docs").rglob("*.md"))]
pages = [page for page in pages if "decisions" not in page.parts and list(blocks(page))]


@pytest.mark.parametrize("page", pages, ids=lambda page: str(page.relative_to(root)))
@pytest.mark.usefixtures("unchecked")  # the shape checks would double its time
def test_the_code_on_the_page_runs(page: Path, tmp_path: Path) -> None:
    execute(page, tmp_path)


def test_a_mistake_is_reported_at_its_line_in_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A page.\n\n```python\nx = 1\n```\n\nMore.\n\n```python\nx += 1\nraise ValueError(x)\n```\n")
    with pytest.raises(ValueError, match="2") as caught:
        execute(page, tmp_path)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == (page, 11)


def test_a_quote_that_the_package_no_longer_says_is_reported_at_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A page.\n\n```py\nhidden = output * torch.tanh(cell)\n```\n")
    execute(page, tmp_path)
    page.write_text("A page.\n\n```py\nhidden = output * torch.sinh(cell)\n```\n")
    with pytest.raises(ValueError, match=r"page\.md:3: this is not in the package any more"):
        execute(page, tmp_path)


def test_the_same_code_draws_the_same_bytes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nfrom matplotlib import pyplot\nimport torch\n"
        "pyplot.figure()\npyplot.plot(torch.randn(9).cumsum(0))\npyplot.savefig('pictures/walk.svg')\n```\n"
    )
    drawn = []
    for _ in range(2):
        execute(page, tmp_path)
        drawn.append((tmp_path / "pictures" / "walk.svg").read_bytes())
    assert drawn[0] == drawn[1]
