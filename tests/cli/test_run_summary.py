"""What the terminal shows after the last step of a run of translate or caption."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from seqloom.api import resume
from seqloom.tasks.task import Evaluation
from seqloom.training.loop import Trainer
from tests.cli.conftest import TINY, Seqloom
from tests.cli.test_predict import ROWS, WORDS

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def test_the_summary_has_five_translations_and_one_attention_map(seqloom: Seqloom) -> None:
    Path("pairs.tsv").write_text("".join(ROWS))
    sources = [f"one {' '.join([*WORDS][:words])} ." for words in (1, 3, 2, 4, 5)]
    long = f"one {' '.join([*WORDS, *WORDS][:9])} ."  # its attention map would be as readable
    Path("valid.tsv").write_text("".join(f"{source}\tun .\n" for source in [*sources, *[long] * 10]))
    options = ("--valid", "valid.tsv", "--data.tokenizer", "word", "--decode.max-length", "6")
    result = seqloom("train", "translate", "pairs.tsv", "--out", "r", *options, *TINY)
    assert result.code == 0
    lines = result.out.splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("examples "))
    for line, source in zip(lines[first:], sources, strict=False):
        assert re.fullmatch(rf"(examples|        ) {re.escape(source)} → .+ \(expected: un \.\)", line)
    assert lines[first + 5].startswith("figure   attention weights of one of these")
    assert lines[first + 6 : first + 8] == ["Attention", "rows: output, columns: source"]
    for evaluation in (scores_of(Path("r")), json.loads(seqloom("evaluate", "r", "valid.tsv", "--json").out)):
        attention = evaluation["details"]["attention"]
        assert attention["text"] == sources[-1]
        assert attention["translation"] == evaluation["details"]["examples"][4]["translation"]
    grid_lines = [line for line in lines[first + 8 :] if re.fullmatch(r"\s*\S+ [█▓▒░·]+", line)]
    assert [line.split()[0] for line in grid_lines][: len(attention["tokens"])] == attention["tokens"]
    assert {len(line.split()[1]) for line in grid_lines} == {2 * 8}  # "one", five words, ".", the end
    (best,) = (line for line in lines if line.startswith("best "))
    assert ", with a beam of 4: " in best
    note = "label smoothing of 0.1 raises the training loss; the validation loss is without it"
    assert note in Path("r/report.html").read_text()


def test_the_summary_has_the_rule_that_selected_the_weights_and_a_better_greedy_score(
    seqloom: Seqloom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trainer, "evaluate", lambda *_: Evaluation({"chrf": 99.0, "loss": 1.0}))
    Path("pairs.tsv").write_text("".join(ROWS))
    result = seqloom("train", "translate", "pairs.tsv", "--out", "r", "--decode.max-length", "6", *TINY)
    assert result.code == 0
    rule = "selected by chrF, among validations whose loss is within 0.5 nats of the lowest"
    assert rule in result.out.splitlines()
    assert max(map(len, rule.splitlines())) <= 80
    (note,) = (line for line in result.out.splitlines() if line.startswith("note ") and "greedy" in line)
    options = "predict and evaluate with --beam 1, or train with --decode.beam-size 1"
    assert note.endswith(f"with the run's beam, and 99 with greedy search: {options}")
    assert seqloom("evaluate", "r", "pairs.tsv", "--beam", "1").code == 0
    listed = seqloom("runs", ".").out
    assert re.search(r"chrF [\d.]+ \*", listed)
    assert "*        selected among validations whose loss is within 0.5 nats of the lowest" in listed


def test_a_run_with_invalid_attention_is_resumed(seqloom: Seqloom) -> None:
    Path("pairs.tsv").write_text("".join(ROWS))
    assert seqloom("train", "translate", "pairs.tsv", "--out", "r", "--decode.max-length", "6", *TINY).code == 0
    scores = scores_of(Path("r"))
    for attention in (
        [1],
        {**scores["details"]["attention"], "tokens": [1] * len(scores["details"]["attention"]["tokens"])},
    ):
        scores["details"]["attention"] = attention
        Path("r/scores.json").write_text(json.dumps(scores))
        resume("r")


def scores_of(folder: Path) -> Any:
    return json.loads((folder / "scores.json").read_text())


@pytest.mark.parametrize("tables", [("f?/captions.tsv",), ("f1/captions.tsv", "--valid", "f[2]/captions.tsv")])
def test_the_next_command_names_an_image_beside_its_table(seqloom: Seqloom, tables: tuple[str, ...]) -> None:
    for folder in ("f1", "f2"):
        Path(folder, "photos").mkdir(parents=True)
        rows = [(f"photos/{folder}-{number}.png", color) for number, color in enumerate([*WORDS] * 3)]
        for name, color in rows:
            Image.new("RGB", (16, 16), color).save(Path(folder, name))
        Path(folder, "captions.tsv").write_text("".join(f"{name}\ta {color} one\n" for name, color in rows))
    options = ("--data.image-size", "16", "--data.min-count", "1", "--decode.max-length", "6")
    result = seqloom("train", "caption", *tables, "--out", "r", *options, *TINY)
    assert result.code == 0
    message = shlex.split(result.out.splitlines()[-1])
    assert message[:4] == ["next", "seqloom", "predict", "r"]
    assert seqloom("predict", "r", message[4]).code == 0


@pytest.mark.slow
def test_the_demo_translates_numbers_that_are_not_in_train(seqloom: Seqloom) -> None:
    rule = MAKEFILE.read_text().partition("\ndemo:")[2].partition("\n\n")[0].replace("\\\n", " ")
    words = shlex.split(rule.partition("-m seqloom.cli ")[2])
    assert words[-2:] == ["--out", "runs/demo"]
    result = seqloom(*words)
    assert result.code == 0
    assert scores_of(Path("runs/demo"))["test"]["exact_match"] >= 0.95
    for name in ("attention.svg", "report.html"):
        assert "<svg" in Path("runs/demo", name).read_text()
    assert "rows: output, columns: source" in result.out
    message = shlex.split(result.out.splitlines()[-1])
    assert message[:4] == ["next", "seqloom", "predict", "runs/demo"]
    assert seqloom(*message[2:]).code == 0
