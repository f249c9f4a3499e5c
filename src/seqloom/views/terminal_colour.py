"""The shades of a figure in colour, for a terminal that has it."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from seqloom.views.terminal_text import UNICODE

BLUE = "#3f8fc4"  # stands out on black and on white


def coloured(lines: Iterable[str]) -> Iterator[Text]:
    """Lines for rich: shades in blue, the ground dim. Without colour they say the same.

    >>> [line.plain for line in coloured(["two ▓▓· "])]
    ['two ▓▓· ']
    """
    for line in lines:
        text = Text(line, no_wrap=True)
        text.highlight_regex(f"[{UNICODE.shades.strip()}]+", BLUE)
        text.highlight_regex(UNICODE.ground.strip(), "dim")
        yield text
