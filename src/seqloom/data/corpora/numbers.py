"""Numbers in words, as num2words writes them. Classify: in which language is this number written? Unless said, one of
twelve European ones (Czech, Danish, Dutch, English, Finnish, French, German, Italian, Polish, Portuguese, Spanish,
Swedish); `--data.languages all` takes all 44. Translate: a number from one language into another, English and French
unless said (`--data.source-language`, `--data.target-language`). The length is the greatest number of digits (4 unless
said, 6 in translate), each as frequent as the others as far as there are enough numbers; the examples are texts (12,000
unless said, or as many as there are) or pairs (10,000). There are few short numbers: in pairs they come several times.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from random import Random

from num2words import num2words

from seqloom.core.config.data import FAMILIAR
from seqloom.core.problem import KeyName, UserError
from seqloom.data.records import Location, Record

DIGITS, MOST_DIGITS = 4, 9
TEXTS, MOST_TEXTS = 12_000, 1_000_000
DIGITS_OF_PAIRS, PAIRS = 6, 10_000
COPIES = {1: 20, 2: 3}  # of a pair, by its digits: seen once among thousands of long ones, "six" becomes "six six"


def labelled(
    seed: int, length: int | None, examples: int | None, languages: Sequence[str] = FAMILIAR
) -> Iterator[Record]:
    """Numbers in words with the code of their language; each text once, and none that two languages share.

    >>> for (text, labels), _ in labelled(0, None, 3):
    ...     print(text, *labels)
    setenta y cinco es
    sextusen åttahundrasextiosex sv
    sekstusinde og ottehundrede og seksogtreds da
    """
    digits, wanted = length or DIGITS, examples or TEXTS
    check(digits, wanted)
    random = Random(seed)
    # Some texts are shared by two languages and drop out: a few numbers more make up for them.
    numbers = spread(random, digits, ceil(1.02 * wanted / len(languages)) + 10)
    texts = list(distinct(numbers, languages).items())
    random.shuffle(texts)
    return (
        Record((text, (language,)), Location("numbers", number))
        for number, (text, language) in enumerate(texts[:wanted], start=1)
    )


def pairs(
    seed: int, length: int | None, examples: int | None, source_language: str = "en", target_language: str = "fr"
) -> Iterator[Record]:
    """Numbers in two languages, short ones several times.

    >>> for pair, _ in pairs(0, 4, 3):
    ...     print(*pair, sep=" | ")
    seven thousand, eight hundred and ninety | sept mille huit cent quatre-vingt-dix
    fifty-nine | cinquante-neuf
    eight hundred and seventy-six | huit cent soixante-seize
    """
    digits, wanted = length or DIGITS_OF_PAIRS, examples or PAIRS
    check(digits, wanted)
    random = Random(seed)
    numbers = [number for number in spread(random, digits, wanted) for _ in range(COPIES.get(len(str(number)), 1))]
    random.shuffle(numbers)
    return (
        Record((in_words(number, source_language), in_words(number, target_language)), Location("numbers", line))
        for line, number in enumerate(numbers[:wanted], start=1)
    )


def check(digits: int, wanted: int) -> None:
    """A sentence for more than there is."""
    if digits > MOST_DIGITS:
        raise UserError(
            f"{KeyName('data.corpus_length')} is {digits}, and the corpus numbers has up to {MOST_DIGITS} digits",
            "Ask for fewer",
        )
    if wanted > MOST_TEXTS:
        raise UserError(
            f"{KeyName('data.examples')} is {wanted}, and the corpus numbers has up to {MOST_TEXTS}", "Ask for fewer"
        )


def in_words(number: int, language: str) -> str:
    """A number as its language writes it, on one line.

    >>> in_words(1203, "en"), in_words(1203, "fr")
    ('one thousand, two hundred and three', 'mille deux cent trois')
    """
    return " ".join(num2words(number, lang=language).split())


def distinct(numbers: Sequence[int], languages: Sequence[str]) -> dict[str, str]:
    """Every number in every language: text to language. A text of two languages (tre, elf, six) is not there."""
    language_of: dict[str, str | None] = {}
    for number in numbers:
        for language in languages:
            text = in_words(number, language)
            language_of[text] = language if language_of.get(text, language) == language else None
    return {text: language for text, language in language_of.items() if language is not None}


def spread(random: Random, digits: int, wanted: int) -> list[int]:
    """So many different numbers of up to so many digits, as evenly over the numbers of digits as these allow.

    >>> [len(str(number)) for number in spread(Random(0), digits=3, wanted=20)]
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3]
    """
    chosen: list[int] = []
    for size in range(1, digits + 1):
        fitting = range(10 ** (size - 1) if size > 1 else 0, 10**size)
        share = (wanted - len(chosen)) // (digits - size + 1)
        chosen += random.sample(fitting, min(share, len(fitting)))
    return chosen
