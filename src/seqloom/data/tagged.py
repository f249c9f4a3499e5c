"""Words with tags: each distinct form of a word is kept once, with its number as a word and those of its letters."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.arrays import Ragged, Writer, read, smallest_type
from seqloom.data.examples import Sentence
from seqloom.data.lines import skipped
from seqloom.data.origin import Origin
from seqloom.data.parted import Counts, ReadOnce, check_known
from seqloom.data.rows import Row, Within, files_beside, write_rows
from seqloom.data.split import TRAIN, batched, check_filled
from seqloom.data.vocabulary import Vocabulary
from seqloom.spec.errors import DataError

META, WORDS, LETTERS, TAGS, COPY = "meta.json", "words.json", "letters.json", "tags.json", "copy.jsonl"
LONGEST = 24  # letters of a word that are read: of a longer one its first and last twelve
TOGETHER = 1024  # forms written at a time
NO_LETTER = ""  # number 0: fills a word's row after its last letter


@dataclass(frozen=True)
class Spellings:
    """What a tagger's vocabularies make of words: a number for each, and numbers for its letters."""

    words: Vocabulary
    letters: Vocabulary
    lowercase: bool

    def rows(self, words: Sequence[str]) -> Integer[ndarray, "words 1+longest"]:
        """[word, letter, letter, …, 0, 0] for each word: what `nn.Words` reads."""
        table = np.zeros((len(words), 1 + LONGEST), dtype=np.int64)
        for row, word in zip(table, words, strict=True):
            row[0] = self.words.numbers([word.lower() if self.lowercase else word])[0]
            letters = word if len(word) <= LONGEST else word[: LONGEST // 2] + word[-LONGEST // 2 :]
            row[1 : 1 + len(letters)] = self.letters.numbers(letters)
        return table


@dataclass(frozen=True)
class TaggedPart:
    """Sentences as numbers of forms, a tag for each word, and where each stood."""

    forms: Ragged
    tags: Ragged
    files: tuple[Within, ...]
    file: Integer[ndarray, " rows"]
    line: Integer[ndarray, " rows"]

    @property
    def rows(self) -> Ragged:
        """What a model reads of each."""
        return self.forms

    def __len__(self) -> int:
        return len(self.forms)


@dataclass(frozen=True)
class TaggedData:
    """All parts, and what they are told in."""

    spellings: Spellings
    tags: Vocabulary
    forms: Ragged  # each distinct form of a word, UTF-8
    table: Integer[ndarray, "forms 1+longest"]
    parts: dict[str, TaggedPart]
    cut: int
    skipped: int

    def words(self, forms: Iterable[SupportsIndex]) -> list[str]:
        """The forms as text."""
        return [bytes(self.forms[form]).decode() for form in forms]


def tagged(origin: Origin) -> TaggedData:
    """Sentences made ready, from the cache or now."""
    folder = origin.made_ready(lambda making: make(origin, making))
    words, letters, tags = (
        Vocabulary.from_json((folder / name).read_text(encoding="utf-8"), name) for name in (WORDS, LETTERS, TAGS)
    )
    told = json.loads((folder / META).read_text(encoding="utf-8"))
    return open_all(folder, Spellings(words, letters, origin.data.lowercase), tags, told)


def open_all(folder: Path, spellings: Spellings, tags: Vocabulary, told: Mapping[str, Any]) -> TaggedData:
    """All that `write` wrote into a folder, mapped into memory."""
    arrays = read(folder / "forms")
    return TaggedData(
        spellings,
        tags,
        Ragged.of(arrays, "forms"),
        arrays["table"].reshape(-1, 1 + LONGEST),
        {part: open_part(folder / part) for part in told["parts"]},
        told["cut"],
        told["skipped"],
    )


def open_part(folder: Path) -> TaggedPart:
    """One part, mapped into memory."""
    arrays = read(folder)
    forms, tags = (Ragged.of(arrays, name) for name in ("forms", "tags"))
    return TaggedPart(forms, tags, files_beside(folder), arrays["file"], arrays["line"])


def make(origin: Origin, folder: Path) -> None:
    """Read the files once, counting tags; then count words and letters, and write."""
    data = origin.data
    sentences = ReadOnce(origin, origin.sentences, Sentence, folder / COPY)
    counts, _ = sentences.count()
    check(sentences, counts)
    sentences.learn_all(counts)
    words, letters = count(sentences, data.lowercase)
    spellings = Spellings(
        Vocabulary.of_counts(words, unknown=True, least=data.min_count, most=data.vocabulary),
        Vocabulary([NO_LETTER, *Vocabulary.of_counts(letters, unknown=True).names]),
        data.lowercase,
    )
    tags = Vocabulary(sorted(counts))
    told = write(origin, folder, spellings, tags, sentences)
    check_filled(origin.names()[0], told["parts"])
    for name, names in ((WORDS, spellings.words), (LETTERS, spellings.letters), (TAGS, tags)):
        (folder / name).write_text(names.to_json(), encoding="utf-8")
    told["skipped"] = skipped(sentences.bad)
    (folder / META).write_text(json.dumps(told), encoding="utf-8")
    sentences.copy.unlink()


def check(sentences: ReadOnce[Sentence], counts: Counts) -> None:
    """Tags that nothing can be learnt of."""
    unseen = set(sentences.unseen(counts))
    if len(known := set(counts) - unseen) < 2:
        what = f"only one tag, {next(iter(known), 'none')!r}, so there is nothing to distinguish"
        raise DataError(sentences.origin.name, what, "Name another column with --data.tag")
    for tag in counts:
        if tag in unseen:
            what = f"tag {tag!r} is not in the training part"
            raise DataError(sentences.place_of(tag), what, "Add sentences with it, or remove it")


def count(sentences: Iterable[tuple[str, Sentence]], lowercase: bool) -> tuple[Counter[str], Counter[str]]:
    """The words and the letters of the training part."""
    words, letters = Counter[str](), Counter[str]()
    for part, sentence in sentences:
        if part == TRAIN:
            words.update(word.lower() if lowercase else word for word in sentence.words)
            letters.update("".join(sentence.words))
    return words, letters


def write(
    origin: Origin,
    folder: Path,
    spellings: Spellings,
    tags: Vocabulary,
    sentences: Iterable[tuple[str, Sentence]],
) -> dict[str, Any]:
    """The forms, the sentences of each part; what there was to tell."""
    types = {"forms": "uint32", "tags": smallest_type(len(tags))}
    forms: dict[str, int] = {}

    def rows() -> Iterator[Row]:
        for part, sentence in sentences:
            check_known(tags, sentence, "tag", "sentence")
            numbers = {
                "forms": np.array([forms.setdefault(word, len(forms)) for word in sentence.words], dtype=np.int64),
                "tags": tags.numbers(sentence.tags),
            }
            yield Row(part, sentence.place, False, numbers)

    told = write_rows(folder, origin.names(), types, rows())
    with Writer(folder / "forms", {"forms": "uint8", "forms_end": "int64", "table": "int32"}) as writer:
        for some in batched(forms, TOGETHER):
            writer.add_rows("forms", [np.frombuffer(form.encode(), dtype=np.uint8) for form in some])
            writer.add("table", spellings.rows(some).ravel())
    return told
