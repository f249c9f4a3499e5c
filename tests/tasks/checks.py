"""What tests of checks share: files from text, and a check of them."""

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


def only(found: Inspection | Iterable[Finding], words: str) -> Finding:
    """The one finding that says these words."""
    findings = found.findings if isinstance(found, Inspection) else found
    (one,) = [finding for finding in findings if words in render(finding.problem.message)]
    return one


def says(found: Inspection, words: str) -> bool:
    return any(words in render(finding.problem.message) for finding in found.findings)


def names(places: Iterable[str]) -> list[str]:
    """Places without their folders."""
    return [place.rpartition("/")[2] for place in places]
