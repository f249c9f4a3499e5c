"""Reports of finished runs, of runs that crashed or were stopped, and of folders with arbitrary files."""

import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from seqloom.core.problem import RunError
from seqloom.lens.report import FILES, read_report
from seqloom.lens.run_files import MAX_POINTS, MAX_SAMPLES, MAX_SKIPS, read_history
from seqloom.tasks.classify.report import ClassifyReport
from seqloom.tasks.registry import TASKS
from seqloom.tasks.task_report import Remark
from seqloom.views import terminal
from tests.lens.run_folders import FOLDERS, classify, crashed, language, stopped, tag
from tests.views.test_html import read

TITLES = {
    "language": "Scores Training Samples Cost Config Versions",
    "classify": "Scores Training Classes Worst-examples Calibration Cost Config Versions",
    "tag": "Scores Training Classes Worst-examples Cost Config Versions",
    "translate": "Scores Training By-length Examples Attention Cost Config Versions",
    "caption": "Scores Training Examples Attention Cost Config Versions",
    "many": "Scores Training Classes Cost Config Versions",
    "crashed": "Scores Training Cost Config Versions Notes",
    "stopped": "Scores Training Cost Config Versions",
}


def titles(html: str) -> list[str]:
    return re.findall("<h2>(.*?)</h2>", html)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_report_has_the_sections_of_its_task(tmp_path: Path, name: str) -> None:
    html = read_report(FOLDERS[name](tmp_path / "run")).html()
    assert titles(html) == [title.replace("-", " ") for title in TITLES[name].split()]
    assert read(html).tags.count("script") == 1
    assert not re.search(r"https?:|url\(", html)


@pytest.mark.parametrize("file", FILES)
def test_any_file_may_be_missing(tmp_path: Path, file: str) -> None:
    folder = classify(tmp_path / "run")
    (folder / file).unlink()
    report = read_report(folder)
    assert report.problems == ()
    assert read(report.html()).text.startswith("\n")
    assert report.lines()


@pytest.mark.parametrize("file", FILES)
def test_one_file_is_enough(tmp_path: Path, file: str) -> None:
    folder = classify(tmp_path / "run")
    for other in set(FILES) - {file}:
        (folder / other).unlink()
    assert titles(read_report(folder).html())


def test_a_report_has_the_numbers_of_the_files(tmp_path: Path) -> None:
    records = read_report(classify(tmp_path / "run"))
    assert (records.task, records.arch, records.parameters, records.best_step) == ("classify", "lstm", 412934, 1200)
    assert {score.name: (score.valid, score.test) for score in records.scores}["accuracy"] == (0.8784, 0.8651)
    details = records.details
    assert isinstance(details, ClassifyReport)
    assert details.confusion is not None
    assert details.confusion.counts == ((371, 57), (49, 395))
    assert [row.label for row in details.per_class] == ["neg", "pos"]
    assert details.worst[0].location == "dev.tsv:4"
    assert sum(row.predictions for row in details.calibration) == 872
    assert records.cost["peak_memory_bytes"] == 734003200
    assert [skip.step for skip in records.history.skipped] == [17, 612]
    assert len(records.history.curves["loss"]) == 200
    assert len(records.history.curves["valid.accuracy"]) == 10
    assert records.history.epoch == pytest.approx(6.667)


def test_the_page_shows_the_numbers(tmp_path: Path) -> None:
    text = read(read_report(classify(tmp_path / "run")).html()).text
    for excerpt in (
        "classify · lstm · 412,934 parameters · validation accuracy 0.8784 · 31 January 2026, 15:04",
        "Finished at step 2,000, after 1 min 1 s.",
        "Weights of step 1,200, selected by accuracy.",
        "step 17 skipped: gradient was inf",
        "<b>unmissable</b>",
        "gold neg · predicted pos · probability of the gold answer 0.01 · dev.tsv:4",
        "expected calibration error 0.031",
        "700 MiB",
        "torch2.13.0",
        "On validation data, always predicting pos has an accuracy of 0.5092.",
        'arch = "lstm"',
        "2 CPU cores",
    ):
        assert excerpt in text


def test_wrong_words_of_a_tagger_are_marked(tmp_path: Path) -> None:
    html = read_report(tag(tmp_path / "run")).html()
    assert '<ruby class="wrong">fish<rt>VERB, not NOUN</rt></ruby>' in html
    assert '<ruby class="right">They<rt>PRON</rt></ruby>' in html


