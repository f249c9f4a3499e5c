"""Reports of translation and captioning: the page, the terminal after training, answers."""

import json
import re
from pathlib import Path

import pytest

from seqloom.lens.report import read_report, write_report
from seqloom.tasks.caption.report import CaptionReport
from seqloom.tasks.generation_report import GenerationReport
from seqloom.tasks.task_report import Remark
from seqloom.tasks.translate.report import TranslateReport
from seqloom.views.figure import Panels, Table
from tests.lens.run_folders import caption, translate
from tests.views.test_html import read


def test_a_translation_report_has_signatures_lengths_and_the_worst_examples_first(tmp_path: Path) -> None:
    html = read_report(translate(tmp_path / "run")).html()
    text = read(html).text
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0" in text
    assert "Quality by length: BLEU, chrF by source tokens. BLEU: 4 points, from 98.01 to 70.29" in html
    assert "13 to 20: 69" in text
    assert "9 of these 12 differ from the reference." in text
    first = html.index("<mark>quatre-vingt-dix</mark> <mark>neuf</mark>")
    assert first < html.index('<dd dir="auto">deux cent trente-quatre</dd>')
    assert "mille <mark>et</mark> un" in html
    assert "&lt;b&gt;eighty&lt;/b&gt;" in html
    assert "<title>output ·cent, source ·hundred: 0.7429</title>" in html


def test_captions_are_beside_their_image_or_its_name(tmp_path: Path) -> None:
    html = read_report(caption(tmp_path / "run")).html()
    assert len(re.findall('<img alt="" src="data:image/png;base64,', html)) == 1
    assert "1 of these 2 differs from the reference." in html
    assert '<dt>image</dt><dd dir="auto">photos/2.jpg</dd>' in html
    assert '<use href="#picture-' in html


def test_attention_is_drawn_without_a_thumbnail_too(tmp_path: Path) -> None:
    folder = caption(tmp_path / "run")
    scores = json.loads((folder / "scores.json").read_text())
    del scores["details"]["attention"]["thumbnail"]
    (folder / "scores.json").write_text(json.dumps(scores))
    html = read_report(folder).html()
    assert "<use" not in html
    assert "<title>·red, row 1, column 2: 0.7188</title>" in html


def test_an_example_is_marked_as_it_was_scored(tmp_path: Path) -> None:
    folder = caption(tmp_path / "run")
    scores = json.loads((folder / "scores.json").read_text())
    example = {"image": "1.png", "references": ["A Red Disc"], "caption": "a red disc"}
    for measured, count in (({}, "1 of these 1 differs from"), ({"right": True}, "Each equals")):
        scores["details"]["examples"] = [{**example, **measured}]
        (folder / "scores.json").write_text(json.dumps(scores))
        html = read_report(folder).html()
        assert f"{count} the reference." in html
        assert ("<mark>" in html) == (not measured)


