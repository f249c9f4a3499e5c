"""Where a model looked while it wrote: a weight for each written token and each token, or region, of the source."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from pydantic import BaseModel

from seqloom.core.problem import ArgumentError, UserError
from seqloom.views import matplotlib_renderer, svg, terminal
from seqloom.views.figure import Grid, Panels
from seqloom.views.format import escaped
from seqloom.views.html import Section, page
from seqloom.views.picture import Picture
from seqloom.views.terminal import UNICODE, Characters, characters
from seqloom.views.terminal_cells import colored

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure as Plot
    from numpy.typing import NDArray
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

END = "</s>"
SAID = "the darker, the more of a source token went into the one written"
SEEN = "the lighter, the more of a region went into the word"
FINEST = 32  # rows and columns of regions that are drawn; of more, some are drawn as one


@dataclass(frozen=True, eq=False)
class Alignment:
    """weights[i][j]: how much of source token j (or region j, row by row) went into written token i.

    The source is tokens, or `regions` (rows, columns) of a picture, with `image` [height, width, 3] in bytes if it is
    at hand.

    >>> seen = Alignment(("two", " cats"), None, None, ("deux", " chats"), ((0.9, 0.1), (0.2, 0.8)))
    >>> print("\\n".join(seen.terminal(width=30)))
    Attention
    rows: written, columns: source
             ·
             c
           t a
           w t
           o s
      deux ██·
    ·chats ░░██
    """

    source: tuple[str, ...] | None
    regions: tuple[int, int] | None
    image: "NDArray[np.uint8] | None"
    written: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    title: str = "Attention"

    def __post_init__(self) -> None:
        if (self.source is None) == (self.regions is None):
            raise ArgumentError("Alignment", "source", "both or neither", "either tokens or regions", "says")
        if self.regions is not None and min(self.regions) < 1:
            raise ArgumentError("Alignment", "regions", f"{self.regions}", "at least a row and a column", "is")
        width = len(self.source) if self.source is not None else self._shape[0] * self._shape[1]
        if len(self.weights) != len(self.written) or any(len(row) != width for row in self.weights):
            expected = f"{len(self.written)} rows, as many as written tokens, of {width}"
            raise ArgumentError("Alignment", "weights", "another shape", expected)

    @property
    def figure(self) -> Grid | Panels:
        """What to draw: source tokens across and written ones down, or the picture once for each written token."""
        names = tuple(map(piece, self.written))
        if self.source is not None:
            columns = tuple(map(piece, self.source))
            most = max((weight for row in self.weights for weight in row if isfinite(weight)), default=0.0) or 1.0
            shades = tuple(tuple(weight / most for weight in row) for row in self.weights)
            axes = ("written", "source")
            return Grid(self.title, names, columns, self.weights, *axes, shades=shades, caption=SAID, cells="shades")
        rows, across = self._shape
        down, beside = -(-rows // FINEST), -(-across // FINEST)
        panels = tuple(
            blocks([row[start : start + across] for start in range(0, rows * across, across)], down, beside)
            for row in self.weights
        )
        told = SEEN if self.image is not None else SAID
        told += f"; {down} by {beside} regions are drawn as one" if down * beside > 1 else ""
        return Panels(self.title, names, panels, self._picture, told)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.regions or (0, 0)

    @property
    def _picture(self) -> Picture | None:
        if self.image is None:
            return None
        height, width, _ = self.image.shape
        return Picture(height, width, self.image.tobytes())

    def plot(self) -> "Plot":
        """For a paper: matplotlib's figure."""
        return matplotlib_renderer.draw(self.figure)

    def svg(self) -> str:
        """An SVG file."""
        return svg.alone(self.figure)

    def html(self) -> str:
        """A page: one file, offline."""
        words = [joined(tokens) for tokens in (self.source, self.written) if tokens is not None]
        return page(self.title, " → ".join(words), None, [Section("Weights", (self.figure,))])

    def terminal(self, width: int = 80, using: Characters = UNICODE) -> list[str]:
        """Lines of at most `width` columns."""
        return terminal.draw(self.figure, width, using=using)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escaped(self.html())}" style="width:100%;height:32rem;border:0"></iframe>'

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        return colored(self.terminal(options.max_width, characters(options.encoding)))


class Attended(BaseModel):
    """What an answer of predict says of its attention."""

    attention: tuple[tuple[float, ...], ...]
    tokens: tuple[str, ...]
    source_tokens: tuple[str, ...] | None = None
    regions: tuple[int, int] | None = None


def alignment(answer: Mapping[str, object], image: "NDArray[np.uint8] | None" = None) -> Alignment:
    """Of an answer of predict that has its attention; `image` is the picture it is about, if there is one to show.

    >>> seen = alignment({"source_tokens": ["two", "</s>"], "tokens": ["deux"], "attention": [[0.9, 0.1], [0.2, 0.8]]})
    >>> seen.written
    ('deux', '</s>')
    """
    if not answer.get("attention"):
        raise UserError(
            "this answer has no attention", "Ask for it (attention=True, or --show attention), of a model that attends"
        )
    attended = Attended.model_validate(answer)
    weights, written = attended.attention, attended.tokens
    if len(weights) == len(written) + 1:
        written += (END,)
    if attended.regions is not None:
        return Alignment(None, attended.regions, image, written, weights)
    return Alignment(attended.source_tokens, None, None, written, weights)


def blocks(weights: Sequence[Sequence[float]], down: int, across: int) -> tuple[tuple[float, ...], ...]:
    """The weight of each block of so many rows and columns.

    >>> blocks([[1, 2, 3], [4, 5, 6]], 2, 2), blocks([[1, 2, 3]], 1, 1)
    (((12.0, 9.0),), ((1.0, 2.0, 3.0),))
    """
    rows, columns = range(0, len(weights), down), range(0, len(weights[0]), across)
    return tuple(
        tuple(sum((sum(row[left : left + across]) for row in weights[top : top + down]), 0.0) for left in columns)
        for top in rows
    )


def piece(token: str) -> str:
    """A token as a label: a space that belongs to it can be seen.

    >>> piece(" hundred"), piece("four")
    ('·hundred', 'four')
    """
    return token.replace(" ", "·")


def joined(tokens: tuple[str, ...]) -> str:
    """The text of tokens, without the end: pieces with their own spaces, or words.

    >>> joined(("two", " hund", "red", "</s>")), joined(("two", "hundred"))
    ('two hundred', 'two hundred')
    """
    words = tokens[:-1] if tokens[-1:] == (END,) else tokens
    return ("" if any(word.startswith(" ") for word in words) else " ").join(words)
