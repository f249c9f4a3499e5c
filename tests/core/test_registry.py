import pytest

from seqloom.core.problem import UnknownName
from seqloom.core.registry import Registry, unknown_name

colors = Registry("color", {"red": 1, "green": 2, "dark-green": 3})


def test_a_registry_is_an_ordered_mapping() -> None:
    assert list(colors) == ["red", "green", "dark-green"]
    assert len(colors) == 3
    assert colors["green"] == 2
    assert "blue" not in colors
    assert colors.get("blue") is None


def test_a_registry_is_read_only() -> None:
    with pytest.raises(TypeError):
        colors["blue"] = 4


def test_a_registry_copies_its_dictionary() -> None:
    items = {"a": 1}
    registry = Registry("thing", items)
    items["b"] = 2
    assert list(registry) == ["a"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gren", "unknown color 'gren'. Did you mean 'green'? Known: dark-green, green, red."),
        ("xyzzy", "unknown color 'xyzzy'. Known: dark-green, green, red."),
        (7, "unknown color 7. Known: dark-green, green, red."),
        (None, "unknown color None. Known: dark-green, green, red."),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_an_unknown_name_is_refused_with_a_suggestion(name: object, sentence: str) -> None:
    with pytest.raises(UnknownName) as caught:
        colors[name]
    assert str(caught.value) == sentence


def test_unknown_name_gives_a_message_for_any_list_of_names() -> None:
    message, advice = unknown_name("cell", "lsmt", ("gru", "lstm"))
    assert (message, advice) == ("unknown cell 'lsmt'", "Did you mean 'lstm'? Known: gru, lstm")
