"""A page as one HTML file that needs no network: its blocks, its style, and a script for tooltips."""

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias, Union

from seqloom.views import svg
from seqloom.views.figure import Drawing, Figure, Grid, Panels, Table
from seqloom.views.format import escaped
from seqloom.views.svg import element

WIDE, NARROW = 968, 460  # pixels of a full-width drawing on a large screen and on a phone

STYLE = """
*{box-sizing:border-box}
html{font:17px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums;
color:var(--ink);background:var(--paper);-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{max-width:60rem;margin:0 auto;padding:3.5rem 1.5rem 6rem}
h1{font-size:2.1rem;line-height:1.15;font-weight:600;letter-spacing:-.02em;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;font-weight:600;letter-spacing:-.01em;margin:0 0 1.25rem}
p{max-width:42rem;margin:0 0 1rem}
.lead{max-width:none;color:var(--muted);font-size:1.05rem;margin:0}
.status{max-width:none;margin:1.1rem 0 0;padding-left:1.3rem;position:relative}
.status::before{content:"";position:absolute;left:0;top:.5em;width:.6rem;height:.6rem;border-radius:50%;
background:var(--c3)}
.status.warning::before{background:var(--warn)} .status.open::before{background:none;border:2px solid var(--warn)}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.3rem;margin-top:1.6rem;font-size:.85rem}
a{color:var(--c1);text-decoration:none} a:hover{text-decoration:underline}
section{margin-top:2.6rem;padding-top:2.2rem;border-top:1px solid var(--rule)}
figure{margin:0 0 1.8rem;min-width:0}
figcaption{margin-bottom:.7rem;font-size:.9rem;line-height:1.4}
figcaption b{font-weight:600;margin-right:.6em} figcaption span{color:var(--muted)}
.row{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:.6rem 2.4rem;
align-items:start}
.narrow{display:none} .scroll{overflow-x:auto}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:1.4rem 1.5rem;margin:0 0 2rem}
.facts dt{font-size:.82rem;color:var(--muted)} .facts dd{margin:0;font-size:1.7rem;line-height:1.25;font-weight:300;
letter-spacing:-.01em} .facts span{font-size:.82rem;color:var(--muted)}
table{border-collapse:collapse;font-size:.88rem;line-height:1.4}
th{font-weight:400;color:var(--muted);text-align:left;white-space:nowrap}
th,td{padding:.34rem 1.6rem .34rem 0;border-bottom:1px solid var(--rule);vertical-align:top}
th:last-child,td:last-child{padding-right:0} .number{text-align:right}
td{overflow-wrap:anywhere} td.number{white-space:nowrap} tbody tr:last-child td{border-bottom:0}
pre{margin:0;padding:.9rem 1.1rem;overflow:auto;max-height:26rem;border-radius:6px;font-size:.82rem;line-height:1.5;
background:color-mix(in srgb,var(--ink) 4.5%,transparent);white-space:pre-wrap;overflow-wrap:anywhere;
unicode-bidi:isolate}
p code{font-size:.85em;padding:.1em .35em;border-radius:4px;background:color-mix(in srgb,var(--ink) 6%,transparent);
overflow-wrap:anywhere}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
blockquote{margin:0 0 1.1rem;padding:.1rem 0 .1rem 1.1rem;border-left:2px solid var(--rule)}
blockquote p{margin:0 0 .2rem;max-width:none;overflow-wrap:anywhere;white-space:pre-line;unicode-bidi:isolate}
blockquote footer{font-size:.85rem;color:var(--muted);overflow-wrap:anywhere}
.compared{display:flex;gap:1.1rem;align-items:flex-start} .compared img{width:6rem;border-radius:4px;flex:none}
.compared dl{display:grid;grid-template-columns:auto 1fr;gap:.1rem 1.1rem;margin:0 0 .2rem}
.compared dt{color:var(--muted);font-size:.85rem;line-height:1.85} .compared dd{margin:0;overflow-wrap:anywhere;
white-space:pre-line;unicode-bidi:isolate}
ruby{ruby-position:under;margin-right:.15em;white-space:nowrap;overflow-wrap:normal}
rt{font-size:.62em;color:var(--muted);padding:0 .2em}
ruby.wrong{color:var(--warn);font-weight:600} ruby.wrong rt{color:var(--warn);font-weight:400}
mark{background:none;color:var(--warn);font-weight:600}
details{margin:0 0 1.2rem} summary{cursor:pointer;color:var(--muted);font-size:.92rem;margin-bottom:.9rem}
summary:hover{color:var(--ink)}
:focus-visible{outline:2px solid var(--c1);outline-offset:2px}
.tip{position:fixed;z-index:9;pointer-events:none;white-space:pre-line;font-size:.8rem;line-height:1.4;
padding:.35rem .6rem;border-radius:5px;background:var(--ink);color:var(--paper);max-width:20rem}
@media (max-width:44rem){html{font-size:16px} body{padding:1.8rem 1.1rem 4rem} h1{font-size:1.6rem}
.wide{display:none} .narrow{display:block} .figure{font-size:13px} .facts dd{font-size:1.4rem}
.facts{grid-template-columns:repeat(auto-fill,minmax(7.5rem,1fr))}
section{margin-top:1.8rem;padding-top:1.6rem} th,td{padding-right:1.1rem}}
@media print{body{max-width:none;padding:0} nav{display:none} section,figure{break-inside:avoid} pre{max-height:none}}
"""

