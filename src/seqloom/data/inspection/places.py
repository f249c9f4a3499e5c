"""Places as one number each, so that millions of them fit in memory."""

from seqloom.data.examples import Place

LINE_BITS = 40


class Files:
    """Numbers for file names, and for places in them.

    >>> files = Files()
    >>> files.place(files.number(Place("train.tsv", 7366)))
    'train.tsv:7366'
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []

    def number(self, place: Place) -> int:
        """A place as a number, in the order of files as they came and then of lines."""
        at = self.numbers.get(place.file)
        if at is None:
            at = self.numbers[place.file] = len(self.names)
            self.names.append(place.file)
        return at << LINE_BITS | place.line

    def place(self, number: int) -> str:
        """The place again, for a person."""
        return str(Place(self.names[number >> LINE_BITS], number & ((1 << LINE_BITS) - 1)))
