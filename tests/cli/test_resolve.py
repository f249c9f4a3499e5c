from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.cli.errors import as_option, key_formatter, nearest_option
from seqloom.cli.resolve import Request, without_overruled
from seqloom.cli.train import train
from seqloom.core.problem import ConfigError, KeyName, Problem, UserError, format_problem
from seqloom.tasks.config_keys import all_keys
from seqloom.tasks.experiment import Experiment
from tests.cli.conftest import Seqloom


def request_of(*words: str) -> Request:
    """The parsed request of a command line."""
    return Request.of(train.make_context("train", list(words)).params)


def experiment_of(*words: str) -> Experiment:
    return request_of(*words).experiment()


def test_short_names_and_dotted_names_are_the_same() -> None:
    short = experiment_of(
        "tag", "a.conllu", "--model", "gru", "--size", "tiny", "--valid", "b", "--valid", "c", "--seed", "3"
    )
    dotted = ("--model.arch", "gru", "--model.size", "tiny", "--data.valid", "b", "--data.valid", "c")
    assert short == experiment_of("tag", *dotted, "a.conllu", "--seed", "3")
    assert short.data.valid == ("b", "c")
    assert short.data.train == ("a.conllu",)
    assert short.seed == 3


def test_options_have_any_position_and_dashes_or_underscores() -> None:
    experiment = experiment_of("classify", "--data.on-bad-line", "skip", "a.csv", "--no-model.bidirectional", "b.csv")
    assert experiment == experiment_of(
        "--no-model.bidirectional", "--data.on_bad_line=skip", "classify", "a.csv", "b.csv"
    )
    assert experiment.data.on_bad_line == "skip"
    assert experiment.data.train == ("a.csv", "b.csv")


def test_the_value_none_unsets_an_optional_key() -> None:
    assert experiment_of("classify").train.clip_norm == 1.0
    assert experiment_of("classify", "--train.clip-norm", "none").train.clip_norm is None
    assert experiment_of("tag", "--model.characters", "none").model.characters == "none"


@given(st.sampled_from(sorted(all_keys())))
def test_every_key_is_an_option(dotted: str) -> None:
    key = all_keys()[dotted]
    words = [key.option] if key.kind is bool else [key.option, "5"]
    request = request_of("classify", *words)
    expected: Any = True if key.kind is bool else ["5"] if key.kind is tuple else "5"
    assert request.options == {key.section: {key.name: expected}}


def test_options_override_the_config_file(tmp_path: Path) -> None:
    config = tmp_path / "e.toml"
    config.write_text('task = "classify"\nseed = 4\n[data]\ncorpus = "numbers"\n[model]\ndim = 99\n[train]\nlr = 0.5\n')
    plain = experiment_of("--config", str(config))
    assert (plain.task, plain.seed, plain.train.lr, plain.model.dim) == ("classify", 4, 0.5, 99)
    overridden = experiment_of(
        "--config", str(config), "--train.lr", "0.1", "--seed", "5", "reviews.csv", "--size", "tiny"
    )
    assert (overridden.seed, overridden.train.lr, overridden.data.corpus, overridden.data.train) == (
        5,
        0.1,
        None,
        ("reviews.csv",),
    )
    assert overridden.model.dim == 32  # --size sets its widths, whatever the file has


def test_a_corpus_on_the_command_line_replaces_the_files_of_the_config() -> None:
    file = {"data": {"train": ["a.txt"], "corpus_length": 3}, "task": "language"}
    assert without_overruled(file, {"data": {"corpus": "copy"}}) == {"data": {"corpus_length": 3}, "task": "language"}


def test_steps_on_the_command_line_replace_the_epochs_of_the_config(tmp_path: Path) -> None:
    config = tmp_path / "e.toml"
    config.write_text('task = "classify"\n[train]\nepochs = 10\n')
    train = experiment_of("--config", str(config), "--train.steps", "40").train
    assert (train.steps, train.epochs) == (40, None)
    train = experiment_of("--config", str(config), "--train.steps", "40", "--train.epochs", "3").train
    assert (train.steps, train.epochs) == (40, 3)
    config.write_text('task = "classify"\n[train]\nepochs = 3\nbatch_tokens = 99\n')
    train = experiment_of("--config", str(config), "--train.steps", "none", "--train.batch-size", "none").train
    assert (train.steps, train.epochs, train.batch_size, train.batch_tokens) == (None, 3, None, 99)


@pytest.mark.parametrize(
    "line", ['data = "a.csv"', 'model = "gru"', "model = true", "train = 3", "[[train]]", "decode = []"]
)
def test_a_section_that_is_no_table_is_refused(line: str, tmp_path: Path) -> None:
    config = tmp_path / "e.toml"
    config.write_text(f'task = "classify"\n{line}\n')
    with pytest.raises(ConfigError, match=r"e\.toml:2: (data|model|train|decode) is .*; expected a table of keys"):
        experiment_of("--config", str(config), "--size", "tiny", "--train.lr", "1")


