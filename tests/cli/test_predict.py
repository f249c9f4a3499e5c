"""Translation and captioning on the command line: answers, and one message for each invalid input."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from PIL import Image

from seqloom.cli.console import command
from seqloom.cli.main import main
from tests.cli.conftest import TINY, Result, Seqloom

WORDS = {"red": "rouge", "green": "vert", "blue": "bleu", "black": "noir", "white": "blanc"}
ROWS = [f"one {a} {b} .\tun {WORDS[a]} {WORDS[b]} .\n" for a in WORDS for b in WORDS]


def write_pairs(folder: Path) -> None:
    (folder / "pairs.tsv").write_text("".join(ROWS))
    for number, name in enumerate(("pairs.en", "pairs.fr")):
        (folder / name).write_text("".join(row.strip().split("\t")[number] + "\n" for row in ROWS))


def write_captions(folder: Path) -> None:
    """Images of one color."""
    for number, color in enumerate([*WORDS] * 4):
        Image.new("RGB", (16, 16), color).save(folder / f"{number}.png")
    (folder / "captions.tsv").write_text("".join(f"{i}.png\ta {color} one\n" for i, color in enumerate([*WORDS] * 4)))


@pytest.fixture
def pairs(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    write_captions(tmp_path)


@pytest.fixture(scope="module")
def generators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of translate, over words, with positions; and a run of caption."""
    folder = tmp_path_factory.mktemp("generators")
    write_pairs(folder)
    write_captions(folder)
    words = (
        "--data.tokenizer",
        "word",
        "--data.max-length",
        "20",
        "--model",
        "transformer",
        "--decode.max-length",
        "6",
    )
    images = ("--data.image-size", "16", "--data.min-count", "1", "--decode.max-length", "6")
    for task, file, options in (("translate", "pairs.tsv", words), ("caption", "captions.tsv", images)):
        assert main(["train", task, str(folder / file), "--out", str(folder / task), *TINY, *options]) == 0
    return folder


def error_message(result: Result) -> str:
    """The error of a command, one line, without its prefix."""
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("seqloom: ")
    assert result.err.count("\n") == 1
    return result.err.removeprefix("seqloom: ").strip()


# Answers ---------------------------------------------------------------------------------------------------


def test_training_prints_the_files_that_it_wrote_and_a_next_command_that_works(seqloom: Seqloom, pairs: None) -> None:
    result = seqloom("train", "translate", "pairs.en", "pairs.fr", "--out", "r", "--decode.max-length", "6", *TINY)
    assert result.code == 0
    assert "additive attention" in result.out
    assert "r   (report.html, model-" in result.out
    assert Path("r/attention.svg").read_text().startswith("<svg")
    message = result.out.splitlines()[-1]
    assert message.startswith("next     seqloom predict r ")
    text = message.split("predict r ")[1].strip("'\"")
    assert seqloom("predict", "r", text).code == 0


def test_a_printed_command_has_the_path_that_the_shell_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("runs") == "seqloom runs"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command("runs") == shlex.join([str(Path(sys.executable).with_name("seqloom")), "runs"])
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "seqloom").touch()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert command("runs") == "bin/seqloom runs"
    (tmp_path / "bin" / "seqloom").unlink()
    assert command("runs") == "seqloom runs"


def test_an_answer_has_alternatives_and_an_attention_map(seqloom: Seqloom, generators: Path) -> None:
    words = ("predict", generators / "translate", "one red blue .", "--beam", "5", "--n-best", "3")
    result = seqloom(*words, "--show", "attention")
    assert result.code == 0
    assert [line[:3] for line in result.out.splitlines() if line[:1].isdigit()] == ["1. ", "2. ", "3. "]
    assert "</s>" in result.out
    answer = json.loads(seqloom(*words, "--json").out)
    assert len(answer["n_best"]) == 3
    assert "attention" not in answer
    assert "attention" in json.loads(seqloom(*words, "--json", "--show", "attention").out)


def test_a_seed_repeats_a_sample_and_a_prompt_is_the_prefix_of_the_output(seqloom: Seqloom, generators: Path) -> None:
    words = ("predict", generators / "translate", "one red blue .", "--temperature", "2", "--json")
    first, same, other = (json.loads(seqloom(*words, "--seed", seed).out) for seed in (1, 1, 2))
    assert first == same
    assert first["tokens"] != other["tokens"]
    continued = json.loads(
        seqloom("predict", generators / "translate", "one red .", "--prompt", "un noir", "--json").out
    )
    assert continued["tokens"][:2] == ["un", "noir"]