def test_scripts_in_a_sample_are_escaped(tmp_path: Path) -> None:
    records = read_report(language(tmp_path / "run"))
    assert "</script><script>alert(1)</script>\x1b[31m" in records.history.samples[-1].text
    html = records.html()
    assert html.count("<script>") == html.count("</script>") == 1
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in html
    assert "\x1b" not in html


def test_a_crashed_run_is_reported(tmp_path: Path) -> None:
    records = read_report(crashed(tmp_path / "my run"))
    assert records.history.ending is not None
    assert (records.history.ending.kind, records.history.ending.step) == ("open", 700)
    assert {score.name for score in records.scores} == {"loss", "accuracy"}
    assert records.best_step == 350
    text = read(records.html()).text
    assert f"To continue: seqloom resume '{tmp_path / 'my run'}'" in text
    assert re.search(r"metrics.jsonl: line \d+ can't be read, perhaps cut short by a crash: left out.", text)


def test_a_stopped_and_resumed_run_is_reported(tmp_path: Path) -> None:
    folder = stopped(tmp_path / "run")
    records = read_report(folder)
    assert records.history.ending is not None
    assert (records.history.ending.kind, records.history.ending.step, records.history.ending.reason) == (
        "stopped",
        600,
        "SIGTERM",
    )
    assert records.history.resumes == (300,)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"event":"resume","step":600}\n')
    again = read_report(folder)
    assert again.history.ending is not None
    assert again.history.ending.kind == "open"


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1), name=st.sampled_from(FILES))
def test_a_file_truncated_anywhere_is_reported(tmp_path: Path, share: float, name: str) -> None:
    folder = tmp_path / "run"
    if not folder.exists():
        classify(folder, steps=200)
    path, content = folder / name, (folder / name).read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    try:
        read(read_report(folder).html())
    finally:
        path.write_bytes(content)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = "event step loss lr scores best text prompt what value why seconds tokens time device"
odd_events = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(KEYS.split()), anything, max_size=6),
        st.sampled_from(["start", "step", "skip", "valid", "sample", "resume", "stop", "end", "other"]),
    ).map(lambda drawn: drawn[0] | {"event": drawn[1], "step": 3}),
    max_size=6,
)
odd_details = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("labels", "confusion", "per_class", "worst", "calibration", "ece", "baseline"), anything)
    | {
        "worst": st.lists(st.dictionaries(st.sampled_from(["text", "gold", "predicted", "probability"]), anything)),
        "calibration": st.lists(st.dictionaries(st.sampled_from(["low", "high", "count", "accuracy"]), anything)),
        "signatures": anything,
        "by_length": st.lists(st.dictionaries(st.sampled_from(["from", "to", "sentences", "bleu"]), anything)),
        "examples": st.lists(
            st.dictionaries(
                st.sampled_from(["text", "image", "references", "translation", "caption", "place", "thumbnail"]),
                anything,
            )
        ),
        "per_span": anything,
        "cut": anything,
        "attention": st.dictionaries(
            st.sampled_from(["source_tokens", "tokens", "regions", "attention"]), anything | st.just([[1.0]])
        ),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(task=st.sampled_from(list(TASKS)) | anything, events=odd_events, details=odd_details | anything, other=anything)
def test_files_with_arbitrary_values_are_reported(
    tmp_path: Path, task: object, events: list[object], details: object, other: object
) -> None:
    scores = {"details": details, "valid": other, "cost": other, "chosen_by": other, "best_step": other}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    manifest = dict.fromkeys(("files", "created", "format"), other)
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "task": task}))
    (tmp_path / "metrics.jsonl").write_text("\n".join(json.dumps(event) for event in [*events, other]))
    records = read_report(tmp_path)
    read(records.html()).text.encode("utf-8")
    assert all(cell_len(line) <= 60 or line.startswith("To continue") for line in records.lines(60))
    report = records.details
    for item in (*report.example_lines(), *report.remarks(), *report.evaluation_lines()):
        if not isinstance(item, Remark | Text):
            assert all(cell_len(line) <= 60 for line in terminal.draw(item, 60))


def test_details_of_an_unknown_task_are_left_out_with_a_note(tmp_path: Path) -> None:
    folder = classify(tmp_path / "run")
    for file, reason in (
        ("experiment.toml", "the task 'summarise' is not known here"),
        ("manifest.json", "no file says"),
    ):
        (folder / file).unlink()
        if file == "experiment.toml":
            manifest = json.loads((folder / "manifest.json").read_text())
            (folder / "manifest.json").write_text(json.dumps({**manifest, "task": "summarise"}))
        records = read_report(folder)
        (problem,) = records.problems
        assert problem.startswith(f"scores.json has details that are left out, since {reason}")
        assert titles(records.html())[0] == "Scores"
        assert {score.name for score in records.scores} == {"loss", "accuracy", "macro_f1"}


