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

from seqloom.data.arrays import Ragged, Writer, read, smallest_type, writers
from seqloom.data.cache import cached
from seqloom.data.examples import Place, Sentence
from seqloom.data.lines import Bad, Skipped, skipped
from seqloom.data.origin import Origin
from seqloom.data.split import PARTS, TEST, TRAIN, VALID, check_filled, part_of
from seqloom.data.vocabulary import Vocabulary
from seqloom.spec.errors import DataError

META, WORDS, LETTERS, TAGS = "meta.json", "words.json", "letters.json", "tags.json"
LONGEST = 24  # letters of a word that are read: of a longer one its first and last twelve
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
    folder = cached(origin.ingredients(), lambda making: make(origin, making))
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
    return TaggedPart(Ragged.of(arrays, "forms"), Ragged.of(arrays, "tags"), arrays["file"], arrays["line"])


def make(origin: Origin, folder: Path) -> None:
    """Two readings: one to count words, letters and tags, one to write."""
    data, bad = origin.data, origin.bad()
    words, letters, tags, homeless = count(origin, bad, moved=set())
    moved = moved_contents(origin, homeless)
    if moved:
        words, letters, tags, _ = count(origin, Skipped(), moved)
    spellings = Spellings(
        Vocabulary.of_counts(words, unknown=True, least=data.min_count, most=data.vocabulary),
        Vocabulary([NO_LETTER, *Vocabulary.of_counts(letters, unknown=True).names]),
        data.lowercase,
    )
    vocabulary = Vocabulary(sorted(tags))
    told = write(origin, folder, spellings, vocabulary, parted(origin, Skipped(), moved))
    check_filled(origin.names()[0], told["parts"])
    for name, names in ((WORDS, spellings.words), (LETTERS, spellings.letters), (TAGS, vocabulary)):
        (folder / name).write_text(names.to_json(), encoding="utf-8")
    told["skipped"] = skipped(bad)
    (folder / META).write_text(json.dumps(told), encoding="utf-8")


def parted(origin: Origin, bad: Bad, moved: set[str]) -> Iterator[tuple[str, Sentence]]:
    """All sentences, each with its part: that of its file, or by its words; what is `moved` is learnt from."""
    data = origin.data
    valid = 0.0 if origin.has(VALID) else data.valid_share
    test = 0.0 if origin.has(TEST) else data.test_share
    for sentence in origin.sentences(TRAIN, bad):
        content = " ".join(sentence.words)
        yield TRAIN if content in moved else part_of(content, origin.seed, valid, test), sentence
    for part in (VALID, TEST):
        if origin.has(part):
            for sentence in origin.sentences(part, bad):
                yield part, sentence


def moved_contents(origin: Origin, homeless: set[str]) -> set[str]:
    """The sentences of tags that by chance are all kept back: they are learnt from instead."""
    if not homeless:
        return set()
    return {
        " ".join(sentence.words)
        for part, sentence in parted(origin, Skipped(), set())
        if homeless.intersection(sentence.tags) and not origin.has(part)
    }


def count(origin: Origin, bad: Bad, moved: set[str]) -> tuple[Counter[str], Counter[str], Counter[str], set[str]]:
    """The words, letters and tags of the training part; tags of what was kept back from its files and not in it.

    A tag that only files of another part have is refused.
    """
    words, letters, tags = Counter[str](), Counter[str](), Counter[str]()
    elsewhere: dict[str, Place] = {}
    kept_back: set[str] = set()
    for part, sentence in parted(origin, bad, moved):
        if part == TRAIN:
            words.update(word.lower() if origin.data.lowercase else word for word in sentence.words)
            letters.update("".join(sentence.words))
            tags.update(sentence.tags)
        elif not origin.has(part):
            kept_back.update(sentence.tags)
        else:
            for tag in sentence.tags:
                elsewhere.setdefault(tag, sentence.place)
    name = (origin.names() or ["data"])[0]
    if len(known := kept_back.union(tags)) < 2:
        only = next(iter(known), "none")
        raise DataError(
            name, f"only one tag, {only!r}, so there is nothing to tell apart", "Name another with --data.tag"
        )
    for tag, place in elsewhere.items():
        if tag not in known:
            raise DataError(place, f"tag {tag!r} is not in the training part", "Add sentences with it, or remove it")
    return words, letters, tags, kept_back.difference(tags)


def write(
    origin: Origin,
    folder: Path,
    spellings: Spellings,
    tags: Vocabulary,
    sentences: Iterable[tuple[str, Sentence]],
) -> dict[str, Any]:
    """The forms, the sentences of each part; what there was to tell."""
    types = {"forms": "uint32", "tags": smallest_type(len(tags)), "forms_end": "int64", "tags_end": "int64"}
    types |= {"file": "int32", "line": "int64"}
    numbered = {name: i for i, name in enumerate(origin.names())}
    most = origin.data.max_length or 1 << 62
    forms: dict[str, int] = {}
    cut = 0
    with writers(folder, PARTS, types) as files:
        for part, sentence in sentences:
            check_known(tags, sentence)
            writer = files[part]
            cut += len(sentence.words) > most
            numbers = [forms.setdefault(word, len(forms)) for word in sentence.words[:most]]
            writer.add_row("forms", np.array(numbers, dtype=np.int64))
            writer.add_row("tags", tags.numbers(sentence.tags[:most]))
            writer.add("file", [numbered.get(sentence.place.file, 0)])
            writer.add("line", [sentence.place.line])
    filled = [part for part, writer in files.items() if writer.sizes["line"]]
    with Writer(folder / "forms", {"forms": "uint8", "forms_end": "int64", "table": "int32"}) as writer:
        for form in forms:
            writer.add_row("forms", np.frombuffer(form.encode(), dtype=np.uint8))
            writer.add("table", spellings.rows([form])[0])
    return {"parts": filled, "cut": cut}


def check_known(tags: Vocabulary, sentence: Sentence) -> None:
    """A file to test on may have tags that the run never saw."""
    for tag in sentence.tags:
        if tag not in tags:
            what = f"tag {tag!r} is not one of the run's ({', '.join(tags.names[:10])})"
            raise DataError(sentence.place, what, "Remove the sentence, or train on such ones")
