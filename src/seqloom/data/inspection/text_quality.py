"""The quality of texts: their lengths, what would be cut off, and characters that are seldom meant."""

import re
import unicodedata
from collections import Counter

from seqloom.core.plurals import counted
from seqloom.core.problem import KeyName, Problem
from seqloom.data.inspection.report import Inspection, Kind, Tally, percent
from seqloom.data.records import Location

TOKEN = re.compile(r"\n|\w+(?:['’-]\w+)*|[^\w\s]")  # about what the word tokenizer tells apart
FAR = 20  # times the 99th percentile: so long that it may be a mistake
SHORT = 1000  # characters that are never far too long
MANY = 0.01  # of all texts that are cut: more is a warning

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
    "zero-width": (
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


class OddCharacters:
    """How many texts (or lines) have each kind of odd character, and how many are written in which normal form."""

    def __init__(self) -> None:
        self.tallies = {name: Tally() for name in ODD}
        self.decomposed = Tally()
        self.composed = 0

    def add(self, text: str, location: Location) -> None:
        """Look at a text."""
        if ANY.search(text):
            for name, (_, pattern, _, _) in ODD.items():
                if pattern.search(text):
                    self.tallies[name].add(location)
        if not text.isascii():
            self._add_form(text, location)

    def _add_form(self, text: str, location: Location) -> None:
        if not unicodedata.is_normalized("NFC", text):
            self.decomposed.add(location)
        elif not unicodedata.is_normalized("NFD", text):
            self.composed += 1

    def report(self, noun: str, inspection: Inspection) -> None:
        """A finding for each kind that was seen."""
        for name, (kind, _, characters, advice) in ODD.items():
            tally = self.tallies[name]
            inspection.add(kind, tally, Problem(f"odd-{name}", f"{having(tally.count, noun)} {characters}", advice))
        apart = self.decomposed
        if self.composed:
            texts = counted(apart.count, noun)
            message = f"accents are written apart (NFD) in {texts} and as one (NFC) in {self.composed:,}"
            inspection.add(
                "warning",
                apart,
                Problem("mixed-accents", message, "Write all in one form, for example with `uconv -x nfc`"),
            )
        else:
            message = f"{having(apart.count, noun)} accents written apart from their letters (NFD)"
            inspection.add(
                "note",
                apart,
                Problem("accents-apart", message, "Nothing to do, if later texts will be the same; most are NFC"),
            )


def having(count: int, noun: str) -> str:
    """The subject and the verb of a message.

    >>> having(1, "text"), having(2, "line")
    ('1 text has', '2 lines have')
    """
    return f"{counted(count, noun)} {'has' if count == 1 else 'have'}"


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
        """Count a length."""
        self.counts[length] += 1

    def quantile(self, q: float) -> int:
        """The least length that at least a share q does not exceed."""
        left = q * self.counts.total()
        for length in sorted(self.counts):
            left -= self.counts[length]
            if left <= 0:
                return length
        return max(self.counts, default=0)

    def describe(self) -> str:
        """One line for a person."""
        median, most, nearly_all, longest = (self.quantile(q) for q in (0.5, 0.95, 0.99, 1.0))
        return f"median {median:,}, 95th percentile {most:,}, 99th {nearly_all:,}, longest {longest:,}"


def count_tokens(text: str, tokenizer: str | None) -> int:
    """How many tokens a text has: exactly for characters and bytes, and about, for words.

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
    """Texts that have more tokens than data.max_length."""

    def __init__(self, max_length: int | None, tokenizer: str | None) -> None:
        self.max_length, self.tokenizer = max_length, tokenizer
        self.seen, self.tally = 0, Tally()

    def add(self, text: str, location: Location) -> None:
        """Look at a text; no token is shorter than a byte, so that most need not be tokenized."""
        self.seen += 1
        most = self.max_length
        if most is not None and 4 * len(text) > most and count_tokens(text, self.tokenizer) > most:
            self.tally.add(location)

    def add_words(self, words: int, location: Location) -> None:
        """Look at a sentence whose tokens are its words."""
        self.seen += 1
        if self.max_length is not None and words > self.max_length:
            self.tally.add(location)

    def report(self, noun: str, inspection: Inspection) -> None:
        """A finding, if there are any."""
        count = self.tally.count
        message = (
            f"{counted(count, noun)} ({percent(count, self.seen)}) longer than {counted(self.max_length or 0, 'token')}"
        )
        advice = f"Pass a larger {KeyName('data.max_length')}, or let their ends be cut off"
        inspection.add("warning" if count > MANY * self.seen else "note", self.tally, Problem("cut", message, advice))


class LongestText:
    """The longest text, and its location."""

    def __init__(self) -> None:
        self.characters, self.location = 0, ""

    def add(self, characters: int, location: Location) -> None:
        """Look at a text."""
        if characters > self.characters:
            self.characters, self.location = characters, str(location)

    def report(self, lengths: Lengths, noun: str, inspection: Inspection) -> None:
        """A finding, if it is far longer than others."""
        nearly_all = lengths.quantile(0.99)
        if self.characters > max(FAR * nearly_all, SHORT):
            message = f"a {noun} of {self.characters:,} characters, where 99% have at most {nearly_all:,}"
            advice = "Check whether a quote or a line's end is missing there"
            inspection.add("warning", Tally(1, [self.location]), Problem("far-too-long", message, advice))


class TextQuality:
    """What can be said of each text of a column by itself; `noun` is what a text is called."""

    def __init__(self, noun: str, max_length: int | None, tokenizer: str | None) -> None:
        self.noun = noun
        self.characters, self.words, self.longest = Lengths(), Lengths(), LongestText()
        self.cut, self.odd, self.blank = TruncatedTexts(max_length, tokenizer), OddCharacters(), Tally()

    def add(self, text: str, location: Location) -> None:
        """Look at a text."""
        words = len(text.split())
        self.characters.add(len(text))
        self.words.add(words)
        self.longest.add(len(text), location)
        self.cut.add(text, location)
        if words:
            self.odd.add(text, location)
        else:
            self.blank.add(location)

    def summarize(self, inspection: Inspection) -> None:
        """The lengths of the texts, under what they are called."""
        inspection.summarize(self.noun, f"{self.words.describe()} words")

    def report(self, inspection: Inspection) -> None:
        """Findings about texts that are cut or far too long, and about odd characters."""
        self.cut.report(self.noun, inspection)
        self.longest.report(self.characters, self.noun, inspection)
        self.odd.report(self.noun, inspection)

    def report_blank(self, inspection: Inspection) -> None:
        """A finding about texts without a word, where a table may have such."""
        are = "is" if self.blank.count == 1 else "are"
        message = f"{counted(self.blank.count, self.noun)} {are} empty, or white space alone"
        inspection.add("warning", self.blank, Problem("blank", message, "Fill in what is missing, or remove the row"))
