"""What a check finds, as lines and as JSON."""

import json

from seqloom.data.inspection.report import SORTS, BadLines, Finding, Inspection
from seqloom.spec.errors import DataError, UserError

ERROR = Finding("error", "3 fields, expected 2", 9, ("a.tsv:7", "a.tsv:9"), "Remove the tab")
NOTE = Finding("note", "2 texts of train repeat an earlier one", 2, ("a.tsv:7", "b.tsv:9"), "Nothing")


def test_lines() -> None:
    inspection = Inspection("classify", summary=[("train", "9 texts")], others=[NOTE, ERROR])
    assert list(inspection.lines()) == [
        "train         9 texts",
        "",
        "error    a.tsv:7: 3 fields, expected 2 (also line 9, …). Remove the tab.",
        "note     a.tsv:7: 2 texts of train repeat an earlier one (also at b.tsv:9). Nothing.",
        "",
        "1 error, 1 note: training would refuse these data",
    ]


def test_json_says_all() -> None:
    inspection = Inspection("tag", summary=[("train", "9 sentences")], others=[NOTE])
    values = json.loads(json.dumps(inspection.as_json()))
    assert values["ok"] is True
    assert values["summary"] == [{"name": "train", "value": "9 sentences"}]
    assert list(values["findings"][0]) == ["kind", "what", "count", "places", "do"]
    kind, message, count, locations, advice = values["findings"][0].values()
    assert Finding(kind, message, count, tuple(locations), advice) == NOTE


def test_sorts_of_bad_lines_stay_few() -> None:
    bad_lines = BadLines()
    for number in range(1000):
        bad_lines(DataError(f"a:{number}", f"a thing called {chr(0x4E00 + number)}", "Do"))
    findings = bad_lines.findings("error")
    assert len(findings) == SORTS + 1
    assert sum(finding.count for finding in findings) == 1000
    assert all(len(finding.locations) <= 5 for finding in findings)


def test_bad_lines_are_errors_only_where_training_would_refuse_them() -> None:
    for kind, ok in (("error", False), ("warning", True)):
        inspection = Inspection("classify", kind)
        inspection.bad_lines(DataError("a.tsv:7", "3 fields", "Remove the tab"))
        assert (inspection.ok, inspection.refused) == (ok, False)
        inspection.refuse(UserError("no such corpus. Name another."))
        assert (inspection.ok, inspection.refused) == (False, True)
        assert {finding.kind for finding in inspection.findings} == {"error", kind}
        refused = next(finding for finding in inspection.findings if not finding.locations)
        assert (refused.message, refused.advice) == ("no such corpus", "Name another")
