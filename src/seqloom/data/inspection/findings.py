"""The findings of `seqloom check`, with counts and first locations, and the summary; as text and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict

from seqloom.core.problem import (
    DataError,
    KeyFormatter,
    Problem,
    UserError,
    as_key,
    format_keys,
    format_problem,
    render,
)
from seqloom.core.wording import counted

Kind = Literal["error", "warning", "note"]
KINDS: tuple[Kind, ...] = ("error", "warning", "note")
MAX_LOCATIONS = 5  # that are kept of each finding


@dataclass(frozen=True)
class Finding:
    """A problem of the data, its count, and its first locations. An error is what training would refuse.

    >>> problem = Problem("field-count", "3 fields, expected 2 (text, label)", "Remove the tab")
    >>> Finding("error", problem, 2, ("a.tsv:7", "a.tsv:9")).line()
    'error    a.tsv:7: 3 fields, expected 2 (text, label) (also line 9). Remove the tab.'
    """

    kind: Kind
    template: Problem
    count: int
    locations: tuple[str, ...]

    @property
    def problem(self) -> Problem:
        return self.template.rendered()

    def line(self, format_key: KeyFormatter = as_key) -> str:
        location, message = (self.locations or ("",))[0], f"{self.template.message}{self._other_locations()}"
        return (
            f"{self.kind:<8} {format_problem(replace(self.template, location=location, message=message), format_key)}"
        )

    def _other_locations(self) -> str:
        if len(self.locations) < 2:
            return ""
        file = self.locations[0].rpartition(":")[0]
        same = all(location.rpartition(":")[0] == file for location in self.locations)
        others = [location.rpartition(":")[2] if same else location for location in self.locations[1:]]
        more = ", …" if self.count > len(self.locations) else ""
        return f" (also {'line' if same else 'at'}{'s' if same and len(others) > 1 else ''} {', '.join(others)}{more})"


@dataclass
class Tally:
    """A count, with the first locations."""

    count: int = 0
    locations: list[str] = field(default_factory=list)

    def add(self, location: object, times: int = 1) -> None:
        self.count += times
        if len(self.locations) < MAX_LOCATIONS:
            self.locations.append(str(location))

    def finding(self, kind: Kind, problem: Problem) -> Finding:
        return Finding(kind, problem, self.count, tuple(self.locations))


class BadLines:
    """A handler of bad lines that collects them, with problems of one code in one finding.

    >>> bad_lines = BadLines()
    >>> for line in (7, 9):
    ...     bad_lines(DataError(f"a.tsv:{line}", f"{line} fields, expected 2", "Remove the tab", code="field-count"))
    >>> [(finding.problem.message, finding.count) for finding in bad_lines.findings("error")]
    [('7 fields, expected 2; 2 lines like this', 2)]
    """

    def __init__(self) -> None:
        self.by_code: dict[str, tuple[Problem, Tally]] = {}

    def __call__(self, error: DataError) -> None:
        problem = error.template
        self.by_code.setdefault(problem.code, (problem, Tally()))[1].add(problem.location)

    def findings(self, kind: Kind) -> list[Finding]:
        """One for each code, with the message of the first line."""
        findings = []
        for problem, tally in self.by_code.values():
            more = f"; {tally.count:,} lines like this" if tally.count > 1 else ""
            findings.append(tally.finding(kind, replace(problem, message=f"{problem.message}{more}")))
        return findings


class FindingJson(TypedDict):
    """A finding for a program; the keys are part of the command's interface."""

    kind: Kind
    code: str
    what: str
    count: int
    places: list[str]
    do: str


class InspectionJson(TypedDict):
    task: str
    ok: bool
    summary: list[dict[str, str]]
    findings: list[FindingJson]


