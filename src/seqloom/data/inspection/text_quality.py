"""The quality of texts: their lengths, what would be cut off, and characters that are seldom meant."""

import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from seqloom.core.problem import KeyName, Problem
from seqloom.core.wording import counted
from seqloom.data.inspection.findings import Inspection, Kind, Tally, percent
from seqloom.data.records import Location

TOKEN = re.compile(r"\n|\w+(?:['’-]\w+)*|[^\w\s]")  # approximates the word tokenizer
OUTLIER_RATIO = 20  # times the 99th percentile: a longer text may be a mistake
MIN_OUTLIER = 1000  # characters; a shorter text is never reported as too long
MANY_CUT = 0.01  # share of the texts that are cut above which the finding is a warning

# The characters that the bytes 80 to BF become when UTF-8 is read as Windows-1252 or Latin-1, except quotes and dashes,
# which often follow a letter.
MISREAD_BYTE = (
    "\x80-\xbf\u20ac\u201a\u0192\u201e\u2020\u2021\u02c6\u2030\u0160\u2039"
    "\u0152\u017d\u2022\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
)
TAGS = "a|b|br|p|i|u|em|strong|div|span|li|ul|ol|img|h[1-6]|hr|table|tr|td|th|font|script|style|sup|sub|html|body|head"
RECONVERT = "Convert from the original again"


class OddCharacter(NamedTuple):
    kind: Kind
    pattern: str
    characters: str
    advice: str


ODD_CHARACTERS = {
    "control": OddCharacter("warning", "[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]",
        "a control character", "Remove it, or convert the file from its real encoding"),
    "lost": OddCharacter("warning", "\ufffd",
        "U+FFFD, which a conversion writes in place of bytes that it could not read", RECONVERT),
    "private": OddCharacter("warning", "[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]",
        "a character of private use, which has no meaning of its own", "Replace it with the intended character"),
    "mojibake": OddCharacter("warning", f"[ÃÂ][{MISREAD_BYTE}]|â€|â\x80|ðŸ",
        "UTF-8 that was read as another encoding ('Ã©' for 'é')", f"{RECONVERT}, or repair it (the package ftfy does)"),
    # Joiners are legitimate in other scripts and between emoji.
    "zero-width": OddCharacter("note",
        "[\u200b\u2060\ufeff\xad\u200e\u200f\u202a-\u202e\u2066-\u2069]|(?<=[\0-\u024f])[\u200c\u200d]",
        "a character that can't be seen (zero width, soft hyphen, or a mark of direction)",
        "Remove it unless it is intended"),
    "space": OddCharacter("note", "[\xa0\u2007\u202f]", "a non-breaking space",
        "Nothing to do if it is intended; a character model distinguishes it from a space"),
    "markup": OddCharacter("note",
        rf"(?i)</?(?:{TAGS})(?:\s[^<>]{{0,300}})?/?>|&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{{2,5}});",
        "HTML (tags such as <br>, or &amp; and the like)", "Remove the markup unless it is intended"),
}  # fmt: skip
PATTERNS = {name: re.compile(odd.pattern) for name, odd in ODD_CHARACTERS.items()}
ANY_ODD_CHARACTER = re.compile(
    "[<&\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xa0\xad\u2007\u202f\ufffdÃÂâð\u200b-\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069\ue000-\uf8ff\U000f0000-\U0010fffd]"
)


class OddCharacters:
    """Counts texts (or lines) with each kind of odd character, and those in each Unicode normal form."""

    def __init__(self) -> None:
        self.tallies = {name: Tally() for name in ODD_CHARACTERS}
        self.decomposed = Tally()
        self.composed = 0

    def add(self, text: str, location: Location) -> None:
        if ANY_ODD_CHARACTER.search(text):
            for name, pattern in PATTERNS.items():
                if pattern.search(text):
                    self.tallies[name].add(location)
        if text.isascii():
            return
        if not unicodedata.is_normalized("NFC", text):
            self.decomposed.add(location)
        elif not unicodedata.is_normalized("NFD", text):
            self.composed += 1

    def report(self, noun: str, inspection: Inspection) -> None:
        for name, odd in ODD_CHARACTERS.items():
            tally = self.tallies[name]
            message = f"{counted(tally.count, noun)} {'has' if tally.count == 1 else 'have'} {odd.characters}"
            inspection.add(odd.kind, tally, Problem(f"odd-{name}", message, odd.advice))
        decomposed, texts = self.decomposed, counted(self.decomposed.count, noun)
        if self.composed:
            message = f"accents are decomposed (NFD) in {texts} and composed (NFC) in {self.composed:,}"
            advice = "Convert all to one form, for example with `uconv -x nfc`"
            inspection.add("warning", decomposed, Problem("mixed-accents", message, advice))
        else:
            verb = "has" if decomposed.count == 1 else "have"
            message = f"{texts} {verb} decomposed accents (NFD)"
            advice = "Nothing to do if the texts to predict have the same form; most texts are NFC"
            inspection.add("note", decomposed, Problem("accents-apart", message, advice))


