"""The page of models agrees with the config and with the models that the tasks build."""

import re

import pytest

from docs.models import CHARACTERS, PAGE, WORDS, brief, characters, matrix, parameters, update_tables, words
from seqloom.core.names import SIZES
from seqloom.core.problem import ConfigError
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.registry import TASKS, experiment

page = PAGE.read_text(encoding="utf-8")


def cells(text: str) -> dict[str, list[str]]:
    """A Markdown table: from the first cell of each row to the other cells."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {first.strip("`"): others for first, *others in rows[2:]}


def table_on_page(name: str) -> str:
    (table,) = re.findall(rf"<!-- begin {name} -->\n(.*?)\n<!-- end -->", page, flags=re.DOTALL)
    return str(table)


def test_the_page_is_up_to_date() -> None:
    assert page == update_tables(page), "an architecture, a size or a default has changed: run `python docs/models.py`"


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("task", TASKS)
def test_the_matrix_has_what_the_config_accepts(arch: str, task: str) -> None:
    cell = cells(table_on_page("matrix"))[arch][list(TASKS).index(task)]
    if cell == "yes":
        assert experiment({"task": task, "model": {"arch": arch}}).model.arch == arch
    else:
        assert cell == "no"
        with pytest.raises(ConfigError, match=rf"{arch}.*can"):
            experiment({"task": task, "model": {"arch": arch}})


def test_every_architecture_has_a_row_and_a_paper() -> None:
    assert tuple(cells(matrix())) == tuple(ARCHITECTURES)
    assert all(entry.paper and entry.url.startswith("https://") for entry in ARCHITECTURES.values())


@pytest.mark.parametrize("task", TASKS)
def test_every_supported_architecture_and_size_has_a_count(task: str) -> None:
    supported = [arch for arch, row in cells(table_on_page("matrix")).items() if row[list(TASKS).index(task)] == "yes"]
    counts = cells(table_on_page(task))
    assert list(counts) == supported
    assert all(len(row) == len(SIZES) for row in counts.values())


def test_the_vocabularies_have_the_sizes_on_the_page() -> None:
    assert (len(characters()), len(words())) == (CHARACTERS, WORDS)
    assert f"{CHARACTERS} characters" in page
    assert f"{WORDS:,} words" in page


def test_a_count_follows_from_the_equations() -> None:
    """One LSTM layer has 4 (dim + hidden + 1) hidden parameters, besides embedding and output layer."""
    model = {"arch": "lstm", "dim": 8, "hidden": 16, "depth": 1}
    config = experiment({"task": "language", "model": model})
    assert parameters(config) == 100 * 8 + 4 * (8 + 16 + 1) * 16 + (16 + 1) * 100


@pytest.mark.parametrize(
    ("count", "text"),
    [(999, "1.00 k"), (34_241, "34.2 k"), (999_400, "999 k"), (999_600, "1.00 M"), (20_123_456, "20.1 M")],
)
def test_a_count_has_three_significant_digits(count: int, text: str) -> None:
    assert brief(count) == text
