import gzip
import json
import math
import os
import shutil
from pathlib import Path

import pytest

from seqloom.core.config.toml import MAX_BYTES
from tests.cli.conftest import Seqloom
from tests.lens.run_folders import translate


def test_a_classifier_answers_with_a_label_and_its_probability(seqloom: Seqloom, runs: Path) -> None:
    result = seqloom("predict", runs / "classify", "a fine film", "a bore")
    assert result.code == 0
    assert len(result.out.splitlines()) == 4
    answers = [
        json.loads(line) for line in seqloom("predict", runs / "classify", "a fine film", "--json").out.splitlines()
    ]
    assert answers[0]["text"] == "a fine film"
    assert set(answers[0]["probabilities"]) == {"pos", "neg"}


def test_texts_come_from_the_command_line_from_files_and_from_standard_input(seqloom: Seqloom, runs: Path) -> None:
    Path("texts.txt").write_text("one film\ntwo films\n\n")
    from_file = seqloom("predict", runs / "classify", "--file", "texts.txt", "--json").out
    from_input = seqloom("predict", runs / "classify", "--json", stdin="one film\ntwo films\n").out
    from_arguments = seqloom("predict", runs / "classify", "one film", "two films", "--json").out
    assert from_file == from_input == from_arguments
    assert len(from_arguments.splitlines()) == 2


@pytest.mark.parametrize(
    "raw", [b"\xef\xbb\xbfone film\r\ntwo films\r\n", b"one film\rtwo films", b"one film\rtwo films\n\r\n"]
)
def test_standard_input_is_read_like_a_file(seqloom: Seqloom, runs: Path, raw: bytes) -> None:
    Path("texts.txt").write_bytes(raw)
    from_file = seqloom("predict", runs / "classify", "--file", "texts.txt", "--json").out
    for stdin in (raw, gzip.compress(raw)):
        result = seqloom("predict", runs / "classify", "--json", stdin=stdin)
        assert [json.loads(line)["text"] for line in result.out.splitlines()] == ["one film", "two films"]
        assert result.out == from_file