class Lengths:
    """Counts of lengths in one unit.

    >>> lengths = Lengths()
    >>> for n in (1, 2, 2, 3, 9):
    ...     lengths.add(n)
    >>> lengths.describe()
    'median 2, 95th percentile 9, 99th 9, longest 9'
    """

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def add(self, length: int) -> None:
        self.counts[length] += 1

    def quantile(self, q: float) -> int:
        """The smallest length that is at least as large as a share q of the lengths."""
        remaining = q * self.counts.total()
        for length in sorted(self.counts):
            remaining -= self.counts[length]
            if remaining <= 0:
                return length
        return max(self.counts, default=0)

    def describe(self) -> str:
        median, p95, p99, longest = (self.quantile(q) for q in (0.5, 0.95, 0.99, 1.0))
        return f"median {median:,}, 95th percentile {p95:,}, 99th {p99:,}, longest {longest:,}"


def count_tokens(text: str, tokenizer: str | None) -> int:
    """The number of tokens of a text: exact for characters and bytes, approximate for words.

    >>> count_tokens("It isn't.", "word"), count_tokens("né", "byte")
    (3, 3)
    """
    match tokenizer:
        case "character":
            return len(text)
        case "byte":
            return len(text.encode())
        case _:
            return sum(1 for _ in TOKEN.finditer(text))


class TruncatedTexts:
    """Counts texts that have more tokens than data.max_length."""

    def __init__(self, max_length: int | None, tokenizer: str | None) -> None:
        self.max_length, self.tokenizer = max_length, tokenizer
        self.total, self.tally = 0, Tally()

    def add(self, text: str, location: Location) -> None:
        may_be_long = self.max_length is not None and 4 * len(text) > self.max_length  # a character has at most 4 bytes
        self.add_words(count_tokens(text, self.tokenizer) if may_be_long else 0, location)

    def add_words(self, tokens: int, location: Location) -> None:
        self.total += 1
        if self.max_length is not None and tokens > self.max_length:
            self.tally.add(location)

    def report(self, noun: str, inspection: Inspection) -> None:
        count, limit = self.tally.count, counted(self.max_length or 0, "token")
        message = f"{counted(count, noun)} ({percent(count, self.total)}) longer than {limit}"
        advice = f"Pass a larger {KeyName('data.max_length')}, or let them be truncated"
        inspection.add(
            "warning" if count > MANY_CUT * self.total else "note", self.tally, Problem("cut", message, advice)
        )


class LongestText:
    def __init__(self) -> None:
        self.characters, self.location = 0, ""

    def add(self, characters: int, location: Location) -> None:
        if characters > self.characters:
            self.characters, self.location = characters, str(location)

    def report(self, lengths: Lengths, noun: str, inspection: Inspection) -> None:
        """A finding, if the longest text is far longer than others."""
        p99 = lengths.quantile(0.99)
        if self.characters > max(OUTLIER_RATIO * p99, MIN_OUTLIER):
            message = f"a {noun} of {self.characters:,} characters, where 99% have at most {p99:,}"
            advice = "Check whether a quote or a line break is missing there"
            inspection.add("warning", Tally(1, [self.location]), Problem("far-too-long", message, advice))


class TextQuality:
    """Checks the texts of a column one by one; `noun` is the word for one text in messages."""

    def __init__(self, noun: str, max_length: int | None, tokenizer: str | None) -> None:
        self.noun = noun
        self.characters, self.words, self.longest = Lengths(), Lengths(), LongestText()
        self.cut, self.odd, self.blank = TruncatedTexts(max_length, tokenizer), OddCharacters(), Tally()

    def add(self, text: str, location: Location, words: int | None = None) -> None:
        """words: the number of words of a text that is divided into words; they are its tokens"""
        if words is None:
            words = len(text.split())
            self.cut.add(text, location)
        else:
            self.cut.add_words(words, location)
        self.characters.add(len(text))
        self.words.add(words)
        self.longest.add(len(text), location)
        if words:
            self.odd.add(text, location)
        else:
            self.blank.add(location)

    def summarize(self, inspection: Inspection) -> None:
        inspection.summarize(self.noun, f"{self.words.describe()} words")

    def report(self, inspection: Inspection) -> None:
        """Findings about texts that are cut or far too long, and about odd characters."""
        self.cut.report(self.noun, inspection)
        self.longest.report(self.characters, self.noun, inspection)
        self.odd.report(self.noun, inspection)

    def report_blank(self, inspection: Inspection) -> None:
        verb = "is" if self.blank.count == 1 else "are"
        message = f"{counted(self.blank.count, self.noun)} {verb} empty, or only white space"
        inspection.add("warning", self.blank, Problem("blank", message, "Fill in what is missing, or remove the row"))
