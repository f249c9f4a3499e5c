"""HTML and SVG elements as text."""

from seqloom.views.format import escaped

# Elements that HTML does not let end in />.
_PAIRED = {"p", "td", "th", "div", "span", "pre", "code", "dd", "dt", "script", "style", "section", "title"}


def element(name: str, *content: str, **attributes: str | float) -> str:
    """`<name attributes>content</name>`. Attributes are escaped here; content must be, by `escaped` or `element`.

    A trailing underscore avoids a Python keyword; an underscore within is a hyphen.

    >>> element("line", x1=0.5, class_="rule", aria_label='a "b"')
    '<line x1="0.5" class="rule" aria-label="a &quot;b&quot;"/>'
    >>> element("p", escaped("1 < 2"))
    '<p>1 &lt; 2</p>'
    """
    pairs, inside = "", "".join(content)
    for key, value in attributes.items():
        text = escaped(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
        pairs += f' {key.rstrip("_").replace("_", "-")}="{text}"'
    return f"<{name}{pairs}>{inside}</{name}>" if inside or name in _PAIRED else f"<{name}{pairs}/>"


def label(text: str, x: float, y: float, anchor: str = "start", class_: str = "") -> str:
    """Text in a drawing."""
    attributes = {"class_": class_} if class_ else {}
    return element("text", escaped(text), x=x, y=y, text_anchor=anchor, **attributes)


def tooltip(text: str) -> str:
    """A title, which browsers show when the pointer is over the parent element."""
    return element("title", escaped(text))


def text_width(text: str, size: float = 12) -> float:
    """The approximate width of a text in pixels, since the font is known only to the browser."""
    widths = (
        1.0 if ord(letter) > 0x2E7F else 0.72 if letter.isupper() else 0.3 if letter in " .,:;il|'" else 0.61
        for letter in text
    )
    return sum(widths) * size
