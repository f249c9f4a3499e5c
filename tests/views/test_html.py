"""Pages are self-contained, load nothing, and escape all texts."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seqloom.views.format import escaped, one_line, shorten, show_controls, truncate_with_count
from seqloom.views.html import (
    AnnotatedWord,
    Block,
    Collapsible,
    Comparison,
    Example,
    Facts,
    FullWidth,
    PageSection,
    Paragraph,
    Preformatted,
    SideBySide,
    Status,
    block_html,
    page,
)
from tests.views.examples import CURVES, FIGURES, GRID, PICTURE, TABLE, words

VOID = {"meta", "br", "img"}


class Checker(HTMLParser):
    """Fails where tags do not match; collects tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    return checker


def every_block(text: str) -> tuple[Block, ...]:
    return (
        Paragraph(text),
        Facts(((text, text, text),)),
        Preformatted(text, text),
        Example((AnnotatedWord(text), AnnotatedWord(text, text, True), AnnotatedWord(text, wrong=True)), text),
        Comparison((("source", (AnnotatedWord(text), AnnotatedWord(text, wrong=True))),), text),
        FullWidth(CURVES),
        SideBySide((GRID, TABLE)),
        Collapsible(text, (Paragraph(text),)),
        *FIGURES,
    )


PLAIN = page("a", "a", Status("good", "a", "a"), [PageSection("a", every_block("a"))])


@settings(max_examples=6)
@example(text="</script><script>")
@given(text=words | st.just("</style></title></pre></svg><img src=x onerror=alert(1)>'\""))
def test_no_text_becomes_markup(text: str) -> None:
    html = page(text, text, Status("good", text, text), [PageSection(text, every_block(text))])
    html.encode("utf-8")
    checker = read(html)
    assert checker.tags.count("script") == 1
    assert "img" not in checker.tags
    assert not any(name.startswith("on") for name, _ in checker.attributes)
    if text:
        assert checker.tags == read(PLAIN).tags


def test_a_page_loads_nothing() -> None:
    html = page("A run", "lead", None, [PageSection("One", every_block("words")), PageSection("Two", ())])
    checker = read(html)
    assert not {"link", "img", "iframe", "object", "base"} & set(checker.tags)
    assert not {"src", "srcset", "xlink:href", "action"} & {name for name, _ in checker.attributes}
    links = [value or "" for name, value in checker.attributes if name == "href"]
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert not re.search(r"https?:|url\(|@import", html)


def test_the_policy_allows_only_the_script_of_the_page() -> None:
    import base64
    import hashlib

    html = page("A run", "lead", None, [])
    script = re.findall("<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html
    assert "default-src 'none'; img-src data:;" in html


def test_a_page_has_two_color_schemes_and_two_widths() -> None:
    html = page("A run", "lead", None, [PageSection("One", (FullWidth(CURVES),))])
    assert "prefers-color-scheme:dark" in html
    assert "width=device-width" in html
    assert 'viewBox="0 0 968' in html
    assert 'viewBox="0 0 460' in html


def test_links_point_to_sections() -> None:
    html = page("A run", "", None, [PageSection(f"Part {number}", (Paragraph("x"),)) for number in range(3)])
    assert re.findall('href="#([^"]+)"', html) == re.findall('<section id="([^"]+)"', html)


@pytest.mark.parametrize(
    ("block", "html"),
    [
        (Paragraph("a & b"), "<p>a &amp; b</p>"),
        (Collapsible("more", (Paragraph("x"),)), "<details><summary>more</summary><p>x</p></details>"),
        (Preformatted("\n x"), '<figure><pre dir="auto" tabindex="0"><code>\n x</code></pre></figure>'),
        (
            Example((AnnotatedWord("can", "NOUN, not VERB", True), AnnotatedWord("go")), "dev:1"),
            '<blockquote><p dir="auto"><ruby class="wrong">can<rt>NOUN, not VERB</rt></ruby> go</p>'
            "<footer>dev:1</footer></blockquote>",
        ),
    ],
)
def test_blocks_have_their_markup(block: Block, html: str) -> None:
    assert block_html(block) == html


def test_texts_are_beside_their_image() -> None:
    html = block_html(
        Comparison((("caption", (AnnotatedWord("a"), AnnotatedWord("cat", wrong=True))),), "dev:1", PICTURE.uri)
    )
    assert html == (
        f'<blockquote class="compared"><img alt="" src="{PICTURE.uri}"><div><dl><dt>caption</dt>'
        '<dd dir="auto">a <mark>cat</mark></dd></dl><footer>dev:1</footer></div></blockquote>'
    )


def test_a_table_distinguishes_numbers_from_words() -> None:
    html = block_html(TABLE)
    assert '<th scope="col" class="number">F1</th>' in html
    assert '<td class="words">a, b</td><td class="number">0.875</td><td class="number">–</td>' in html


@given(text=words, limit=st.integers(1, 10))
def test_texts_are_escaped_and_shortened(text: str, limit: int) -> None:
    assert "\n" not in one_line(text)
    assert show_controls(show_controls(text)) == show_controls(text)
    assert len(shorten(text, limit)) <= limit
    assert truncate_with_count(text, limit).startswith(text[:limit])
    assert not re.search("[<>\"']", escaped(text))
    escaped(text).encode("utf-8")
