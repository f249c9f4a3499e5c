"""A look at texts with their translations."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from seqloom.data.corpora import CORPORA
from seqloom.data.examples import Pair, Place
from seqloom.data.files import Format, sides
from seqloom.data.inspection.characters import Odd
from seqloom.data.inspection.gathered import Gathered, Tally, share
from seqloom.data.inspection.labels import tell_empty
from seqloom.data.inspection.lengths import Cut, Lengths, Longest, tokens_of
from seqloom.data.inspection.places import Files
from seqloom.data.inspection.repeats import Contents
from seqloom.data.inspection.sources import Sources
from seqloom.data.inspection.telling import tell_again, tell_shared
from seqloom.data.readers.pairs import read_pairs
from seqloom.data.readers.sides import TRANSLATION, Roles, find_sides
from seqloom.data.split import PARTS, TRAIN
from seqloom.data.wording import counted
from seqloom.spec.errors import UserError

UNITS = {"word": "words", "byte": "bytes"}  # in which sides are compared; else in characters, as pieces of words vary
MANY = 0.05  # of pairs with the same text on both sides: more is a warning


def look_at_paired(what: Sources, found: Gathered) -> None:
    """One reading of everything."""
    what = with_sides(what, found, TRANSLATION)
    rows: Counter[str] = Counter()
    contents, matches = Contents(Files()), Matches(what)
    of_source, of_target = Texts(what, "source"), Texts(what, "target")
    for file_part, pair in pairs(what, found):
        rows[what.part_of(pair.source, file_part)] += 1
        contents.add(pair.source, file_part, (pair.target,), pair.place)
        matches.add(pair)
        of_source.add(pair.source, pair.place)
        of_target.add(pair.target, pair.place)
    if not rows:
        return  # said already: no file could be read
    summarise(rows, "pair", what, found)
    tell_empty(rows, "pair", what, found)
    repeated = contents.repeated()
    tell_again(repeated, "source", "", found)
    tell_shared(repeated, "source", "", found)
    several, _ = repeated.contradictions()
    verb = "has" if several.count == 1 else "have"
    sentence = f"{counted(several.count, 'source')} {verb} several translations"
    found.add("note", several, sentence, "Nothing to do, if all are right; exact match can't reach 100%")
    matches.tell(sum(rows.values()), found)
    of_source.tell(found)
    of_target.tell(found)


def with_sides(what: Sources, found: Gathered, roles: Roles) -> Sources:
    """The columns of the first training file that is a table, said for all files, as training does."""
    for path, form in what.files[TRAIN]:
        if form != "text":
            try:
                columns = find_sides(path, form, what.data, roles)
            except UserError:
                return what  # said when the file is read
            found.summary.append(("columns", columns.describe()))
            return replace(what, data=columns.said_in(what.data).model_copy(update={"header": columns.header}))
    return what


def pairs(what: Sources, found: Gathered) -> Iterator[tuple[str, Pair]]:
    """All that can be read, with the part of its file; files that can't be are written down."""
    data = what.data
    try:
        if what.corpus:
            languages = data.source_language, data.target_language
            for pair in CORPORA[what.corpus].pairs(what.seed, data.length, data.examples, *languages):
                yield TRAIN, pair
    except UserError as error:
        found.refused(error)
    for part in PARTS:
        files = what.files[part]
        groups: list[list[tuple[Path, Format]]] = [[(path, form)] for path, form in files if form != "text"]
        for one, other in sides([path for path, form in files if form == "text"]):
            groups.append([(one, "text"), (other, "text")])
        for group in groups:
            try:
                for pair in read_pairs(group, data, found.bad):
                    yield part, pair
            except UserError as error:
                found.refused(error)


def summarise(rows: Counter[str], noun: str, what: Sources, found: Gathered) -> None:
    """How many each part has."""
    for part in PARTS:
        if rows[part]:
            found.summary.append((part, counted(rows[part], noun) + what.origin_of(part)))


class Matches:
    """How the two sides of a pair go together: lengths far apart, or one text twice."""

    def __init__(self, what: Sources) -> None:
        self.most, self.drops = what.data.max_ratio, what.data.on_ratio == "drop"
        self.tokeniser = what.data.tokeniser if what.data.tokeniser in UNITS else "character"
        self.odd, self.same = Tally(), Tally()

    def add(self, pair: Pair) -> None:
        """One more."""
        short, long = sorted(tokens_of(side, self.tokeniser) for side in (pair.source, pair.target))
        if long > self.most * max(1, short):
            self.odd.add(pair.place)
        if pair.source == pair.target:
            self.same.add(pair.place)

    def tell(self, total: int, found: Gathered) -> None:
        """Findings, if there are any."""
        odd, same = self.odd.count, self.same.count
        unit = UNITS.get(self.tokeniser, "characters")
        what = f"{counted(odd, 'pair')} ({share(odd, total)}) with over {self.most:g} times the {unit} on one side"
        keep = "The training part leaves such out" if self.drops else "Pass --data.on-ratio drop to leave such out"
        found.add("warning", self.odd, what, f"Check whether both sides belong together. {keep}")
        what = f"{counted(same, 'pair')} ({share(same, total)}) with the same text on both sides"
        many = same > MANY * total
        do = (
            "Remove what is not translated, unless it is meant" if many else "Nothing to do, if they are names and such"
        )
        found.add("warning" if many else "note", self.same, what, do)


class Texts:
    """What can be said of each text of a side by itself."""

    def __init__(self, what: Sources, noun: str) -> None:
        self.noun = noun
        self.odd, self.cut = Odd(), Cut(what.data.max_length, what.data.tokeniser)
        self.characters, self.words, self.longest = Lengths(), Lengths(), Longest()

    def add(self, text: str, place: Place) -> None:
        """One more."""
        self.characters.add(len(text))
        self.words.add(len(text.split()))
        self.longest.add(len(text), place)
        self.cut.add(text, place)
        self.odd.add(text, place)

    def tell(self, found: Gathered) -> None:
        """Lengths for the summary, and findings."""
        found.summary.append((self.noun, f"{self.words.describe()} words"))
        self.cut.tell(self.noun, found)
        self.longest.tell(self.characters, self.noun, found)
        self.odd.tell(self.noun, found)
