"""The findings of a check, as lines and as JSON."""

import json

from seqloom.core.problem import DataError, KeyName, Problem, UserError
from seqloom.data.inspection.findings import BadLines, Finding, Inspection

ERROR = Finding("error", Problem("field-count", "3 fields, expected 2", "Remove the tab"), 9, ("a.tsv:7", "a.tsv:9"))
REPEATED = Problem("repeated", "2 texts of train repeat an earlier one", "Nothing")
NOTE = Finding("note", REPEATED, 2, ("a.tsv:7", "b.tsv:9"))


def test_findings_are_printed_as_lines() -> None:
    inspection = Inspection("classify", summary_lines=[("train", "9 texts")], others=[NOTE, ERROR])
    assert list(inspection.lines()) == [
        "train         9 texts",
        "",
        "error    a.tsv:7: 3 fields, expected 2 (also line 9, …). Remove the tab.",
        "note     a.tsv:7: 2 texts of train repeat an earlier one (also at b.tsv:9). Nothing.",
        "",
        "1 error, 1 note: training on this data would stop with an error",
    ]


def test_json_has_all_findings() -> None:
    inspection = Inspection("tag", summary_lines=[("train", "9 sentences")], others=[NOTE])
    values = json.loads(json.dumps(inspection.as_json()))
    assert values["ok"] is True
    assert values["summary"] == [{"name": "train", "value": "9 sentences"}]
    assert list(values["findings"][0]) == ["kind", "code", "what", "count", "places", "do"]
    kind, code, message, count, locations, advice = values["findings"][0].values()
    assert Finding(kind, Problem(code, message, advice), count, tuple(locations)) == NOTE


def test_config_keys_are_formatted_as_options() -> None:
    problem = Problem("cut", "3 texts are cut", f"Pass a larger {KeyName('data.max_length')}")
    inspection = Inspection("classify", summary_lines=[("columns", f"text ({KeyName('data.text')} names another)")])
    inspection.others.append(Finding("note", problem, 3, ()))

    def option(key: str, _: str | None) -> str:
        return f"--{key.replace('_', '-')}"

    assert "Pass a larger data.max_length." in list(inspection.lines())[2]
    assert "Pass a larger --data.max-length." in list(inspection.lines(option))[2]
    assert "(--data.text names another)" in next(inspection.lines(option))
    as_dict = inspection.as_json(option)
    assert as_dict["findings"][0]["do"] == "Pass a larger --data.max-length"
    assert as_dict["summary"][0]["value"] == "text (--data.text names another)"


def test_control_characters_are_escaped() -> None:
    inspection = Inspection("classify", summary_lines=[("train files", "a\x1b[31m.csv (csv)")])
    inspection.bad_lines(DataError("a\n.csv:7", "label 'x\x1b[2J\u202e' is not known", "Remove it", code="unknown"))
    assert list(inspection.lines()) == [
        r"train files   a\x1b[31m.csv (csv)",
        "",
        r"error    a\n.csv:7: label 'x\x1b[2J\u202e' is not known. Remove it.",
        "",
        "1 error: training on this data would stop with an error",
    ]
    assert inspection.as_json()["findings"][0]["what"] == "label 'x\x1b[2J\u202e' is not known"


def test_bad_lines_are_grouped_by_their_code() -> None:
    bad_lines = BadLines()
    for number in range(1000):
        code = "one" if number % 2 else "other"
        bad_lines(DataError(f"a:{number}", f"a thing called {chr(0x4E00 + number)}", "Do", code=code))
    findings = bad_lines.findings("error")
    assert [(finding.problem.code, finding.count) for finding in findings] == [("other", 500), ("one", 500)]
    assert all(len(finding.locations) <= 5 for finding in findings)


def test_bad_lines_are_errors_only_where_training_would_refuse_them() -> None:
    for kind, ok in (("error", False), ("warning", True)):
        inspection = Inspection("classify", kind)
        inspection.bad_lines(DataError("a.tsv:7", "3 fields", "Remove the tab", code="field-count"))
        assert (inspection.ok, inspection.has_error) == (ok, False)
        inspection.add_error(UserError("no such corpus", "Name another"))
        assert (inspection.ok, inspection.has_error) == (False, True)
        assert {finding.kind for finding in inspection.findings} == {"error", kind}
        refused = next(finding for finding in inspection.findings if not finding.locations)
        assert (refused.problem.message, refused.problem.advice) == ("no such corpus", "Name another")