@dataclass
class Inspection:
    """The summary of the data of a task, and the findings.

    bad_line_kind: the kind of the findings about bad lines; a warning if training skips them
    others: findings that are not about bad lines
    """

    task: str
    bad_line_kind: Kind = "error"
    summary_lines: list[tuple[str, str]] = field(default_factory=list)
    bad_lines: BadLines = field(default_factory=BadLines)
    others: list[Finding] = field(default_factory=list)

    def summarize(self, name: str, value: str) -> None:
        self.summary_lines.append((name, value))

    @property
    def summary(self) -> list[tuple[str, str]]:
        return [(name, render(value)) for name, value in self.summary_lines]

    def add(self, kind: Kind, tally: Tally, problem: Problem) -> None:
        """Add a finding, if its count is not 0."""
        if tally.count:
            self.others.append(tally.finding(kind, problem))

    def add_error(self, error: UserError) -> None:
        """Add an error that training would end with."""
        location = error.template.location
        self.others.append(Finding("error", error.template, 1, (location,) if location else ()))

    @property
    def has_error(self) -> bool:
        """Whether there is an error so far that is not about bad lines (`ok` counts those too)."""
        return any(finding.kind == "error" for finding in self.others)

    @property
    def findings(self) -> list[Finding]:
        """Errors, warnings, notes; of each kind bad lines first."""
        findings = [*self.bad_lines.findings(self.bad_line_kind), *self.others]
        return sorted(findings, key=lambda finding: KINDS.index(finding.kind))

    @property
    def ok(self) -> bool:
        return not any(finding.kind == "error" for finding in self.findings)

    def as_json(self, format_key: KeyFormatter = as_key) -> InspectionJson:
        findings: list[FindingJson] = [
            {
                "kind": finding.kind,
                "code": finding.problem.code,
                "what": format_keys(finding.template.message, format_key),
                "count": finding.count,
                "places": list(finding.locations),
                "do": format_keys(finding.template.advice, format_key),
            }
            for finding in self.findings
        ]
        summary = [{"name": name, "value": format_keys(value, format_key)} for name, value in self.summary_lines]
        return {"task": self.task, "ok": self.ok, "summary": summary, "findings": findings}

    def lines(self, format_key: KeyFormatter = as_key) -> Iterator[str]:
        """Plain text: the summary, a line per finding, the verdict.

        >>> for line in Inspection("sort", summary_lines=[("train", "12 sentences")]).lines():
        ...     print(line)
        train         12 sentences
        <BLANKLINE>
        no problems found: you can train on this data
        """
        findings = [finding.line(format_key) for finding in self.findings]
        for lines in (
            [render(f"{name:<13} {value}".rstrip(), format_key) for name, value in self.summary_lines],
            findings,
        ):
            yield from lines
            if lines:
                yield ""
        yield verdict(self.findings)


def verdict(findings: list[Finding]) -> str:
    if not findings:
        return "no problems found: you can train on this data"
    counts = {kind: sum(finding.kind == kind for finding in findings) for kind in KINDS}
    total = ", ".join(counted(n, kind) for kind, n in counts.items() if n)
    verdict = "training on this data would stop with an error" if counts["error"] else "you can train on this data"
    return f"{total}: {verdict}"


def percent(count: int, total: int) -> str:
    """A share in percent, with enough digits to differ from 0% and from 100%.

    >>> percent(1, 3), percent(1, 5000), percent(4999, 5000), percent(0, 0)
    ('33.3%', '0.02%', '99.98%', '0%')
    """
    if not total or count in (0, total):
        return "100%" if count and count == total else "0%"
    share = 100 * count / total
    return "under 0.01%" if share < 0.01 else f"{share:.2f}%" if share < 0.1 or share > 99.9 else f"{share:.1f}%"


def quote_list(names: Sequence[str], most: int = 5) -> str:
    """The first few, in quotes.

    >>> quote_list(["a", "b", "c"], most=2)
    "'a', 'b' and 1 other"
    """
    few = ", ".join(repr(name if len(name) <= 40 else f"{name[:40]}…") for name in names[:most])
    left = len(names) - most
    return f"{few} and {counted(left, 'other')}" if left > 0 else few
