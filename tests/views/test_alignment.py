"""Alignments: built from answers, and drawn in every format."""

from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure as Plot
from rich.cells import cell_len
from rich.console import Console

from seqloom.core.problem import ArgumentError, UserError
from seqloom.views.alignment import Alignment, alignment, join_tokens
from seqloom.views.figure import Grid, Panels
from seqloom.views.terminal import ASCII
from tests.lens.run_folders import peaked
from tests.views.test_html import read

ANSWER = {
    "text": "two hundred and thirty-four",
    "translation": "deux cent trente-quatre",
    "tokens": ["deux", " cent", " trente", "-", "quatre"],
    "source_tokens": ["two", " hundred", " and", " thirty", "-", "four", "</s>"],
    "attention": peaked(7, (0, 1, 3, 4, 5, 6)),
}
CAPTION = {"image": "1.png", "regions": [2, 3], "tokens": ["a", " box"], "attention": peaked(6, (0, 4, 5))}
IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def test_the_alignment_of_a_translation_is_a_grid() -> None:
    attention = alignment(ANSWER)
    assert attention.source == ("two", " hundred", " and", " thirty", "-", "four", "</s>")
    assert attention.output == ("deux", " cent", " trente", "-", "quatre", "</s>")
    figure = attention.figure
    assert isinstance(figure, Grid)
    assert (figure.rows[1], figure.columns[1]) == ("·cent", "·hundred")
    assert figure.darkness()[0][0] == 1
    assert figure.values == attention.weights


def test_the_alignment_of_a_caption_is_drawn_on_its_image() -> None:
    attention = alignment(CAPTION, IMAGE)
    figure = attention.figure
    assert isinstance(figure, Panels)
    assert (figure.names, figure.shape) == (("a", "·box", "</s>"), (2, 3))
    assert figure.weights[1][1][1] == attention.weights[1][4] == max(attention.weights[1])
    assert figure.picture is not None
    assert figure.picture.pixels == IMAGE.tobytes()
    assert "data:image/png" in attention.svg()
    assert "data:image" not in alignment(CAPTION).svg()


def test_a_truncated_answer_has_no_end_token() -> None:
    assert alignment(ANSWER | {"attention": ANSWER["attention"][:5]}).output[-1] == "quatre"


def test_an_image_with_channels_first_in_memory_is_reordered() -> None:
    transposed = np.ascontiguousarray(IMAGE.transpose(2, 0, 1)).transpose(1, 2, 0)
    figure = alignment(CAPTION, transposed).figure
    assert isinstance(figure, Panels)
    assert figure.picture is not None
    assert figure.picture.pixels == IMAGE.tobytes()


@pytest.mark.parametrize("attention", [alignment(ANSWER), alignment(CAPTION, IMAGE), alignment(CAPTION)])
def test_an_alignment_is_drawn_in_every_format(attention: Alignment) -> None:
    assert isinstance(attention.plot(), Plot)
    assert "Attention" in read(attention.html()).text
    assert attention.svg().startswith("<svg")
    assert attention._repr_html_().startswith("<iframe srcdoc=")
    assert max(map(cell_len, attention.terminal(40))) <= 40
    assert all(line.isascii() for line in attention.terminal(40, ASCII))


def test_an_alignment_has_color_where_the_terminal_has() -> None:
    attention = alignment(ANSWER)
    outputs = []
    for system in ("truecolor", None):
        file = StringIO()
        Console(file=file, force_terminal=True, color_system=system, width=80, legacy_windows=False).print(attention)
        outputs.append(file.getvalue())
    assert "\x1b[38;2;63;143;196m██" in outputs[0]
    assert "\x1b" not in outputs[1]
    assert "██" in outputs[1] or "##" in outputs[1]


@pytest.mark.parametrize("answer", [{"tokens": ["a"]}, ANSWER | {"attention": []}])
def test_an_answer_without_attention_is_refused(answer: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"this answer has no attention. Pass attention=True"):
        alignment(answer)


@pytest.mark.parametrize(
    ("source", "regions", "weights", "message"),
    [
        (("a",), (1, 1), ((1.0,),), "either tokens or regions"),
        (None, None, ((1.0,),), "either tokens or regions"),
        (None, (0, 3), ((),), "at least a row and a column"),
        (("a",), None, ((1.0, 0.0),), "1 rows, as many as output tokens, of 1"),
        (None, (1, 2), ((1.0,),), "1 rows, as many as output tokens, of 2"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    source: tuple[str, ...] | None,
    regions: tuple[int, int] | None,
    weights: tuple[tuple[float, ...], ...],
    message: str,
) -> None:
    with pytest.raises(ArgumentError, match=message):
        Alignment(source, regions, None, ("x",), weights)


@given(
    weights=st.lists(st.floats(), min_size=6, max_size=6), tokens=st.lists(st.text(max_size=9), min_size=5, max_size=5)
)
def test_any_weights_and_tokens_can_be_drawn(weights: list[float], tokens: list[str]) -> None:
    rows = (tuple(weights[:3]), tuple(weights[3:]))
    attention = Alignment(tuple(tokens[:3]), None, None, tuple(tokens[3:]), rows)
    read(attention.html())
    assert max(map(cell_len, attention.terminal(30))) <= 30


def test_tokens_are_joined_to_a_text() -> None:
    assert join_tokens(("t", "o", " ", "b", "e")) == "to be"
    assert join_tokens(("They", "are", "</s>")) == "They are"
