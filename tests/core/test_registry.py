import pytest

from seqloom.core.problem import UnknownName
from seqloom.core.registry import Registry, unknown

colours = Registry("colour", {"red": 1, "green": 2, "dark-green": 3})


def test_is_a_mapping_in_the_order_given() -> None:
    assert list(colours) == ["red", "green", "dark-green"]
    assert len(colours) == 3
    assert colours["green"] == 2
    assert "blue" not in colours
    assert colours.get("blue") is None


def test_is_closed() -> None:
    with pytest.raises(TypeError):
        colours["blue"] = 4


def test_keeps_no_hold_on_the_dictionary_it_came_from() -> None:
    items = {"a": 1}
    registry = Registry("thing", items)
    items["b"] = 2
    assert list(registry) == ["a"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gren", "unknown colour 'gren'. Did you mean 'green'? Known: dark-green, green, red."),
        ("xyzzy", "unknown colour 'xyzzy'. Known: dark-green, green, red."),
        (7, "unknown colour 7. Known: dark-green, green, red."),
        (None, "unknown colour None. Known: dark-green, green, red."),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_an_unknown_name_is_a_sentence_with_the_nearest_right_one(name: object, sentence: str) -> None:
    with pytest.raises(UnknownName) as caught:
        colours[name]
    assert str(caught.value) == sentence


def test_the_sentence_can_be_had_for_any_list_of_names() -> None:
    message, advice = unknown("cell", "lsmt", ("gru", "lstm"))
    assert (message, advice) == ("unknown cell 'lsmt'", "Did you mean 'lstm'? Known: gru, lstm")
