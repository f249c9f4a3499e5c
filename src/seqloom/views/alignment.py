"""The attention of a generated text: a weight for each generated token and each source token or image region."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from pydantic import BaseModel

from seqloom.core.problem import ArgumentError, UserError
from seqloom.views import matplotlib_renderer, svg, terminal
from seqloom.views.figure import Grid, Panels
from seqloom.views.format import escaped
from seqloom.views.html import PageSection, page
from seqloom.views.picture import Picture
from seqloom.views.terminal import UNICODE, Charset, charset_of, color_shades

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure as Plot
    from numpy.typing import NDArray
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

END = "</s>"
DARK_CAPTION = "a darker cell is a larger attention weight"
LIGHT_CAPTION = "a lighter region has a larger attention weight"
MAX_REGIONS = 32  # rows and columns that are drawn; more are summed in blocks


@dataclass(frozen=True, eq=False)
class Alignment:
    """weights[i][j]: how much of source token j (or of region j, row by row) went into output token i.

    The source is tokens, or the `regions` (rows, columns) of an image; `image` is [height, width, 3] in bytes.

    >>> translation = Alignment(("two", " cats"), None, None, ("deux", " chats"), ((0.9, 0.1), (0.2, 0.8)))
    >>> print("\\n".join(translation.terminal(width=30)))
    Attention
    rows: output, columns: source
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
    output: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    title: str = "Attention"

    def __post_init__(self) -> None:
        if (self.source is None) == (self.regions is None):
            raise ArgumentError("Alignment", "source", "both or neither", "either tokens or regions")
        rows, columns = self.regions or (1, 1)
        if min(rows, columns) < 1:
            raise ArgumentError("Alignment", "regions", f"{self.regions}", "at least a row and a column", "is")
        width = len(self.source) if self.source is not None else rows * columns
        if len(self.weights) != len(self.output) or any(len(row) != width for row in self.weights):
            expected = f"{len(self.output)} rows, as many as output tokens, of {width}"
            raise ArgumentError("Alignment", "weights", "another shape", expected)

    @property
    def figure(self) -> Grid | Panels:
        """A heat map of output and source tokens; or the image, repeated for each output token."""
        names = tuple(map(visible_spaces, self.output))
        if self.source is not None:
            columns = tuple(map(visible_spaces, self.source))
            largest = max((weight for row in self.weights for weight in row if isfinite(weight)), default=0.0) or 1.0
            shades = tuple(tuple(weight / largest for weight in row) for row in self.weights)
            axes = ("output", "source")
            return Grid(
                self.title, names, columns, self.weights, *axes, shades=shades, caption=DARK_CAPTION, cells="shades"
            )
        rows, width = self.regions or (0, 0)
        down, across = -(-rows // MAX_REGIONS), -(-width // MAX_REGIONS)
        panels = tuple(
            block_sums([row[start : start + width] for start in range(0, rows * width, width)], down, across)
            for row in self.weights
        )
        caption = LIGHT_CAPTION if self.image is not None else DARK_CAPTION
        caption += f"; {down} by {across} regions are drawn as one cell" if down * across > 1 else ""
        image = self.image
        picture = None if image is None else Picture(image.shape[0], image.shape[1], image.tobytes())
        return Panels(self.title, names, panels, picture, caption)

    def plot(self) -> "Plot":
        """The figure in matplotlib."""
        return matplotlib_renderer.draw(self.figure)

    def svg(self) -> str:
        """An SVG file."""
        return svg.standalone(self.figure)

    def html(self) -> str:
        """A page: one file that needs no network."""
        texts = [join_tokens(tokens) for tokens in (self.source, self.output) if tokens is not None]
        return page(self.title, " → ".join(texts), None, [PageSection("Weights", (self.figure,))])

    def terminal(self, width: int = 80, charset: Charset = UNICODE) -> list[str]:
        """Lines of at most `width` columns."""
        return terminal.draw(self.figure, width, charset=charset)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escaped(self.html())}" style="width:100%;height:32rem;border:0"></iframe>'

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        return color_shades(self.terminal(options.max_width, charset_of(options.encoding)))


class _Answer(BaseModel):
    """The attention in an answer of `predict`."""

    attention: tuple[tuple[float, ...], ...]
    tokens: tuple[str, ...]
    source_tokens: tuple[str, ...] | None = None
    regions: tuple[int, int] | None = None


def alignment(answer: Mapping[str, object], image: "NDArray[np.uint8] | None" = None) -> Alignment:
    """The alignment in an answer of `predict`; `image` is the image that the answer describes.

    >>> answer = {"source_tokens": ["two", "</s>"], "tokens": ["deux"], "attention": [[0.9, 0.1], [0.2, 0.8]]}
    >>> alignment(answer).output
    ('deux', '</s>')
    """
    if not answer.get("attention"):
        advice = "Pass attention=True, or --show attention, with a model that has attention"
        raise UserError("this answer has no attention", advice)
    fields = _Answer.model_validate(answer)
    output = fields.tokens + (END,) * (len(fields.attention) == len(fields.tokens) + 1)
    if fields.regions is not None:
        return Alignment(None, fields.regions, image, output, fields.attention)
    return Alignment(fields.source_tokens, None, None, output, fields.attention)


def block_sums(weights: Sequence[Sequence[float]], down: int, across: int) -> tuple[tuple[float, ...], ...]:
    """The sum of each block of `down` rows and `across` columns.

    >>> block_sums([[1, 2, 3], [4, 5, 6]], 2, 2), block_sums([[1, 2, 3]], 1, 1)
    (((12.0, 9.0),), ((1.0, 2.0, 3.0),))
    """
    rows, columns = range(0, len(weights), down), range(0, len(weights[0]), across)
    return tuple(
        tuple(sum((sum(row[left : left + across]) for row in weights[top : top + down]), 0.0) for left in columns)
        for top in rows
    )


def visible_spaces(token: str) -> str:
    """
    >>> visible_spaces(" hundred"), visible_spaces("four")
    ('·hundred', 'four')
    """
    return token.replace(" ", "·")


def join_tokens(tokens: tuple[str, ...]) -> str:
    """The text of tokens, without the end token: subwords that contain their spaces, or words.

    >>> join_tokens(("two", " hund", "red", "</s>")), join_tokens(("two", "hundred"))
    ('two hundred', 'two hundred')
    """
    words = tokens[:-1] if tokens[-1:] == (END,) else tokens
    return ("" if any(word.startswith(" ") for word in words) else " ").join(words)
