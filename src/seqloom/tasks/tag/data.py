"""The rows of a tagger: words as numbers of their distinct forms; the letters of each form are kept once."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import SupportsIndex

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.core.problem import KeyName, RunError
from seqloom.data.prepare import SplitExamples, never_in_train
from seqloom.data.records import Location
from seqloom.data.row_store import ArrayWriter, Ragged, read_arrays
from seqloom.data.schema import (
    AnswerColumn,
    AnswerLearner,
    Column,
    ColumnEncoder,
    Counts,
    Encoders,
    Schema,
    VocabularyLearner,
)
from seqloom.data.split import batched
from seqloom.data.vocabulary import Vocabulary
from seqloom.tasks.label_check import not_in_train, refuse_labels, single_label
from seqloom.tasks.tag.config import TagData

WORDS, TAGS = 0, 1  # indices of the values of an example
WORDS_FILE, LETTERS_FILE, TAGS_FILE = "words.json", "letters.json", "tags.json"
ANOTHER_COLUMN = f"Name another column with {KeyName('data.tag')}"
FORMS = "forms"  # the column of word forms, and the folder of their table
LONGEST = 24  # letters of a word that are read: of a longer one its first and last twelve
FORMS_PER_BATCH = 1024  # written at a time
NO_LETTER = ""  # number 0: fills a word's row after its last letter


class UnknownVocabularyLearner(VocabularyLearner):
    """Learns a vocabulary with an entry for unknown names."""

    def load(self, text: str, file: str) -> Vocabulary:
        names = super().load(text, file)
        if names.unknown is None:
            raise RunError("it has no token for unknown words", "Restore the file from a copy", location=file)
        return names


@dataclass(frozen=True)
class WordLearner(UnknownVocabularyLearner):
    """The most frequent words."""

    lowercase: bool
    min_count: int
    vocabulary: int | None

    def learn(self, values: Iterable[Sequence[str]], counts: Counts) -> Vocabulary:
        words = Counter(word.lower() if self.lowercase else word for sentence in values for word in sentence)
        return Vocabulary.from_counts(words, unknown=True, min_count=self.min_count, max_size=self.vocabulary)


@dataclass(frozen=True)
class LetterLearner(UnknownVocabularyLearner):
    """All letters of all words, and the padding of words."""

    def learn(self, values: Iterable[Sequence[str]], counts: Counts) -> Vocabulary:
        letters = Counter(chain.from_iterable(chain.from_iterable(values)))
        return Vocabulary([NO_LETTER, *Vocabulary.from_counts(letters, unknown=True).names])


@dataclass(frozen=True)
class Spellings:
    """The ids of words, and of their letters."""

    words: Vocabulary
    letters: Vocabulary
    lowercase: bool

    def rows(self, words: Sequence[str]) -> Integer[ndarray, "words 1+longest"]:
        """[word, letter, letter, …, 0, 0] for each word: what `nn.WordEmbedding` reads."""
        table = np.zeros((len(words), 1 + LONGEST), dtype=np.int64)
        for row, word in zip(table, words, strict=True):
            row[0] = self.words.ids([word.lower() if self.lowercase else word])[0]
            letters = word if len(word) <= LONGEST else word[: LONGEST // 2] + word[-LONGEST // 2 :]
            row[1 : 1 + len(letters)] = self.letters.ids(letters)
        return table


@dataclass(frozen=True)
class FormColumn(Column):
    """Words as numbers of their distinct forms, in order of occurrence; a table beside the splits has the forms."""

    lowercase: bool = False

    def open(self, encoders: Encoders) -> ColumnEncoder:
        spellings = Spellings(encoders[WORDS_FILE], encoders[LETTERS_FILE], self.lowercase)
        forms: dict[str, int] = {}

        def encode(values: Sequence[Sequence[str]], _: Sequence[Location]) -> Sequence[Integer[ndarray, " _"]]:
            return [np.array([forms.setdefault(word, len(forms)) for word in words], np.int64) for words in values]

        def write_table(folder: Path) -> None:
            with ArrayWriter(folder / FORMS, {"forms": "uint8", "forms_end": "int64", "table": "int32"}) as writer:
                for batch in batched(forms, FORMS_PER_BATCH):
                    writer.append_rows("forms", [np.frombuffer(form.encode(), dtype=np.uint8) for form in batch])
                    writer.append("table", spellings.rows(batch).ravel())

        return ColumnEncoder("uint32", encode, write_table)


class Forms:
    """The distinct forms of a dataset, memory-mapped: as texts, and as rows of `Spellings.rows`."""

    def __init__(self, folder: Path) -> None:
        arrays = read_arrays(folder / FORMS)
        self.texts = Ragged.of(arrays, "forms")
        self.table: Integer[ndarray, "forms 1+longest"] = arrays["table"].reshape(-1, 1 + LONGEST)

    def words(self, forms: Iterable[SupportsIndex]) -> list[str]:
        return [bytes(self.texts[form]).decode() for form in forms]


@dataclass(frozen=True)
class TaggedSentences(Schema):
    """Refuses tags that can't be learned."""

    def check_answers(self, examples: SplitExamples, counts: Counts, single: bool) -> Collection[str]:
        unseen = never_in_train(examples.source, counts)
        if len(trained := set(counts) - set(unseen)) < 2:
            refuse_labels(single_label("tag", trained, ANOTHER_COLUMN), examples)
        if unseen:
            refuse_labels(not_in_train("tag", unseen, "sentence"), examples, unseen)
        return ()


def schema(data: TagData) -> Schema:
    """The columns of a tagged sentence at full length: training cuts it when it reads it."""
    words = FormColumn(FORMS, WORDS, lowercase=data.lowercase)
    tags = AnswerColumn("tags", TAGS, encoder=TAGS_FILE, noun="tag", example="sentence")
    learners = {
        WORDS_FILE: WordLearner((WORDS,), data.lowercase, data.min_count, data.vocabulary_size),
        LETTERS_FILE: LetterLearner((WORDS,)),
        TAGS_FILE: AnswerLearner((TAGS,)),
    }
    return TaggedSentences((words, tags), learners, content=WORDS, answers=TAGS)
