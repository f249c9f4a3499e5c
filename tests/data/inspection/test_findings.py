"""What was found, as lines and as JSON."""

import json

from seqloom.data.inspection.findings import Finding, Inspection, ordered
from seqloom.data.inspection.gathered import SORTS, Heard
from seqloom.spec.errors import DataError

ERROR = Finding("error", "3 fields, expected 2", 9, ("a.tsv:7", "a.tsv:9"), "Remove the tab")
NOTE = Finding("note", "2 texts of train repeat an earlier one", 2, ("a.tsv:7", "b.tsv:9"), "Nothing")


def test_lines() -> None:
    found = Inspection("classify", [("train", "9 texts")], ordered([NOTE, ERROR]))
    assert list(found.lines()) == [
        "train         9 texts",
        "",
        "error    a.tsv:7: 3 fields, expected 2 (also line 9, …). Remove the tab.",
        "note     a.tsv:7: 2 texts of train repeat an earlier one (also at b.tsv:9). Nothing.",
        "",
        "1 error, 1 note: training would refuse these data",
    ]


def test_told_is_json_and_says_all() -> None:
    told = json.loads(json.dumps(Inspection("tag", [("train", "9 sentences")], [NOTE]).told()))
    assert told["ok"] is True
    assert told["summary"] == [{"name": "train", "value": "9 sentences"}]
    assert Finding(**{**told["findings"][0], "places": tuple(told["findings"][0]["places"])}) == NOTE


def test_sorts_of_bad_lines_stay_few() -> None:
    heard = Heard()
    for number in range(1000):
        heard(DataError(f"a:{number}", f"a thing called {chr(0x4E00 + number)}", "Do"))
    findings = heard.findings("error")
    assert len(findings) == SORTS + 1
    assert sum(finding.count for finding in findings) == 1000
    assert all(len(finding.places) <= 5 for finding in findings)