@pytest.mark.usefixtures("unchecked")
def test_many_regions_are_drawn_in_merged_cells() -> None:
    for side, cell in ((16, 1), (33, 2), (128, 4)):
        weights = [[1 / side**2] * side**2 for _ in range(61)]
        details = {"tokens": ["a"] * 60, "regions": [side, side], "attention": weights}
        attention = CaptionReport({}, {"attention": details}).attention
        assert attention is not None
        assert len(attention.output) == 60
        figure = attention.figure
        assert isinstance(figure, Panels)
        assert figure.shape == (-(-side // cell), -(-side // cell))
        assert figure.weights[0][0][0] == pytest.approx(cell**2 / side**2)
        assert (f"{cell} by {cell} regions are drawn as one cell" in figure.caption) == (cell > 1)
    assert CaptionReport({}, {"attention": {**details, "regions": [10**6, 10**6]}}).attention is None


@pytest.mark.parametrize("attention", [[1], {"tokens": [1], "source_tokens": ["b"], "attention": [[0.5]]}, "?"])
def test_crafted_attention_does_not_break_the_report(tmp_path: Path, attention: object) -> None:
    folder = translate(tmp_path / "run")
    scores = json.loads((folder / "scores.json").read_text())
    scores["details"]["attention"] = attention
    (folder / "scores.json").write_text(json.dumps(scores))
    write_report(folder)
    assert (folder / "report.html").exists()
    assert (folder / "attention.svg").exists() == isinstance(attention, dict)


def test_attention_of_another_shape_is_left_out() -> None:
    for attention in (
        {"tokens": ["a"], "source_tokens": ["b"], "attention": [[0.5, 0.5]]},
        {"tokens": ["a"], "regions": [2, 2, 2], "attention": [[1.0]]},
        {"tokens": ["a"], "regions": [-1, -1], "attention": [[1.0]]},
        {"tokens": ["a"], "source_tokens": ["b"], "attention": [["x"]]},
    ):
        assert TranslateReport({}, {"attention": attention}).attention is None


def test_incomplete_bins_are_left_out_or_completed() -> None:
    bins = [{"from": 1, "to": 3, "sentences": 0}, {"from": 4, "sentences": 2, "bleu": "inf", "chrf": 3}]
    (bin_,) = TranslateReport({}, {"by_length": bins}).by_length
    assert (bin_.low, bin_.high, bin_.sentences, bin_.scores) == (4, 4, 2, {"chrf": 3})


def examples_of(kind: type[GenerationReport], example: dict[str, object]) -> list[str]:
    """The lines of the example in the terminal."""
    lines = kind({}, {"examples": [example]}).example_lines()
    return [str(remark.text) for remark in lines if isinstance(remark, Remark)]


def test_a_long_example_is_truncated() -> None:
    example = {"text": "a", "translation": "b" * 300, "references": ["c"], "right": False}
    (line,) = examples_of(TranslateReport, example)
    assert f"{'b' * 200}… (100 more characters) (expected: c)" in line


def test_an_example_in_the_terminal_is_marked_as_it_was_scored() -> None:
    example = {"image": "1.png", "caption": "a dog .", "references": ["A dog ."]}
    lines = [
        examples_of(CaptionReport, {**example, **measured})[0] for measured in ({}, {"right": False}, {"right": True})
    ]
    assert [line.partition(" (")[2] for line in lines] == ["expected: A dog .)"] * 2 + [""]


@pytest.mark.parametrize(
    ("cut_by", "message"),
    [
        ("length", "not ended: --max-length allows more tokens"),
        ("positions", "not ended: the model can generate at most 2 tokens; train with a larger --data.max-length"),
        ("rules", "not ended: the options leave no token to generate"),
    ],
)
def test_an_answer_not_ended_has_its_reason(cut_by: str, message: str) -> None:
    answer = {"translation": "a b", "tokens": ["a", "b"], "score": -1.0, "ended": False, "cut_by": cut_by, "text": "x"}
    assert [line.plain.strip() for line in TranslateReport.answer_lines(answer, None)] == ["a b", message, "x"]


def test_evaluate_prints_remarks_signatures_and_bins() -> None:
    scores = {"bleu": 0.0, "exact_match": 0.5}
    bins = [{"from": 3, "to": 7, "sentences": 2, "bleu": 0.0, "chrf": 50.0, "exact_match": 0.5}]
    details = {"cut": 2, "signatures": {"bleu": "nrefs:1"}, "by_length": bins}
    cut, note, signature, table = TranslateReport(scores, details).evaluation_lines()
    assert isinstance(cut, Remark)
    assert cut.text == "2 answers not ended: the maximum length was reached (--max-length, or the limit of the model)"
    assert isinstance(note, Remark)
    assert note.label == "note"
    assert signature == Remark("BLEU", "nrefs:1")
    assert isinstance(table, Table)
    assert table.header == ("source tokens", "sentences", "BLEU", "chrF", "exact match")
    assert table.rows == (("3 to 7", 2, 0.0, 50.0, 0.5),)
    assert list(TranslateReport({"bleu": 3.0}, {}).evaluation_lines()) == []


def test_the_n_best_hypotheses_are_below_their_source() -> None:
    hypotheses = [{"translation": text, "score": -0.5, "ended": True} for text in ("deux", "trois")]
    answer = {"text": "two", **hypotheses[0]}
    assert [line.plain for line in TranslateReport.answer_lines(answer, 80)] == ["deux", "    two"]
    lines = [line.plain for line in TranslateReport.answer_lines(answer | {"n_best": hypotheses}, 80)]
    assert lines == ["two", "1. deux  -0.50", "2. trois  -0.50"]