SCRIPT = """
(() => {
  const tip = document.body.appendChild(document.createElement("div"));
  tip.className = "tip"; tip.hidden = true;
  for (const title of document.querySelectorAll("svg title")) {
    if (title.parentNode.tagName !== "svg") title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  const show = event => {
    const over = event.target.closest && event.target.closest("[data-tip]");
    tip.hidden = !over;
    if (!over) return;
    tip.textContent = over.dataset.tip;
    const x = event.clientX + 14, y = event.clientY + 14;
    tip.style.left = Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (y + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 8 : y) + "px";
  };
  for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();
"""


class Paragraph(NamedTuple):
    text: str


class Facts(NamedTuple):
    """Key figures: name, value, and a remark."""

    items: tuple[tuple[str, str, str], ...]


class Preformatted(NamedTuple):
    """Text with its line breaks: a sample, a config, a command."""

    text: str
    heading: str = ""


class AnnotatedWord(NamedTuple):
    """A word of an example, an annotation below it, and whether the model got it wrong."""

    text: str
    below: str = ""
    wrong: bool = False


class Example(NamedTuple):
    words: tuple[AnnotatedWord, ...]
    line: str  # about the text


class Comparison(NamedTuple):
    """Named texts one below the other, a line about them, and an image (a data URI) to their left."""

    texts: tuple[tuple[str, tuple[AnnotatedWord, ...]], ...]
    line: str
    picture: str = ""


class FullWidth(NamedTuple):
    drawing: Drawing  # as wide as the page


class SideBySide(NamedTuple):
    figures: tuple[Figure, ...]  # side by side if they fit


class Collapsible(NamedTuple):
    """Blocks that are shown when the reader opens them."""

    summary: str
    blocks: tuple["Block", ...]


Block: TypeAlias = Union[  # noqa: UP007 (a name in quotes has no |)
    Paragraph, Facts, Preformatted, Example, Comparison, FullWidth, SideBySide, Collapsible, Figure
]


class PageSection(NamedTuple):
    title: str
    blocks: tuple[Block, ...]


class Status(NamedTuple):
    """The state of a run in a sentence, and the command that continues it."""

    kind: Literal["good", "warning", "open"]
    text: str
    command: str = ""