def test_sampling_prints_its_seed(seqloom: Seqloom, generators: Path) -> None:
    words = ("predict", generators / "translate", "one red blue .", "--temperature", "2")
    sampled = seqloom(*words)
    assert sampled.err.startswith("seed ")
    again = seqloom(*words, "--seed", sampled.err.split()[1])
    assert (again.out, again.err) == (sampled.out, "")
    assert seqloom("predict", generators / "translate", "one red .").err == ""


def test_a_prompt_longer_than_the_maximum_length_is_refused(seqloom: Seqloom, generators: Path) -> None:
    words = ("predict", generators / "translate", "one red .", "--prompt", "un noir")
    message = error_message(seqloom(*words, "--max-length", "1"))
    assert (
        message == "--prompt has 2 tokens, but an output may have at most 1. Raise --max-length, or shorten the prompt."
    )
    assert seqloom(*words, "--max-length", "2").code == 0


def test_scores_are_printed_with_signatures_and_by_length(seqloom: Seqloom, generators: Path) -> None:
    result = seqloom("evaluate", generators / "translate", generators / "pairs.tsv", "--beam", "2")
    assert result.code == 0
    for message in ("BLEU", "chrF", "nrefs:1|case:mixed|", "source tokens"):
        assert message in result.out
    result = seqloom(
        "evaluate", generators / "translate", generators / "pairs.tsv", "--max-length", "2", "--min-length", "2"
    )
    reason = "the maximum length was reached (--max-length, or the limit of the model)"
    assert f"cut      {len(ROWS)} answers not ended: {reason}" in result.out
    both = seqloom("evaluate", generators / "translate", generators / "pairs.en", generators / "pairs.fr", "--json")
    of_table = seqloom("evaluate", generators / "translate", generators / "pairs.tsv", "--json")
    assert json.loads(both.out)["scores"] == pytest.approx(json.loads(of_table.out)["scores"])


def test_a_bleu_without_four_grams_is_explained(seqloom: Seqloom, generators: Path) -> None:
    run, short = generators / "translate", ("--max-length", "2", "--min-length", "2")
    answers = seqloom("predict", run, "one red .", "one blue .", *short, "--json").out.splitlines()
    rows = [f"{answer['text']}\t{answer['translation']}\n" for answer in map(json.loads, answers)]
    Path("short.tsv").write_text("".join(rows))
    result = seqloom("evaluate", run, "short.tsv", "--no-data.header", *short)
    assert result.code == 0
    assert "BLEU needs four words in a row, and no correct text has that many" in result.out


def test_captions_are_scored_by_bleu_of_four_orders_and_not_by_length(seqloom: Seqloom, generators: Path) -> None:
    result = seqloom("evaluate", generators / "caption", generators / "captions.tsv")
    assert result.code == 0
    for message in ("BLEU-1", "BLEU-4", "chrF", "exact match", "nrefs:1|case:lc|"):
        assert message in result.out
    assert "source tokens" not in result.out
    details = json.loads(seqloom("evaluate", generators / "caption", generators / "captions.tsv", "--json").out)[
        "details"
    ]
    assert details["by_length"] == []


def test_an_image_is_captioned(seqloom: Seqloom, generators: Path) -> None:
    result = seqloom("predict", generators / "caption", generators / "3.png", "--show", "attention")
    assert result.code == 0
    assert str(generators / "3.png") in result.out
    answer = json.loads(seqloom("predict", generators / "caption", generators / "3.png", "--json").out)
    assert (answer["image"], answer["regions"]) == (str(generators / "3.png"), [2, 2])


# Invalid files ---------------------------------------------------------------------------------------------


def test_parallel_files_of_different_length_are_refused(seqloom: Seqloom, pairs: None) -> None:
    Path("pairs.fr").write_text("".join(f"un {i}\n" for i in range(20)))
    message = error_message(seqloom("train", "translate", "pairs.en", "pairs.fr", *TINY))
    assert message.startswith(
        "pairs.en:21: from here on pairs.fr has no line that matches this one (20 lines there, 25 here)"
    )


@pytest.mark.parametrize(("row", "which"), [("\tun .", "source"), ("one .\t", "target")])
def test_an_empty_side_is_refused_or_skipped(seqloom: Seqloom, pairs: None, row: str, which: str) -> None:
    Path("pairs.tsv").write_text("".join([*ROWS[:3], f"{row}\n", *ROWS[3:]]))
    message = error_message(seqloom("train", "translate", "pairs.tsv", *TINY))
    assert message.startswith(f"pairs.tsv:4: the {which} is empty")
    assert "--data.on-bad-line skip" in message
    result = seqloom(
        "train", "translate", "pairs.tsv", "--data.on-bad-line", "skip", "--dry-run", "--decode.max-length", "6", *TINY
    )
    assert "1 bad line skipped" in result.out


