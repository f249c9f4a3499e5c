"""Figures as text: never wider than the terminal, without control characters."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from seqloom.views import terminal
from seqloom.views.figure import Bars, Curves, Grid, Series
from seqloom.views.terminal import ASCII, UNICODE, charset_of, color_shades, fit
from tests.views.examples import CURVES, GRID, MAP, PANELS, TABLE, Recipe, figures


@given(recipe=figures, width=st.integers(20, 120), ascii_alone=st.booleans())
def test_any_figure_fits_the_width(recipe: Recipe, width: int, ascii_alone: bool) -> None:
    charset = ASCII if ascii_alone else UNICODE
    for line in terminal.draw(recipe(), width, charset=charset):
        assert cell_len(line) <= width
        assert all(ord(letter) >= 0x20 and not 0x7F <= ord(letter) < 0xA0 for letter in line)
        if charset is ASCII:
            assert line.isascii()


def test_curves_are_drawn_in_ascii() -> None:
    line = Curves("Loss", (Series("loss", tuple((float(x), float(x)) for x in range(5))),), x="step", y="loss")
    assert terminal.draw(line, width=24, height=5, charset=ASCII) == [
        "Loss",
        "loss",
        "4 |                  ***",
        "3 |             *****",
        "2 |        *****",
        "1 |   *****",
        "0 |***",
        "  +---------------------",
        "   0              4 step",
    ]


def test_braille_has_all_dots_of_a_cell() -> None:
    points = tuple((float(x), float(y)) for x in (0, 1) for y in ((0, 7) if x == 0 else (7, 0)))
    drawn = "".join(terminal.draw(Curves("", (Series("a", points),), "", ""), width=20, height=3))
    assert any(0x2800 < ord(letter) <= 0x28FF for letter in drawn)
    assert "⡇" in drawn


def test_series_have_different_characters_in_ascii() -> None:
    lines = terminal.draw(CURVES, charset=ASCII)
    assert lines[1] == "loss: * training, o validation"
    assert any("o" in line for line in lines[2:-2])
    assert "^" in lines[-2]


def test_bars_are_drawn_in_ascii() -> None:
    bars = Bars("Support", (("neg", 4.0), ("pos", 2.0), ("none", 0.0)), unit="examples")
    assert terminal.draw(bars, width=20, charset=ASCII)[1:] == ["neg  ############# 4", "pos  ###### 2", "none  0"]


def test_a_grid_has_numbers_where_they_fit() -> None:
    assert terminal.draw(GRID, width=30)[2:] == ["    neg pos", "neg ▓ 5   1", "pos ░ 2 █ 7"]
    names = tuple(f"label {number}" for number in range(40))
    values = tuple(tuple(float(row == column) for column in range(40)) for row in range(40))
    large = Grid("", names, names, values, "gold", "predicted")
    lines = terminal.draw(large, width=60)
    assert lines[-40] == " label 0 █" + 39 * "·"
    assert lines[-37] == " label 3 ···█" + 36 * "·"


def test_an_attention_map_has_vertical_names_above() -> None:
    assert terminal.draw(MAP, width=30)[1:] == [
        "rows: output, columns: source",
        "        ·",
        "        h",
        "        u",
        "        n",
        "        d <",
        "      t r /",
        "      w e s",
        "      o d >",
        " deux ██· ·",
        "·cent ░░▓▓·",
        " </s> · ▒▒▒▒",
    ]


def test_an_attention_map_shrinks_to_the_width() -> None:
    tokens = tuple(f"·token{number}" for number in range(25))
    values = tuple(tuple(float(row == column) for column in range(25)) for row in range(25))
    sentence = Grid("", tokens, tokens, values, "output", "source", cells="shades")
    assert terminal.draw(sentence, width=80)[-1] == "·token24 " + "· " * 24 + "██"
    assert terminal.draw(sentence, width=40)[-1] == "·token24 " + "·" * 24 + "█"
    lines = terminal.draw(sentence, width=30, charset=ASCII)
    assert lines[1].startswith("rows: output, columns: source"[:29])
    assert lines[-25] == " _token0 #" + 20 * "'"


def test_vertical_names_may_have_wide_letters() -> None:
    wide = Grid("", ("a",), ("漢字", "e\u0301a"), ((1.0, 0.0),), "", "", cells="shades")
    assert terminal.draw(wide, width=30)[2:] == ["  漢e\u0301", "  字a", "a ██·"]


def test_panels_are_side_by_side_where_they_fit() -> None:
    assert terminal.draw(PANELS, width=30)[1:] == ["red       disc", "██▒▒      · ·", "▒▒·       · ██"]
    assert terminal.draw(PANELS, width=20)[1:3] == ["red       disc", "██▒▒      · ·"]
    assert len(terminal.draw(PANELS, width=20)) == 4


def test_color_does_not_change_the_text() -> None:
    lines = terminal.draw(MAP, width=30)
    drawn = list(color_shades(lines))
    assert [line.plain for line in drawn] == lines
    assert any(span.style == "#3f8fc4" for span in drawn[-1].spans)


def test_a_table_is_aligned() -> None:
    assert terminal.draw(TABLE, width=40) == [
        "By class",
        "class     F1  support",
        "─────────────────────",
        "neg    0.900       30",
        "a, b   0.875        –",
    ]


def test_a_wide_character_counts_twice() -> None:
    assert fit("漢字漢字", 5) == "漢字…"


def test_the_character_set_depends_on_the_encoding() -> None:
    assert charset_of("utf-8") is UNICODE
    assert charset_of("cp1252") is ASCII
    assert charset_of("no such encoding") is ASCII
