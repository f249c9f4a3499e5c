"""Sections to one HTML file that needs nothing else: no network, no script to be readable, light and dark."""

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, Union

from seqloom.views import svg
from seqloom.views.element import element, text
from seqloom.views.figure import Drawing, Figure, Grid, Panels, Table
from seqloom.views.page_style import SCRIPT, STYLE

WIDE, NARROW = 968, 460  # pixels: a drawing across the page, and the same one on a phone


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain words."""

    text: str


@dataclass(frozen=True)
class Facts:
    """A few numbers that matter: each its name, its value, and a word more."""

    items: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Written:
    """Text as it was written, line breaks and all: a sample, a config, a command."""

    text: str
    heading: str = ""


@dataclass(frozen=True)
class Word:
    """A word of an example, what stands below it, and whether it is wrong."""

    text: str
    below: str = ""
    wrong: bool = False


@dataclass(frozen=True)
class Example:
    """A text, and a line about it."""

    words: tuple[Word, ...]
    line: str


@dataclass(frozen=True)
class Compared:
    """Texts below each other, each after its name, a line about them, and a picture (a data URI) beside them."""

    texts: tuple[tuple[str, tuple[Word, ...]], ...]
    line: str
    picture: str = ""


@dataclass(frozen=True)
class Across:
    """A drawing as wide as the page."""

    drawing: Drawing


@dataclass(frozen=True)
class Row:
    """Figures side by side where there is room."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Folded:
    """Blocks to open when wanted."""

    summary: str
    blocks: tuple["Block", ...]


Block: TypeAlias = Union[Paragraph, Facts, Written, Example, Compared, Across, Row, Folded, Figure]  # noqa: UP007 (a name in quotes has no |)


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Status:
    """How things stand, in a sentence, and a command that goes on from there."""

    kind: Literal["good", "warning", "open"]
    text: str
    command: str = ""


def page(title: str, lead: str, status: Status | None, sections: Iterable[Section]) -> str:
    """The whole file. Every text is escaped; a policy in the page forbids all that it did not bring itself.

    >>> made = page("A run", "classify", None, [Section("Scores", (Paragraph("1 < 2"),))])
    >>> "<p>1 &lt; 2</p>" in made, "http" in made.replace("http-equiv", "")
    (True, False)
    """
    sections = list(sections)
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    )
    links = "".join(element("a", text(section.title), href=f"#{_anchor(section.title)}") for section in sections)
    head = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{text(title)}</title>",
        f"<style>{svg.STYLE}{STYLE}</style>",
    )
    header = (
        f"<h1>{text(title)}</h1>",
        element("p", text(lead), class_="lead"),
        _status(status) if status else "",
        f'<nav aria-label="sections">{links}</nav>' if len(sections) > 2 else "",
    )
    body = "".join(_section(section) for section in sections)
    return (
        '<!doctype html>\n<html lang="en-GB"><head>\n' + "\n".join(head) + "\n</head><body>\n"
        f"<header>{''.join(header)}</header>\n<main>{body}</main>\n<script>{SCRIPT}</script>\n</body></html>\n"
    )


def _status(status: Status) -> str:
    command = f" To continue: <code>{text(status.command)}</code>" if status.command else ""
    return element("p", text(status.text), command, class_=f"status {status.kind}")


def _section(section: Section) -> str:
    heading = f"<h2>{text(section.title)}</h2>"
    return element("section", heading, *map(block_html, section.blocks), id=_anchor(section.title)) + "\n"


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def block_html(block: Block) -> str:
    """One block as HTML."""
    match block:
        case Paragraph():
            return element("p", text(block.text))
        case Facts():
            return element("dl", *(_fact(*item) for item in block.items), class_="facts")
        case Written():
            heading = element("figcaption", text(block.heading)) if block.heading else ""
            # an element, not a parsed newline: HTML drops a newline that directly follows <pre>
            return element("figure", heading, f'<pre dir="auto" tabindex="0"><code>{text(block.text)}</code></pre>')
        case Example():
            words = " ".join(map(_word, block.words))
            line = element("footer", text(block.line)) if block.line else ""
            return f'<blockquote><p dir="auto">{words}</p>{line}</blockquote>'
        case Compared():
            return _compared(block)
        case Across():
            return _across(block.drawing)
        case Row():
            return element("div", *map(_figure, block.figures), class_="row")
        case Folded():
            inside = "".join(map(block_html, block.blocks))
            return f"<details><summary>{text(block.summary)}</summary>{inside}</details>"
        case _:
            return _figure(block)


def _fact(name: str, value: str, more: str) -> str:
    return element("div", element("dt", text(name)), element("dd", text(value)), element("span", text(more)))


def _word(word: Word) -> str:
    kind = "wrong" if word.wrong else "right"
    if not word.below:
        return element("mark", text(word.text)) if word.wrong else text(word.text)
    return f'<ruby class="{kind}">{text(word.text)}<rt>{text(word.below)}</rt></ruby>'


def _compared(block: Compared) -> str:
    image = f'<img alt="" src="{text(block.picture)}">' if block.picture else ""
    pairs = [
        element("dt", text(name)) + f'<dd dir="auto">{" ".join(map(_word, words))}</dd>' for name, words in block.texts
    ]
    line = element("footer", text(block.line)) if block.line else ""
    return f'<blockquote class="compared">{image}<div><dl>{"".join(pairs)}</dl>{line}</div></blockquote>'


def _caption(figure: Figure) -> str:
    more = element("span", text(figure.caption)) if figure.caption else ""
    return f"<figcaption><b>{text(figure.title)}</b>{more}</figcaption>"


def _figure(figure: Figure) -> str:
    if isinstance(figure, Table):
        return element("figure", _caption(figure), element("div", _table(figure), class_="scroll"))
    if isinstance(figure, Grid | Panels):
        width = svg.width_wanted(figure)
        drawn = element("div", svg.draw(figure, width), style=f"min-width:min({width}px,{round(width * 0.7)}px)")
        return element("figure", _caption(figure), element("div", drawn, class_="scroll", tabindex="0"))
    return element("figure", _caption(figure), svg.draw(figure))


def _across(drawing: Drawing) -> str:
    wide = element("div", svg.draw(drawing, WIDE), class_="wide")
    narrow = element("div", svg.draw(drawing, NARROW), class_="narrow")
    return element("figure", _caption(drawing), wide, narrow)


def _table(table: Table) -> str:
    kinds = ["number" if table.numeric(column) else "words" for column in range(len(table.header))]
    pairs = zip(table.header, kinds, strict=True)
    header = "".join(element("th", text(name), scope="col", class_=kind) for name, kind in pairs)
    rows = [
        "".join(element("td", text(table.text(row, column)), class_=kind) for column, kind in enumerate(kinds))
        for row in range(len(table.rows))
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"