def test_a_pair_with_a_high_length_ratio_is_kept_or_dropped(seqloom: Seqloom, pairs: None) -> None:
    Path("pairs.tsv").write_text("".join([*ROWS[:3], f"one .\t{'un ' * 60}.\n", *ROWS[3:]]))
    Path("valid.tsv").write_text("one cat .\tun chat .\n")
    words = ("train", "translate", "pairs.tsv", "--valid", "valid.tsv", "--dry-run", "--decode.max-length", "6", *TINY)
    for how, dropped in (("keep", 0), ("drop", 1)):
        result = seqloom(*words, "--data.on-ratio", how)
        assert result.code == 0
        message = " ".join(result.out.split())
        assert f"1 pair with more than 9 times the tokens on one side, {dropped} of them dropped" in message
        assert "pairs.tsv:4" in message
    assert "pairs.tsv:4" in seqloom("check", "translate", "pairs.tsv").out


def test_a_file_that_is_no_image_is_refused_or_skipped(seqloom: Seqloom, pairs: None) -> None:
    Path("7.png").write_text("a text")
    message = error_message(seqloom("train", "caption", "captions.tsv", *TINY))
    assert message.startswith("captions.tsv:8: '7.png' is not an image")
    result = seqloom(
        "train",
        "caption",
        "captions.tsv",
        "--data.on-bad-image",
        "skip",
        "--dry-run",
        "--decode.max-length",
        "6",
        *TINY,
    )
    assert "1 unreadable image skipped" in " ".join(result.out.split())


def test_invalid_rows_of_a_test_file_can_be_skipped(seqloom: Seqloom, generators: Path, pairs: None) -> None:
    Path("7.png").write_text("a text")
    Path("pairs.tsv").write_text("".join([*ROWS, "one .\t\n", f"{'one ' * 100}.\tun .\n"]))
    for task, file, option, report in (
        ("caption", "captions.tsv", "--data.on-bad-image", "1 unreadable image skipped"),
        ("translate", "pairs.tsv", "--data.on-bad-line", "1 bad line skipped"),
    ):
        words = ("evaluate", generators / task, file)
        assert f"{option} skip" in error_message(seqloom(*words))
        result = seqloom(*words, option, "skip")
        assert result.code == 0
        assert report in " ".join(result.out.split())
        assert error_message(seqloom(*words, option, "leap")).startswith(f"{option} is 'leap'; expected one of refuse")
    message = error_message(seqloom(*words, "--data.on-bad-line", "refuse", "--data.max-characters", "300"))
    assert message.endswith("pass a larger --data.max-characters.")
    message = error_message(seqloom(*words, "--data.on-bad-image", "skip"))
    assert message.startswith("--data.on-bad-image has no effect in translate")


def test_a_caption_without_an_image_is_refused(seqloom: Seqloom, pairs: None) -> None:
    Path("7.png").unlink()
    message = error_message(seqloom("train", "caption", "captions.tsv", *TINY))
    assert message.startswith("captions.tsv:8: '7.png' is not there")
    rows = Path("captions.tsv").read_text().splitlines(keepends=True)
    Path("captions.tsv").write_text("".join([*rows[:4], "\ta caption alone\n", *rows[4:]]))
    message = error_message(seqloom("train", "caption", "captions.tsv", *TINY))
    assert message.startswith("captions.tsv:5: the image is empty")


@pytest.mark.parametrize("key", ["source", "target"])
def test_an_unknown_language_is_refused(seqloom: Seqloom, key: str) -> None:
    message = error_message(seqloom("train", "translate", f"--data.{key}-language", "en_GB", *TINY))
    assert message.startswith(f"--data.{key}-language is 'en_GB' (did you mean en?); expected one of ar, ")


# Invalid input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("translate", ""), "text 1 is empty. Give at least one word."),
        (("translate", "one", " "), "text 2 is empty. Give at least one word."),
        (("caption", ""), "text 1 is empty. Name an image's file."),
        (("translate", "jaune"), "text 1: 'jaune' has no word in the model's vocabulary. Give a text in the"),
        (("translate", "one " * 21), "text 1: 21 tokens, but the model reads at most 20. Split it, or"),
        (("translate", "one", "--beam", "2", "--n-best", "3"), "--n-best is 3, more than --beam, 2. Use a larger beam"),
        (("translate", "one", "--beam", "2", "--temperature", "1"), "--beam is 2 and --temperature 1: beam search"),
        (("translate", "one", "--beam", "many"), "--beam is 'many'; expected a whole number."),
        (
            ("translate", "one", "--min-length", "9", "--max-length", "5"),
            "--min-length is 9, more than --max-length, 5.",
        ),
        (("translate", "one", "--top-k", "3"), "--top-k has no effect"),
        (("caption", "nowhere.png"), "nowhere.png: is not there. Check the name and the folder."),
        (("caption", "notes.txt"), "notes.txt: is not an image (its content is none of JPEG, "),
    ],
)
def test_invalid_requests_are_refused(seqloom: Seqloom, generators: Path, words: tuple[str, ...], message: str) -> None:
    Path("notes.txt").write_text("a text")
    assert error_message(seqloom("predict", generators / words[0], *words[1:])).startswith(message)


