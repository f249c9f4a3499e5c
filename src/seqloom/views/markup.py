"""Elements of a page or a drawing, written as text."""

from seqloom.views.format import escaped


def element(name: str, *inside: str, **attributes: str | float) -> str:
    """`<name attributes>inside</name>`. Attributes are escaped; what is inside must be, by `text` or `element`.

    A trailing underscore is for Python's own words, one within is a hyphen.

    >>> element("line", x1=0.5, class_="rule", aria_label='a "b"')
    '<line x1="0.5" class="rule" aria-label="a &quot;b&quot;"/>'
    >>> element("p", text("1 < 2"))
    '<p>1 &lt; 2</p>'
    """
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    content = "".join(inside)
    return f"<{name}{written}>{content}</{name}>" if content or name in _PAIRED else f"<{name}{written}/>"


text = escaped

_PAIRED = {"p", "td", "th", "div", "span", "pre", "code", "dd", "dt", "script", "style", "section", "title"}


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escaped(value)
    return f"{value:.1f}".removesuffix(".0")


def label(words: str, x: float, y: float, anchor: str = "start", class_: str = "") -> str:
    """Words in a drawing."""
    kind = {"class_": class_} if class_ else {}
    return element("text", text(words), x=x, y=y, text_anchor=anchor, **kind)


def width_of(words: str, size: float = 12) -> float:
    """About how wide words are, in pixels: a drawing can't ask the browser."""
    return sum(_wide(letter) for letter in words) * size


def _wide(letter: str) -> float:
    if ord(letter) > 0x2E7F:
        return 1.0
    return 0.72 if letter.isupper() else 0.3 if letter in " .,:;il|'" else 0.61
