"""What a look at the data found, for a person or a program to read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["error", "warning", "note"]
KINDS: tuple[Kind, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One thing about the data: what, how often, where first, what to do. An error is what training would refuse.

    >>> Finding("error", "3 fields, expected 2 (text, label)", 2, ("a.tsv:7", "a.tsv:9"), "Remove the tab").line()
    'error    a.tsv:7: 3 fields, expected 2 (text, label) (also line 9). Remove the tab.'
    """

    kind: Kind
    what: str
    count: int
    places: tuple[str, ...]
    do: str

    def line(self) -> str:
        """All of it in one line."""
        where = f"{self.places[0]}: " if self.places else ""
        do = f" {self.do}." if self.do else ""
        return f"{self.kind:<8} {where}{self.what}{self._also()}.{do}"

    def _also(self) -> str:
        if len(self.places) < 2:
            return ""
        file = self.places[0].rpartition(":")[0]
        same = all(place.rpartition(":")[0] == file for place in self.places)
        others = [place.rpartition(":")[2] if same else place for place in self.places[1:]]
        more = ", …" if self.count > len(self.places) else ""
        return f" (also {'line' if same else 'at'}{'s' if same and len(others) > 1 else ''} {', '.join(others)}{more})"


@dataclass(frozen=True)
class Inspection:
    """What the data are (`summary`: names and values), and what was found (errors first, then warnings, then notes)."""

    task: str
    summary: Sequence[tuple[str, str]] = field(default=())
    findings: Sequence[Finding] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether training would take the data."""
        return not any(finding.kind == "error" for finding in self.findings)

    def told(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        findings = [
            {"kind": each.kind, "what": each.what, "count": each.count, "places": list(each.places), "do": each.do}
            for each in self.findings
        ]
        summary = [{"name": name, "value": value} for name, value in self.summary]
        return {"task": self.task, "ok": self.ok, "summary": summary, "findings": findings}

    def lines(self) -> Iterator[str]:
        """The same as plain text: the summary, a finding a line, the verdict.

        >>> for line in Inspection("tag", [("train", "12 sentences")]).lines():
        ...     print(line)
        train         12 sentences
        <BLANKLINE>
        no problems found: these data can be trained on
        """
        for name, value in self.summary:
            yield f"{name:<13} {value}".rstrip()
        if self.summary:
            yield ""
        for finding in self.findings:
            yield finding.line()
        if self.findings:
            yield ""
        yield self.verdict()

    def verdict(self) -> str:
        """How it ends, in one line."""
        if not self.findings:
            return "no problems found: these data can be trained on"
        counts = {kind: sum(finding.kind == kind for finding in self.findings) for kind in KINDS}
        told = ", ".join(f"{n} {kind}{'s' if n != 1 else ''}" for kind, n in counts.items() if n)
        return f"{told}: these data can be trained on" if self.ok else f"{told}: training would refuse these data"


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """Errors, warnings, notes; each in the order they came."""
    return sorted(findings, key=lambda finding: KINDS.index(finding.kind))
