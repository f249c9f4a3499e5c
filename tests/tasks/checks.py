"""Helpers of the tests of data checks: write files, check them and select findings."""

from collections.abc import Iterable
from pathlib import Path

from seqloom.core.problem import render
from seqloom.data.inspection.findings import Finding, Inspection
from seqloom.tasks.data_check import check_data
from seqloom.tasks.registry import experiment


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def check(task: str, **data: object) -> Inspection:
    return check_data(experiment({"task": task, "data": data}))


def only(inspection: Inspection | Iterable[Finding], words: str) -> Finding:
    """The only finding whose message contains `words`."""
    findings = inspection.findings if isinstance(inspection, Inspection) else inspection
    (match,) = [finding for finding in findings if words in render(finding.problem.message)]
    return match


def says(inspection: Inspection, words: str) -> bool:
    return any(words in render(finding.problem.message) for finding in inspection.findings)


def names(locations: Iterable[str]) -> list[str]:
    """The locations without their folders."""
    return [location.rpartition("/")[2] for location in locations]