def test_an_invalid_value_of_a_config_file_has_its_line(tmp_path: Path) -> None:
    config = tmp_path / "e.toml"
    config.write_text('task = "classify"\n[train]\nlr = -1\n')
    with pytest.raises(ConfigError, match=r"e\.toml:3: train\.lr is -1"):
        experiment_of("--config", str(config))
    with pytest.raises(ConfigError, match=r"^train\.batch_tokens is 'x'"):
        experiment_of("--config", str(config), "--train.lr", "1", "--train.batch-tokens", "x")


def test_an_error_names_options_that_were_given_and_keys_of_the_config_file(seqloom: Seqloom) -> None:
    Path("e.toml").write_text('task = "language"\n[train]\nbptt = 64\n')
    result = seqloom("train", "--config", "e.toml", "--model", "transformer", "--model.max-length", "32")
    assert result.err.startswith("seqloom: e.toml:3: train.bptt is 64, more than --model.max-length, 32.")
    result = seqloom("train", "language", "--model", "transformer", "--model.max-length", "32", "--train.bptt", "64")
    assert result.err.startswith("seqloom: --train.bptt is 64, more than --model.max-length, 32.")


@pytest.mark.parametrize("name", ["data.text", "runs/data.text", "data.text.csv", "my-data.text"])
def test_a_file_named_like_a_key_keeps_its_name(name: str) -> None:
    problem = Problem("no-such-file", "there is no such file", f"Name another, or give {KeyName('data.text')}", name)
    message = f"{name}: there is no such file. Name another, or give --data.text."
    assert format_problem(problem, as_option) == message


def test_a_key_of_the_config_file_is_named_as_a_key(tmp_path: Path) -> None:
    config = tmp_path / "e.toml"
    config.write_text('task = "classify"\n[train]\nlr = 0.1\n')
    name = key_formatter(request_of("--config", str(config), "--train.carry-state").option)
    assert name("train.lr", None) == "train.lr"
    assert (name("train.carry_state", "true"), name("train.carry_state", "false")) == (
        "--train.carry-state",
        "--no-train.carry-state",
    )
    assert name("out", "another/folder") == "--out another/folder"  # not a key of a config


def test_keys_that_an_option_makes_unused_are_dropped(tmp_path: Path) -> None:
    config = tmp_path / "e.toml"
    config.write_text('task = "classify"\n[train]\noptimiser = "adam"\nbeta1 = 0.8\n')
    assert experiment_of("--config", str(config), "--train.optimizer", "sgd").train.optimizer == "sgd"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no task is named"),
        (["clasify"], "Did you mean classify"),
        (["nonsense"], "unknown task 'nonsense'"),
    ],
)
def test_an_unknown_task_is_refused(words: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        experiment_of(*words)


def test_a_file_without_a_task_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x")
    with pytest.raises(UserError, match="Name it before the file"):
        experiment_of(str(path))


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("--train.learning-rate", "--train.lr"),
        ("--train.learning-rat", "--train.lr"),
        ("--lr", "--train.lr"),
        ("--epochs", "--train.epochs"),
        ("--batch-size", "--train.batch-size"),
        ("--no-model.bidirectionl", "--no-model.bidirectional"),
        ("--modle", "--model"),
        ("--dry-rum", "--dry-run"),
        ("--ouput", "--out"),
    ],
)
def test_an_unknown_option_names_the_nearest(seqloom: Seqloom, wrong: str, nearest: str) -> None:
    result = seqloom("train", "classify", "reviews.csv", wrong, "3")
    assert result.code == 2
    sentence = f"unknown option {wrong}. Did you mean {nearest}? (seqloom train classify --help lists all)"
    assert result.err == f"seqloom: {sentence}\n"


def test_an_option_unlike_any_other_has_no_suggestion() -> None:
    assert nearest_option("--zzzzzz", ["--out", "--json"]) is None


def test_an_error_names_keys_as_the_config_file_spells_them(tmp_path: Path, seqloom: Seqloom) -> None:
    config = tmp_path / "e.toml"
    config.write_text("task = 'tag'\n[train]\nbatch = 64\nbatch_size = 8\n")
    result = seqloom("train", "--config", str(config))
    expected = "train.batch and train.batch_size are both given (64, 8). Give one of them."
    assert result.err == f"seqloom: {config}:4: {expected}\n"
    config.write_text("task = 'tag'\n[model]\nwidth = 0\n")
    assert seqloom("train", "--config", str(config)).err.startswith(f"seqloom: {config}:3: model.width is 0; expected")


def test_the_error_of_a_key_without_effect_names_the_given_file(seqloom: Seqloom) -> None:
    Path("pairs.tsv").write_text("one\tun\n")
    result = seqloom("train", "translate", "pairs.tsv", "--data.examples", "50")
    assert result.err == "seqloom: --data.examples has no effect together with pairs.tsv. Leave it out.\n"


def test_the_error_of_an_unknown_key_has_one_remark(tmp_path: Path, seqloom: Seqloom) -> None:
    config = tmp_path / "e.toml"
    config.write_text("task = 'tag'\n[train]\nzzz = 64\n")
    error = seqloom("train", "--config", str(config)).err
    assert error == f"seqloom: {config}:3: unknown key train.zzz. (seqloom train tag --help lists all)\n"