def page(title: str, lead: str, status: Status | None, sections: Iterable[PageSection]) -> str:
    """The HTML file. All text is escaped, and the content security policy allows no external resources.

    >>> html = page("A run", "classify", None, [PageSection("Scores", (Paragraph("1 < 2"),))])
    >>> "<p>1 &lt; 2</p>" in html, "http" in html.replace("http-equiv", "")
    (True, False)
    """
    sections = list(sections)
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    )
    links = "".join(element("a", escaped(section.title), href=f"#{_anchor(section.title)}") for section in sections)
    head = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escaped(title)}</title>",
        f"<style>{svg.STYLE}{STYLE}</style>",
    )
    command = f" To continue: <code>{escaped(status.command)}</code>" if status and status.command else ""
    header = (
        f"<h1>{escaped(title)}</h1>",
        element("p", escaped(lead), class_="lead"),
        element("p", escaped(status.text), command, class_=f"status {status.kind}") if status else "",
        f'<nav aria-label="sections">{links}</nav>' if len(sections) > 2 else "",
    )
    main = "".join(
        element("section", f"<h2>{escaped(title)}</h2>", *map(block_html, blocks), id=_anchor(title)) + "\n"
        for title, blocks in sections
    )
    return (
        '<!doctype html>\n<html lang="en"><head>\n' + "\n".join(head) + "\n</head><body>\n"
        f"<header>{''.join(header)}</header>\n<main>{main}</main>\n<script>{SCRIPT}</script>\n</body></html>\n"
    )


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def block_html(block: Block) -> str:
    match block:
        case Paragraph():
            return element("p", escaped(block.text))
        case Facts():
            tags = ("dt", "dd", "span")
            facts = [map(element, tags, map(escaped, item)) for item in block.items]
            return element("dl", *(element("div", *fact) for fact in facts), class_="facts")
        case Preformatted():
            heading = element("figcaption", escaped(block.heading)) if block.heading else ""
            # <code>, because HTML drops a newline that directly follows <pre>
            code = f'<pre dir="auto" tabindex="0"><code>{escaped(block.text)}</code></pre>'
            return element("figure", heading, code)
        case Example():
            return f'<blockquote><p dir="auto">{_words(block.words)}</p>{_footer(block.line)}</blockquote>'
        case Comparison():
            image = f'<img alt="" src="{escaped(block.picture)}">' if block.picture else ""
            texts = [
                element("dt", escaped(name)) + f'<dd dir="auto">{_words(words)}</dd>' for name, words in block.texts
            ]
            inside = f"<div><dl>{''.join(texts)}</dl>{_footer(block.line)}</div>"
            return f'<blockquote class="compared">{image}{inside}</blockquote>'
        case FullWidth(drawing):
            wide = element("div", svg.draw(drawing, WIDE), class_="wide")
            narrow = element("div", svg.draw(drawing, NARROW), class_="narrow")
            return element("figure", _caption(drawing), wide, narrow)
        case SideBySide():
            return element("div", *map(_figure, block.figures), class_="row")
        case Collapsible():
            inside = "".join(map(block_html, block.blocks))
            return f"<details><summary>{escaped(block.summary)}</summary>{inside}</details>"
        case _:
            return _figure(block)


def _words(words: tuple[AnnotatedWord, ...]) -> str:
    parts = []
    for text, below, wrong in words:
        if below:
            kind = "wrong" if wrong else "right"
            parts.append(f'<ruby class="{kind}">{escaped(text)}<rt>{escaped(below)}</rt></ruby>')
        else:
            parts.append(element("mark", escaped(text)) if wrong else escaped(text))
    return " ".join(parts)


def _footer(line: str) -> str:
    return element("footer", escaped(line)) if line else ""


def _caption(figure: Figure) -> str:
    more = element("span", escaped(figure.caption)) if figure.caption else ""
    return f"<figcaption><b>{escaped(figure.title)}</b>{more}</figcaption>"


def _figure(figure: Figure) -> str:
    match figure:
        case Table():
            body = element("div", _table(figure), class_="scroll")
        case Grid() | Panels():
            width = svg.preferred_width(figure)
            box = element("div", svg.draw(figure, width), style=f"min-width:min({width}px,{round(width * 0.7)}px)")
            body = element("div", box, class_="scroll", tabindex="0")
        case _:
            body = svg.draw(figure)
    return element("figure", _caption(figure), body)


def _table(table: Table) -> str:
    kinds = ["number" if table.numeric(column) else "words" for column in range(len(table.header))]
    columns = zip(table.header, kinds, strict=True)
    header = [element("th", escaped(name), scope="col", class_=kind) for name, kind in columns]
    rows = [
        "".join(element("td", escaped(cell), class_=kind) for cell, kind in zip(row, kinds, strict=True))
        for row in table.texts()
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{''.join(header)}</tr></thead><tbody>{body}</tbody></table>"
