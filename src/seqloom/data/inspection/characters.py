"""Characters that are seldom meant: what a wrong conversion leaves, what can't be seen, what is written in two ways."""

import re
import unicodedata

from seqloom.data.examples import Place
from seqloom.data.inspection.findings import Kind
from seqloom.data.inspection.gathered import Gathered, Tally
from seqloom.data.wording import counted

# What the bytes 80 to BF become when UTF-8 is read as Windows-1252 or Latin-1, but for quotes and dashes, which may
# well follow a letter.
BYTE = (
    "\x80-\xbf\u20ac\u201a\u0192\u201e\u2020\u2021\u02c6\u2030\u0160\u2039"
    "\u0152\u017d\u2022\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
)
TAGS = "a|b|br|p|i|u|em|strong|div|span|li|ul|ol|img|h[1-6]|hr|table|tr|td|th|font|script|style|sup|sub|html|body|head"

ODD: dict[str, tuple[Kind, re.Pattern[str], str, str]] = {
    "control": (
        "warning",
        re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"),
        "a control character",
        "Remove it, or convert the file from its real encoding",
    ),
    "lost": (
        "warning",
        re.compile("\ufffd"),
        "U+FFFD, which a conversion writes for what it could not read",
        "Convert from the original again",
    ),
    "private": (
        "warning",
        re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]"),
        "a character of private use, which has no meaning of its own",
        "Replace it by what it was meant to be",
    ),
    "mojibake": (
        "warning",
        re.compile(f"[ÃÂ][{BYTE}]|â€|â\x80|ðŸ"),
        "UTF-8 that was read as another encoding ('Ã©' for 'é')",
        "Convert from the original again, or repair it (the package ftfy does)",
    ),
    "zero width": (
        "note",
        re.compile(
            "[\u200b\u2060\ufeff\xad\u200e\u200f\u202a-\u202e\u2066-\u2069]|(?<=[\0-\u024f])[\u200c\u200d]"
        ),  # joiners mean something in other scripts, and between emoji
        "a character that can't be seen (zero width, soft hyphen, or a mark of direction)",
        "Remove it unless it is meant",
    ),
    "space": (
        "note",
        re.compile("[\xa0\u2007\u202f]"),
        "a non-breaking space",
        "Nothing to do, if it is meant; a character model sees it as another character than a space",
    ),
    "markup": (
        "note",
        re.compile(
            rf"</?(?:{TAGS})(?:\s[^<>]{{0,300}})?/?>|&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{{2,5}});", re.IGNORECASE
        ),
        "HTML (tags such as <br>, or &amp; and the like)",
        "Remove the markup unless it is meant",
    ),
}

ANY = re.compile(
    "[<&\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xa0\xad\u2007\u202f\ufffdÃÂâð\u200b-\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069\ue000-\uf8ff\U000f0000-\U0010fffd]"
)


class Odd:
    """How many texts (or lines) have each kind of odd character, and how many are written in which normal form."""

    def __init__(self) -> None:
        self.tallies = {name: Tally() for name in ODD}
        self.decomposed = Tally()
        self.composed = 0

    def add(self, text: str, place: Place) -> None:
        """One more text."""
        if ANY.search(text):
            for name, (_, pattern, _, _) in ODD.items():
                if pattern.search(text):
                    self.tallies[name].add(place)
        if not text.isascii():
            self._normal(text, place)

    def _normal(self, text: str, place: Place) -> None:
        if not unicodedata.is_normalized("NFC", text):
            self.decomposed.add(place)
        elif not unicodedata.is_normalized("NFD", text):
            self.composed += 1

    def tell(self, noun: str, found: Gathered) -> None:
        """A finding for each kind."""
        for name, (kind, _, what, do) in ODD.items():
            tally = self.tallies[name]
            found.add(kind, tally, f"{having(tally.count, noun)} {what}", do)
        apart = self.decomposed
        if self.composed:
            what = (
                f"accents are written apart (NFD) in {counted(apart.count, noun)} and as one (NFC) in {self.composed:,}"
            )
            found.add("warning", apart, what, "Write all in one form, for example with `uconv -x nfc`")
        else:
            what = f"{having(apart.count, noun)} accents written apart from their letters (NFD)"
            found.add("note", apart, what, "Nothing to do, if later texts will be the same; most are NFC")


def having(count: int, noun: str) -> str:
    """So many have.

    >>> having(1, "text"), having(2, "line")
    ('1 text has', '2 lines have')
    """
    return f"{counted(count, noun)} {'has' if count == 1 else 'have'}"