def test_infinities_are_strings_in_json(seqloom: Seqloom, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.runs.run.Run.predict", lambda *_, **__: [{"text": "the fox", "perplexity": math.inf}])
    result = seqloom("predict", runs / "language", "the fox", "--json")
    assert result.out == '{"text": "the fox", "perplexity": "inf"}\n'


def test_a_tagger_prints_aligned_columns(seqloom: Seqloom, runs: Path) -> None:
    result = seqloom("predict", runs / "tag", "Anna sings").out.splitlines()
    assert result[0].split() == ["Anna", "sings"]
    assert len(result[1].split()) == 2


def test_a_truncated_text_is_reported(seqloom: Seqloom, runs: Path) -> None:
    result = seqloom("predict", runs / "classify", "good " * 600, "good")
    assert result.out.count("only the beginning was read") == 1


def test_standard_input_keeps_its_position_among_the_texts(seqloom: Seqloom, runs: Path) -> None:
    result = seqloom("predict", runs / "classify", "a fine film", "-", "good", "--json", stdin="dull\na bore\n")
    assert [json.loads(line)["text"] for line in result.out.splitlines()] == ["a fine film", "dull", "a bore", "good"]


def test_a_language_model_answers_with_its_perplexity(seqloom: Seqloom, runs: Path) -> None:
    result = seqloom("predict", runs / "language", "the fox")
    assert result.out.startswith("perplexity ")
    assert "next: " in result.out


def test_markup_in_a_text_is_not_interpreted(seqloom: Seqloom, runs: Path) -> None:
    result = seqloom("predict", runs / "classify", "[red]fine\x1b[31m film")
    assert "[red]fine␛[31m film" in result.out


@pytest.mark.parametrize(
    ("words", "stdin", "sentence"),
    [
        ((), "", "standard input: nothing to read"),
        ((), "one\n\ntwo\n", "standard input:2: an empty line"),
        (("-",), "one\n\ntwo\n", "standard input:2: an empty line"),
        ((), b"one\ncaf\xe9\n", "standard input:2: the byte 0xE9 is not UTF-8"),
        ((), b"one\rtw\0o\n", "standard input:2: a NUL byte"),
        ((), "one".encode("utf-16"), "standard input: the file is in UTF-16"),
        ((), b"one\n" + b"x" * 1_000_001, "standard input:2: a line of more than 1,000,000 characters"),
        ((" ",), None, "text 1 is empty"),
        (("--file", "nope.txt"), None, "there is no such file"),
        (("x", "--device", "gpu"), None, "unknown --device 'gpu'"),
    ],
)
def test_invalid_texts_and_options_are_refused(
    seqloom: Seqloom, runs: Path, words: tuple[str, ...], stdin: str | bytes | None, sentence: str
) -> None:
    result = seqloom("predict", runs / "classify", *words, stdin=stdin)
    assert result.code == 2
    assert sentence in result.err


def test_a_seed_generates_the_same_text_again(seqloom: Seqloom, runs: Path) -> None:
    words = (
        "generate",
        runs / "language",
        "--prompt",
        "the ",
        "--max-length",
        "20",
        "--temperature",
        "1",
        "--top-k",
        "9",
    )
    first = seqloom(*words, "--seed", "7")
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("the ")
    assert seqloom(*words, "--seed", "7").out == first.out
    answer = json.loads(seqloom(*words, "--seed", "7", "--json").out)
    assert answer["prompt"] + answer["text"] == first.out.removesuffix("\n")
    sampled = seqloom(*words)
    again = seqloom(*words, "--seed", sampled.err.split()[1])
    assert again.out == sampled.out


def test_evaluate_prints_scores_and_classes(seqloom: Seqloom, runs: Path, files: Path) -> None:
    result = seqloom("evaluate", runs / "classify", "reviews.csv")
    assert result.code == 0
    assert "accuracy" in result.out
    assert "pos" in result.out
    evaluation = json.loads(seqloom("evaluate", runs / "tag", "names.conll", "--json").out)
    assert evaluation["scores"]["accuracy"] <= 1
    assert "per_class" in evaluation["details"]


def test_a_test_file_may_have_another_format(seqloom: Seqloom, runs: Path, files: Path) -> None:
    rows = (files / "reviews.csv").read_text().splitlines()[1:]
    Path("test.txt").write_text("".join("{1}\t{0}\n".format(*row.split(",")) for row in rows))
    assert seqloom("evaluate", runs / "classify", "test.txt").code == 2
    options = ("--data.format", "tsv", "--no-data.header", "--data.text", "2", "--data.label", "1")
    result = seqloom("evaluate", runs / "classify", "test.txt", *options, "--json")
    assert (result.code, result.err) == (0, "")
    expected = seqloom("evaluate", runs / "classify", "reviews.csv", "--json")
    assert json.loads(result.out)["scores"] == pytest.approx(json.loads(expected.out)["scores"])
    result = seqloom("evaluate", runs / "classify", "test.txt", "--data.format", "tvs")
    assert result.code == 2
    assert result.err.startswith("seqloom: --data.format is 'tvs'; expected one of")


def test_evaluate_prints_the_baseline(seqloom: Seqloom, runs: Path, files: Path) -> None:
    result = seqloom("evaluate", runs / "tag", "names.conll")
    details = json.loads(seqloom("evaluate", runs / "tag", "names.conll", "--json").out)["details"]
    share = {"O": 0.8, "B-PER": 0.2}[details["baseline"]["says"]]
    assert f"baseline always predicting {details['baseline']['says']} has an accuracy of {share}\n" in result.out


def test_characters_out_of_the_vocabulary_are_named(seqloom: Seqloom, runs: Path) -> None:
    words = ("generate", runs / "language", "--seed", "1", "--max-length", "5", "--prompt")
    assert seqloom(*words, "the fox").err == ""
    result = seqloom(*words, "é fox, ü and é")
    assert result.code == 0
    assert result.err.startswith("warning out of the model's vocabulary")
    assert result.err.count("é") == result.err.count("ü") == result.err.count("\n") == 1
    result = seqloom("predict", runs / "language", "the fox", "é", "üé")
    assert result.err.endswith(": é, ü\n")
    assert seqloom("predict", runs / "classify", "ünseen").err == ""


def test_a_report_is_rebuilt(seqloom: Seqloom, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "tag", tmp_path / "r")
    (tmp_path / "r/report.html").unlink()
    result = seqloom("report", "r")
    assert result.code == 0
    assert "wrote    r/report.html" in result.out
    assert (tmp_path / "r/report.html").read_text().startswith("<!")


def test_a_rebuilt_report_draws_the_attention_map(seqloom: Seqloom, tmp_path: Path) -> None:
    translate(tmp_path / "r")
    result = seqloom("report", "r")
    assert result.code == 0
    assert result.out.endswith("wrote    r/report.html, r/attention.svg\n")
    assert (tmp_path / "r/attention.svg").read_text().startswith("<svg")


def test_runs_are_listed_and_damaged_ones_have_an_error(seqloom: Seqloom, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "tag", tmp_path / "runs/good")
    shutil.copytree(runs / "tag", tmp_path / "runs/bad")
    (tmp_path / "runs/bad/manifest.json").write_text("{")
    (tmp_path / "runs/nothing").mkdir()
    result = seqloom("runs")
    assert result.code == 0
    assert "finished" in next(line for line in result.out.splitlines() if line.startswith("good"))
    assert "damaged  runs/bad/manifest.json: not JSON" in result.out
    assert "nothing" not in result.out


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("experiment.toml", "a = " + "[" * 100_000),
        ("experiment.toml", "#" * (MAX_BYTES + 1)),
        ("experiment.toml", "a = "),
        ("scores.json", "[" * 100_000),
        ("scores.json", f'{{"chosen_by": "loss", "valid": {{"loss": 1{"0" * 400}}}}}'),
        ("scores.json", '{"chosen_by": {}, "valid": {}}'),
    ],
)
def test_a_crafted_run_does_not_hide_the_others(
    seqloom: Seqloom, runs: Path, tmp_path: Path, name: str, content: str
) -> None:
    shutil.copytree(runs / "tag", tmp_path / "runs/good")
    shutil.copytree(runs / "tag", tmp_path / "runs/bad")
    (tmp_path / "runs/bad" / name).write_text(content)
    result = seqloom("runs")
    assert (result.code, result.err) == (0, "")
    assert "finished" in next(line for line in result.out.splitlines() if line.startswith("good"))
    assert "damaged  runs/bad" in result.out


