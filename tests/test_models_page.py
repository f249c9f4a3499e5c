"""The page of models says what the config accepts and what the tasks build."""

import re

import pytest

from docs.models import CHARACTERS, PAGE, WORDS, brief, characters, filled, matrix, parameters, words
from seqloom.core.names import SIZES
from seqloom.core.problem import ConfigError
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.registry import TASKS, experiment

page = PAGE.read_text(encoding="utf-8")


def cells(text: str) -> dict[str, list[str]]:
    """A Markdown table: the first cell of each row, to the others."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {first.strip("`"): others for first, *others in rows[2:]}


def written(name: str) -> str:
    """What stands on the page under this name."""
    (found,) = re.findall(rf"<!-- begin {name} -->\n(.*?)\n<!-- end -->", page, flags=re.DOTALL)
    return str(found)


def test_the_page_is_up_to_date() -> None:
    assert page == filled(page), "an architecture, a size or a default has changed: run `python docs/models.py`"


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("task", TASKS)
def test_the_matrix_says_what_the_config_accepts(arch: str, task: str) -> None:
    said = cells(written("matrix"))[arch][list(TASKS).index(task)]
    if said == "yes":
        assert experiment({"task": task, "model": {"arch": arch}}).model.arch == arch
    else:
        assert said == "no"
        with pytest.raises(ConfigError, match=rf"{arch}.*can"):
            experiment({"task": task, "model": {"arch": arch}})


def test_every_architecture_has_a_row_and_a_paper() -> None:
    assert tuple(cells(matrix())) == tuple(ARCHITECTURES)
    assert all(each.paper and each.url.startswith("https://") for each in ARCHITECTURES.values())


@pytest.mark.parametrize("task", TASKS)
def test_there_is_a_number_for_every_architecture_that_can_and_every_size(task: str) -> None:
    able = [arch for arch, row in cells(written("matrix")).items() if row[list(TASKS).index(task)] == "yes"]
    counted = cells(written(task))
    assert list(counted) == able
    assert all(len(row) == len(SIZES) for row in counted.values())


def test_the_vocabularies_are_as_large_as_the_page_says() -> None:
    assert (len(characters()), len(words())) == (CHARACTERS, WORDS)
    assert f"{CHARACTERS} characters" in page
    assert f"{WORDS:,} words" in page


def test_a_count_is_that_of_the_equations() -> None:
    """One LSTM layer: 4 (width + hidden + 1) hidden, beside an embedding and an output layer."""
    model = {"arch": "lstm", "dim": 8, "hidden": 16, "depth": 1}
    chosen = experiment({"task": "language", "model": model})
    assert parameters(chosen) == 100 * 8 + 4 * (8 + 16 + 1) * 16 + (16 + 1) * 100


@pytest.mark.parametrize(
    ("count", "told"),
    [(999, "1.00 k"), (34_241, "34.2 k"), (999_400, "999 k"), (999_600, "1.00 M"), (20_123_456, "20.1 M")],
)
def test_a_count_is_told_in_three_digits(count: int, told: str) -> None:
    assert brief(count) == told
