"""What a check of the data finds: a summary, and findings with counts and first locations; as text and as JSON."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from seqloom.data.wording import counted
from seqloom.spec.errors import DataError, UserError

Kind = Literal["error", "warning", "note"]
KINDS: tuple[Kind, ...] = ("error", "warning", "note")

FEW = 5  # locations that are kept of each finding
SORTS = 100  # sorts of bad lines that are distinguished

VARIES = re.compile(r"\(.*\)|'(?:[^'\\]|\\.)*'|\"[^\"]*\"|0x[0-9A-F]+|[0-9][0-9,.]*")  # in messages of one sort


@dataclass(frozen=True)
class Finding:
    """One thing about the data: what, how often, where first, what to do. An error is what training would refuse.

    >>> Finding("error", "3 fields, expected 2 (text, label)", 2, ("a.tsv:7", "a.tsv:9"), "Remove the tab").line()
    'error    a.tsv:7: 3 fields, expected 2 (text, label) (also line 9). Remove the tab.'
    """

    kind: Kind
    message: str
    count: int
    locations: tuple[str, ...]
    advice: str

    def line(self) -> str:
        """All of it in one line."""
        first = f"{self.locations[0]}: " if self.locations else ""
        advice = f" {self.advice}." if self.advice else ""
        return f"{self.kind:<8} {first}{self.message}{self._also()}.{advice}"

    def _also(self) -> str:
        if len(self.locations) < 2:
            return ""
        file = self.locations[0].rpartition(":")[0]
        same = all(location.rpartition(":")[0] == file for location in self.locations)
        others = [location.rpartition(":")[2] if same else location for location in self.locations[1:]]
        more = ", …" if self.count > len(self.locations) else ""
        return f" (also {'line' if same else 'at'}{'s' if same and len(others) > 1 else ''} {', '.join(others)}{more})"


@dataclass
class Tally:
    """How often something is seen, and where first."""

    count: int = 0
    locations: list[str] = field(default_factory=list)

    def add(self, location: object, times: int = 1) -> None:
        """Count it once more, or so many times more, at this location."""
        self.count += times
        if len(self.locations) < FEW:
            self.locations.append(str(location))

    def finding(self, kind: Kind, message: str, advice: str) -> Finding:
        """The finding about what was counted."""
        return Finding(kind, message, self.count, tuple(self.locations), advice)


class BadLines:
    """What to do with a bad line, for a check: write it down and go on, with lines of one sort in one finding.

    >>> bad_lines = BadLines()
    >>> for line in (7, 9):
    ...     bad_lines(DataError(f"a.tsv:{line}", f"{line} fields, expected 2", "Remove the tab"))
    >>> [(finding.message, finding.count) for finding in bad_lines.findings("error")]
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
            tally.finding(kind, message + (f"; {tally.count:,} lines like this" if tally.count > 1 else ""), advice)
            for message, advice, tally in self.sorts.values()
        ]


class FindingJson(TypedDict):
    """A finding for a program; the keys are part of the command's interface."""

    kind: Kind
    what: str
    count: int
    places: list[str]
    do: str


class InspectionJson(TypedDict):
    """All that a check found, for a program."""

    task: str
    ok: bool
    summary: list[dict[str, str]]
    findings: list[FindingJson]


@dataclass
class Inspection:
    """What a check says about the data of a task, gathered while they are read.

    summary: names and values, in the order in which they are shown
    bad_lines: what readers hand bad lines to
    bad_line: what a bad line is: an error, or a warning where training would skip it
    """

    task: str
    bad_line: Kind = "error"
    summary: list[tuple[str, str]] = field(default_factory=list)
    bad_lines: BadLines = field(default_factory=BadLines)
    others: list[Finding] = field(default_factory=list)  # all findings but bad lines, in the order they came

    def summarize(self, name: str, value: str) -> None:
        """Add a line to the summary."""
        self.summary.append((name, value))

    def add(self, kind: Kind, tally: Tally, message: str, advice: str) -> None:
        """Add a finding, if it was seen at all."""
        if tally.count:
            self.others.append(tally.finding(kind, message, advice))

    def refuse(self, error: UserError) -> None:
        """Add an error that training would end with."""
        if isinstance(error, DataError):
            self.others.append(Finding("error", error.what, 1, (error.place,), error.do))
        else:
            message, _, advice = str(error).rstrip(".").partition(". ")
            self.others.append(Finding("error", message, 1, (), advice))

    @property
    def refused(self) -> bool:
        """Whether there is an error so far, bad lines aside."""
        return any(finding.kind == "error" for finding in self.others)

    @property
    def findings(self) -> list[Finding]:
        """Errors, warnings, notes; of each kind bad lines first, then the others in the order they came."""
        findings = [*self.bad_lines.findings(self.bad_line), *self.others]
        return sorted(findings, key=lambda finding: KINDS.index(finding.kind))

    @property
    def ok(self) -> bool:
        """Whether training would take the data."""
        return not any(finding.kind == "error" for finding in self.findings)

    def as_json(self) -> InspectionJson:
        """The same as plain values."""
        findings: list[FindingJson] = [
            {
                "kind": finding.kind,
                "what": finding.message,
                "count": finding.count,
                "places": list(finding.locations),
                "do": finding.advice,
            }
            for finding in self.findings
        ]
        summary = [{"name": name, "value": value} for name, value in self.summary]
        return {"task": self.task, "ok": self.ok, "summary": summary, "findings": findings}

    def lines(self) -> Iterator[str]:
        """The same as plain text: the summary, a finding a line, the verdict.

        >>> for line in Inspection("sort", summary=[("train", "12 sentences")]).lines():
        ...     print(line)
        train         12 sentences
        <BLANKLINE>
        no problems found: these data can be trained on
        """
        for name, value in self.summary:
            yield f"{name:<13} {value}".rstrip()
        if self.summary:
            yield ""
        findings = self.findings
        for finding in findings:
            yield finding.line()
        if findings:
            yield ""
        yield verdict(findings)


def verdict(findings: list[Finding]) -> str:
    """How a check ends, in one line."""
    if not findings:
        return "no problems found: these data can be trained on"
    counts = {kind: sum(finding.kind == kind for finding in findings) for kind in KINDS}
    total = ", ".join(f"{n} {kind}{'s' if n != 1 else ''}" for kind, n in counts.items() if n)
    return f"{total}: {'training would refuse these data' if counts['error'] else 'these data can be trained on'}"


def share(count: int, total: int) -> str:
    """A part of a whole in hundredths, with as many digits as it takes to tell it from nothing and from all.

    >>> share(1, 3), share(1, 5000), share(4999, 5000), share(0, 0)
    ('33.3%', '0.02%', '99.98%', '0%')
    """
    if not total or count in (0, total):
        return "100%" if count and count == total else "0%"
    hundredths = 100 * count / total
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
