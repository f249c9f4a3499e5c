"""Findings while they are made: counts with their first places, and what readers say about bad lines."""

import re
from dataclasses import dataclass, field

from seqloom.data.inspection.findings import Finding, Kind
from seqloom.data.wording import counted
from seqloom.spec.errors import DataError, UserError

FEW = 5  # places that are kept of each finding
SORTS = 100  # sorts of bad lines that are distinguished

VARIES = re.compile(r"\(.*\)|'(?:[^'\\]|\\.)*'|\"[^\"]*\"|0x[0-9A-F]+|[0-9][0-9,.]*")  # in sentences of one sort


@dataclass
class Tally:
    """How often, and where first."""

    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: object, times: int = 1) -> None:
        """Once more, or so many times more, at this place."""
        self.count += times
        if len(self.places) < FEW:
            self.places.append(str(place))

    def finding(self, kind: Kind, what: str, do: str) -> Finding:
        """As a finding."""
        return Finding(kind, what, self.count, tuple(self.places), do)


class Heard:
    """A `bad` for readers that writes down every bad line, those of one sort together.

    >>> heard = Heard()
    >>> for line in (7, 9):
    ...     heard(DataError(f"a.tsv:{line}", f"{line} fields, expected 2", "Remove the tab"))
    >>> [(finding.what, finding.count) for finding in heard.findings("error")]
    [('7 fields, expected 2; 2 lines like this', 2)]
    """

    def __init__(self) -> None:
        self.sorts: dict[str, tuple[str, str, Tally]] = {}

    def __call__(self, error: DataError) -> None:
        sort = VARIES.sub("#", error.what)
        if sort not in self.sorts and len(self.sorts) >= SORTS:
            sort = ""
        self.sorts.setdefault(sort, (error.what, error.do, Tally()))[2].add(error.place)

    def findings(self, kind: Kind) -> list[Finding]:
        """One for each sort."""
        return [
            tally.finding(kind, what + (f"; {tally.count:,} lines like this" if tally.count > 1 else ""), do)
            for what, do, tally in self.sorts.values()
        ]


@dataclass
class Gathered:
    """All that is known so far."""

    summary: list[tuple[str, str]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    bad: Heard = field(default_factory=Heard)

    @property
    def fine(self) -> bool:
        """Whether nothing is wrong so far."""
        return not self.bad.sorts and all(finding.kind != "error" for finding in self.findings)

    def refused(self, error: UserError) -> None:
        """A sentence that training would end with."""
        if isinstance(error, DataError):
            self.findings.append(Finding("error", error.what, 1, (error.place,), error.do))
        else:
            what, _, do = str(error).rstrip(".").partition(". ")
            self.findings.append(Finding("error", what, 1, (), do))

    def add(self, kind: Kind, tally: Tally, what: str, do: str) -> None:
        """A finding, if it was seen at all."""
        if tally.count:
            self.findings.append(tally.finding(kind, what, do))


def share(part: int, whole: int) -> str:
    """A part in hundredths, with as many digits as it takes to tell it from nothing and from all.

    >>> share(1, 3), share(1, 5000), share(4999, 5000), share(0, 0)
    ('33.3%', '0.02%', '99.98%', '0%')
    """
    if not whole or part in (0, whole):
        return "100%" if part and part == whole else "0%"
    hundredths = 100 * part / whole
    if hundredths < 0.01:
        return "under 0.01%"
    return f"{hundredths:.2f}%" if hundredths < 0.1 or hundredths > 99.9 else f"{hundredths:.1f}%"


def listed(names: list[str], most: int = 5) -> str:
    """The first few, in quotes.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 other"
    """
    few = ", ".join(repr(name if len(name) <= 40 else f"{name[:40]}…") for name in names[:most])
    left = len(names) - most
    return f"{few} and {counted(left, 'other')}" if left > 0 else few
