"""Numbers in words, as num2words writes them. Classify: in which language is this number written? By default one of
twelve European ones (Czech, Danish, Dutch, English, Finnish, French, German, Italian, Polish, Portuguese, Spanish,
Swedish); `--data.languages all` takes all 44. Translate: a number from one language into another, by default English
and French (`--data.source-language`, `--data.target-language`). The corpus length is the largest number of digits
(default: 4; for translate 6); every number of digits is equally frequent, as far as there are enough numbers. The
examples are texts (default: 12,000, or as many as there are) or pairs (10,000). Pairs of short numbers are repeated,
since there are few.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from random import Random

from num2words import num2words

from seqloom.core.config.data import FAMILIAR
from seqloom.core.problem import KeyName, UserError
from seqloom.data.records import Location, Record

DIGITS, MAX_DIGITS = 4, 9
TEXTS, MAX_TEXTS = 12_000, 1_000_000
PAIR_DIGITS, PAIRS = 6, 10_000
# How often a pair occurs, by its number of digits: a model that sees "six" only once translates it as "six six".
COPIES = {1: 20, 2: 3}


def labeled(
    seed: int, length: int | None, examples: int | None, languages: Sequence[str] = FAMILIAR
) -> Iterator[Record]:
    """Numbers in words, each with the code of its language; texts are distinct, and none belongs to two languages.

    >>> for (text, labels), _ in labeled(0, None, 3):
    ...     print(text, *labels)
    setenta y cinco es
    sextusen åttahundrasextiosex sv
    sekstusinde og ottehundrede og seksogtreds da
    """
    digits, count = length or DIGITS, examples or TEXTS
    check_limits(digits, count)
    random = Random(seed)
    # More numbers than needed, since texts that two languages share are left out.
    numbers = sample_numbers(random, digits, ceil(1.02 * count / len(languages)) + 10)
    texts = list(distinct_texts(numbers, languages).items())
    random.shuffle(texts)
    return (
        Record((text, (language,)), Location("numbers", number))
        for number, (text, language) in enumerate(texts[:count], start=1)
    )


def pairs(
    seed: int, length: int | None, examples: int | None, source_language: str = "en", target_language: str = "fr"
) -> Iterator[Record]:
    """Numbers in two languages; short ones are repeated.

    >>> for pair, _ in pairs(0, 4, 3):
    ...     print(*pair, sep=" | ")
    seven thousand, eight hundred and ninety | sept mille huit cent quatre-vingt-dix
    fifty-nine | cinquante-neuf
    eight hundred and seventy-six | huit cent soixante-seize
    """
    digits, count = length or PAIR_DIGITS, examples or PAIRS
    check_limits(digits, count)
    random = Random(seed)
    numbers = sample_numbers(random, digits, count)
    numbers = [number for number in numbers for _ in range(COPIES.get(len(str(number)), 1))]
    random.shuffle(numbers)
    return (
        Record((in_words(number, source_language), in_words(number, target_language)), Location("numbers", line))
        for line, number in enumerate(numbers[:count], start=1)
    )


def check_limits(digits: int, count: int) -> None:
    if digits > MAX_DIGITS:
        message = f"{KeyName('data.corpus_length')} is {digits}, but the corpus numbers has at most {MAX_DIGITS} digits"
        raise UserError(message, "Lower it")
    if count > MAX_TEXTS:
        message = f"{KeyName('data.examples')} is {count}, but the corpus numbers has at most {MAX_TEXTS}"
        raise UserError(message, "Lower it")


def in_words(number: int, language: str) -> str:
    """A number in words, on one line.

    >>> in_words(1203, "en"), in_words(1203, "fr")
    ('one thousand, two hundred and three', 'mille deux cent trois')
    """
    return " ".join(num2words(number, lang=language).split())


def distinct_texts(numbers: Sequence[int], languages: Sequence[str]) -> dict[str, str]:
    """The language of each text, for every number in every language; a text of two languages (six) is left out."""
    language_of: dict[str, str | None] = {}
    for number in numbers:
        for language in languages:
            text = in_words(number, language)
            language_of[text] = language if language_of.get(text, language) == language else None
    return {text: language for text, language in language_of.items() if language is not None}


def sample_numbers(random: Random, digits: int, count: int) -> list[int]:
    """`count` distinct numbers, spread over 1 to `digits` digits as evenly as possible.

    >>> [len(str(number)) for number in sample_numbers(Random(0), digits=3, count=20)]
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3]
    """
    numbers: list[int] = []
    for size in range(1, digits + 1):
        candidates = range(10 ** (size - 1) if size > 1 else 0, 10**size)
        share = (count - len(numbers)) // (digits - size + 1)
        numbers += random.sample(candidates, min(share, len(candidates)))
    return numbers