def test_the_first_and_the_last_possible_dates_are_valid(seqloom: Seqloom, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "tag", tmp_path / "runs/old")
    manifest = tmp_path / "runs/old/manifest.json"
    for created in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"created": created}))
        result = seqloom("runs")
        assert (result.code, result.err) == (0, "")
        assert "finished" in result.out


def test_a_run_without_its_weights_is_not_finished(seqloom: Seqloom, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "tag", tmp_path / "runs/bad")
    (model,) = (tmp_path / "runs/bad").glob("model-*")
    model.unlink()
    result = seqloom("runs").out.splitlines()
    assert result[2].split()[0] == "bad"
    assert result[2].endswith("damaged")
    assert result[3].startswith(f"damaged  runs/bad/{model.name}: missing")
    assert len(result) == 4


@pytest.mark.parametrize("name", ["manifest.json", "experiment.toml", "scores.json", "metrics.jsonl"])
def test_a_pipe_or_a_folder_in_a_run_does_not_block(seqloom: Seqloom, runs: Path, tmp_path: Path, name: str) -> None:
    for make in (os.mkfifo, os.mkdir):
        shutil.copytree(runs / "tag", tmp_path / make.__name__)
        (tmp_path / make.__name__ / name).unlink()
        make(tmp_path / make.__name__ / name)
        assert seqloom("report", make.__name__).code == 0
    result = seqloom("runs", ".")
    assert result.code == 0
    assert result.out.count("damaged  mk") == (0 if name == "metrics.jsonl" else 2)


def test_a_folder_without_runs_is_no_error(seqloom: Seqloom) -> None:
    result = seqloom("runs")
    assert result.code == 0
    assert "no runs here yet" in result.out


def test_check_exits_with_2_where_training_would_refuse(seqloom: Seqloom, files: Path) -> None:
    result = seqloom("check", "classify", "reviews.csv")
    assert result.code == 0
    assert json.loads(seqloom("check", "classify", "reviews.csv", "--json").out)["ok"] is True
    Path("bad.tsv").write_text("text\tlabel\nfine\ta\nbad\tb\tc\n")
    result = seqloom("check", "classify", "bad.tsv")
    assert result.code == 2
    assert "bad.tsv:3" in result.out
