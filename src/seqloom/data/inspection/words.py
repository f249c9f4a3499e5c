"""Words and their tags: which words have several, which are new in validation."""

from array import array
from collections import Counter

from seqloom.data.examples import Sentence
from seqloom.data.inspection.gathered import Gathered, Tally, share
from seqloom.data.split import TRAIN, VALID
from seqloom.data.wording import counted

MOST = 1_000_000  # distinct words that are counted: about 150 MB
NEW = 0.3  # share of validation words that training never sees: more is a warning
ENOUGH = 100  # words: of fewer a share says little
SEVERAL = -1


class Words:
    """Of each distinct word: its one tag (or that it has several), and how often it is in each part."""

    def __init__(self, lowercase: bool) -> None:
        self.lowercase = lowercase
        self.numbers: dict[str, int] = {}
        self.tag, self.learnt, self.measured = array("i"), array("l"), array("l")
        self.totals: Counter[str] = Counter()

    @property
    def full(self) -> bool:
        """Whether there are more words than are counted."""
        return len(self.numbers) >= MOST

    def add(self, part: str, sentence: Sentence) -> None:
        """All words of a sentence."""
        self.totals[part] += len(sentence.words)
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            form = word.lower() if self.lowercase else word
            number = self.numbers.get(form)
            code = hash(tag) & 0x7FFFFFFF  # Python's own, as it is only compared with others of this run
            if number is None:
                if self.full:
                    continue
                number = self.numbers[form] = len(self.numbers)
                self.tag.append(code)
                self.learnt.append(0)
                self.measured.append(0)
            elif self.tag[number] != code:
                self.tag[number] = SEVERAL
            if part == TRAIN:
                self.learnt[number] += 1
            elif part == VALID:
                self.measured[number] += 1

    def tell(self, found: Gathered) -> None:
        """Shares, for the summary; a warning where much is new."""
        several = [number for number, tag in enumerate(self.tag) if tag == SEVERAL]
        among = sum(self.learnt[number] for number in several)
        known, total = len(self.numbers), self.totals[TRAIN]
        told = f"{counted(known, 'word')}{' or more' if self.full else ''}"
        what = f"{told}; {share(len(several), known)} of them, {share(among, total)} of the text, with several tags"
        found.summary.append(("vocabulary", what))
        if self.full or not self.totals[VALID]:
            return
        new = sum(n for n, learnt in zip(self.measured, self.learnt, strict=True) if not learnt)
        what = f"{share(new, self.totals[VALID])} of validation words are not in training"
        found.summary.append(("new words", what))
        if new > NEW * self.totals[VALID] >= NEW * ENOUGH:
            do = "Are the parts from the same source? More training data help, and so does model.characters"
            found.add("warning", Tally(new, []), what, do)