def test_files_of_arbitrary_bytes_are_reported(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes(b"\xff\xfe\x00[[[\n{" * 20)
    records = read_report(tmp_path)
    assert [problem.split()[0] for problem in records.problems] == ["experiment.toml", "manifest.json", "scores.json"]
    assert "21 lines (1, 2, 3, 4, 5 and more) can't be read" in records.history.notes[0]
    read(records.html())


def test_folders_in_place_of_files_are_reported(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).mkdir()
    assert len(read_report(tmp_path).problems) == 3


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path, name: str) -> None:
    folder = classify(tmp_path / "run")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    records = read_report(folder)
    notes = [*records.problems, *records.history.notes]
    assert [note for note in notes if note.startswith(f"{name} can't be read")]
    read(records.html())


def test_only_the_beginning_of_a_large_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.lens.run_files.MAX_LOG", 10_000)
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(f'{{"event":"step","step":{step},"loss":1}}\n' for step in range(1000)))
    history = read_history(path)
    assert history.ending is not None
    assert 200 < history.ending.step < 300
    assert "only its first" in history.notes[0]


def test_the_speed_excludes_the_time_of_validation(tmp_path: Path) -> None:
    events = [
        {"event": "step", "step": 1, "tokens": 100, "seconds": 1.0},
        {"event": "step", "step": 2, "tokens": 200, "seconds": 2.0},
        {"event": "valid", "step": 2, "scores": {"loss": 1.0}},
        {"event": "step", "step": 3, "tokens": 300, "seconds": 60.0},
        {"event": "step", "step": 4, "tokens": 400, "seconds": 61.0},
    ]
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert read_history(path).curves["tokens_per_second"] == ((1.0, 100.0), (2.0, 100.0), (4.0, 100.0))


def test_a_long_run_is_read_in_little_memory(tmp_path: Path) -> None:
    path, odd_losses = tmp_path / "metrics.jsonl", {1_111: "NaN", 777: "-5", 999: "99"}
    with path.open("w") as file:
        for step in range(3_000):
            file.write(f'{{"event":"step","step":{step},"loss":{odd_losses.get(step, 1 + step % 3)}}}\n')
        for step in range(500):
            file.write(f'{{"event":"skip","step":{step},"what":"loss"}}\n')
            file.write(f'{{"event":"sample","step":{step},"prompt":"","text":"{"long " * 1000}"}}\n')
        file.write("x" * 3_000_000 + "\n" + '{"event":"end","step":3000}')
    tracemalloc.start()
    records = read_history(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2**20
    loss = dict(records.curves["loss"])
    assert len(loss) <= MAX_POINTS
    assert (loss[777], loss[999]) == (-5, 99)
    assert len(records.samples) <= MAX_SAMPLES
    assert all(len(sample.text) < 2100 for sample in records.samples)
    assert records.skip_count == 500
    assert len(records.skipped) <= MAX_SKIPS
    assert records.ending is not None
    assert records.ending.kind == "finished"
    assert "1 value was not finite in the curve of loss" in records.notes[1]
    assert "line 4001 can't be read" in records.notes[0]


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such folder"):
        read_report(tmp_path / "missing")
    with pytest.raises(RunError, match="not a run"):
        read_report(tmp_path)


def test_a_report_is_shown_in_terminals_plots_and_notebooks(tmp_path: Path) -> None:
    records = read_report(classify(tmp_path / "run"))
    lines = records.lines(60)
    assert lines[2] == "Finished at step 2,000, after 1 min 1 s."
    assert max(map(cell_len, lines)) <= 60
    assert records.plot().axes[0].get_ylabel() == "loss"
    assert records._repr_html_().startswith("<iframe srcdoc=")


def test_a_plot_without_a_loss_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(RunError, match="no loss to plot"):
        read_report(tmp_path).plot()


def test_a_report_imports_neither_torch_nor_matplotlib(tmp_path: Path) -> None:
    folder = classify(tmp_path / "run")
    code = (
        "import sys; from pathlib import Path; from seqloom.lens.report import read_report; "
        "page = read_report(Path(sys.argv[1])); page.html(); page.lines(); import seqloom.views.matplotlib_renderer; "
        "print([name for name in ('torch', 'matplotlib', 'numpy') if name in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