def test_empty_standard_input_is_refused(seqloom: Seqloom, generators: Path) -> None:
    assert error_message(seqloom("predict", generators / "translate", stdin="")).startswith(
        "standard input: nothing to read."
    )
    message = error_message(seqloom("predict", generators / "translate", stdin="one\n\none\n"))
    assert message.startswith("standard input:2: an empty line")


@pytest.mark.parametrize(
    "option", [("--beam", "2"), ("--n-best", "2"), ("--temperature", "1"), ("--show", "attention")]
)
def test_options_of_decoding_are_refused_for_a_classifier(
    seqloom: Seqloom, runs: Path, option: tuple[str, str]
) -> None:
    run = runs / "classify"
    message = error_message(seqloom("predict", run, "a film", *option))
    assert (
        message
        == f"{option[0]} is only for tasks whose answers are texts; the task of {run} is classify. Leave it out."
    )


def test_a_classifier_is_not_evaluated_with_a_beam(seqloom: Seqloom, runs: Path, files: Path) -> None:
    message = error_message(seqloom("evaluate", runs / "classify", "reviews.csv", "--beam", "2"))
    assert "beam has no effect, because classify does not generate text" in message


def test_generate_is_refused_for_a_translator(seqloom: Seqloom, generators: Path) -> None:
    message = error_message(seqloom("generate", generators / "translate"))
    advice = f"Use `seqloom predict {generators / 'translate'}`."
    assert message.endswith(f"`generate` needs a language model; the task of this run is translate. {advice}")


# Texts that can't be encoded ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that translates subwords, with learned positions for sixteen of them."""
    folder = tmp_path_factory.mktemp("answers")
    rows = [f"one {a} {b}\tun {a} {b}\n" for a in ("red", "green", "blue") for b in ("box", "disc", "one")]
    (folder / "pairs.tsv").write_text("".join(rows))
    options = ("--model", "transformer", "--model.positions", "learned", "--data.max-length", "16")
    assert main(["train", "translate", str(folder / "pairs.tsv"), "--out", str(folder / "run"), *TINY, *options]) == 0
    return folder / "run"


def test_an_unknown_text_is_an_error_and_an_unknown_character_a_warning(seqloom: Seqloom, transformer: Path) -> None:
    assert error_message(seqloom("predict", transformer, "漢字 语")).startswith(
        "text 1: '漢字 语' has no word in the model's vocabulary."
    )
    result = seqloom("predict", transformer, "one 漢 box")
    assert result.code == 0
    assert result.err.startswith("warning out of the model's vocabulary: 漢")
    assert seqloom("predict", transformer, "one box").err == ""


def test_the_error_of_a_text_that_can_not_be_encoded_has_its_location(
    seqloom: Seqloom, transformer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqloom.cli.predict.BATCH", 2)
    lines = [*["one box"] * 3, "漢字"]
    Path("lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    message = "'漢字' has no word in the model's vocabulary."
    for words, location in ((("--file", "lines.txt"), "lines.txt:4"), (tuple(lines), "text 4")):
        result = seqloom("predict", transformer, *words)
        assert result.err.startswith(f"seqloom: {location}: {message}")
    result = seqloom("predict", transformer, stdin="\n".join(lines))
    assert result.err.startswith(f"seqloom: standard input:4: {message}")


def test_a_minimum_length_beyond_the_positions_is_refused(seqloom: Seqloom, transformer: Path) -> None:
    message = "--min-length is 20, and the model can generate at most 16 tokens. Make it smaller, or train with"
    longer = ("--min-length", "20", "--max-length", "40")
    assert error_message(seqloom("predict", transformer, "one box", *longer)).startswith(message)
    assert error_message(seqloom("evaluate", transformer, transformer.parent / "pairs.tsv", *longer)).startswith(
        message
    )
    answer = json.loads(seqloom("predict", transformer, "one box", "--min-length", "16", "--json").out)
    assert answer["ended"] or answer["cut_by"] == "positions"


def test_a_prompt_in_an_unknown_script_is_refused(seqloom: Seqloom, transformer: Path) -> None:
    message = error_message(seqloom("predict", transformer, "one", "--prompt", "漢"))
    assert message.startswith("--prompt is '漢', none of whose char")
