"""An experiment as a file: reading returns what was written, and an error in it has its line."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.config.section import merge_values
from seqloom.core.config.toml import MAX_BYTES, line_of, read_values, to_toml, toml_value, with_location
from seqloom.core.problem import ConfigError, DataError
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, experiment

cells = pytest.mark.parametrize(
    ("task", "arch"),
    [(task, arch) for task in tuple(TASKS) for arch in tuple(ARCHITECTURES) if arch != "mixer"]
    + [("classify", "mixer"), ("tag", "mixer")],
)


def written_and_read(config: Experiment, *, comments: bool) -> Experiment:
    return experiment(tomllib.loads(to_toml(config, comments=comments)))


@cells
def test_a_written_config_reads_back(task: str, arch: str) -> None:
    config = experiment({"task": task, "model": {"arch": arch}})
    assert written_and_read(config, comments=False) == config
    assert written_and_read(config, comments=True) == config


@pytest.mark.parametrize(
    "values",
    [
        {"train": {"clip_norm": None}},
        {"train": {"steps": 5}},
        {"train": {"steps": 5, "epochs": 2}},
        {"train": {"lr": 1e-7, "clip_value": 1e16, "optimizer": "sgd"}},
        {"data": {"train": ["a.csv", 'b "c"\\\n\t\x7f.csv', "ü\u2028.csv"], "label_separator": "\x1f"}},
        {"data": {"train": "a.csv", "text": "none", "label": "1"}},
        {"model": {"dropout": 0, "bidirectional": False}},
        {"seed": 2**63 - 1},
    ],
)
def test_unusual_values_read_back(values: dict[str, Any]) -> None:
    config = experiment(merge_values({"task": "classify"}, values))
    assert written_and_read(config, comments=False) == config
    assert written_and_read(config, comments=True) == config


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_can_be_a_value(text: str) -> None:
    assert tomllib.loads(f"key = {toml_value(text)}")["key"] == text


@given(st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.booleans())
def test_any_number_can_be_a_value(number: float) -> None:
    read = tomllib.loads(f"key = {toml_value(number)}")["key"]
    assert read == number
    assert type(read) is type(number)


def test_comments_describe_every_key() -> None:
    config = experiment({"task": "language"})
    text = to_toml(config, comments=True)
    for section in (config.data, config.model, config.train, config.decode):
        assert section is not None
        for name, field in type(section).model_fields.items():
            assert f"# {field.description}\n" in text
            assert f"\n{name} = " in text or f"\n# {name} =" in text


def test_arch_comes_first() -> None:
    lines = to_toml(experiment({"task": "tag"})).splitlines()
    assert lines[lines.index("[model]") + 1] == 'arch = "lstm"'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"task = \n", [":1:", "not TOML"]),
        (b"task = 'tag'\nx = [\n\n", [":2:", "not TOML"]),
        (b"task = 'tag'\n[train\n", [":2:", "not TOML"]),
        (b"a = 1\na = 2\n", ["not TOML"]),
        (b"\xff\xfe", ["byte 0", "UTF-8"]),
        (b"a = " + b"[" * 100_000, ["nested"]),
        (b"#" * (MAX_BYTES + 1), ["bytes"]),
    ],
)
def test_a_file_that_is_no_config_is_refused(tmp_path: Path, content: bytes, words: list[str]) -> None:
    path = tmp_path / "experiment.toml"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_values(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_missing_file_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such file\. Write one with `seqloom init"):
        read_values(tmp_path / "none.toml")
    with pytest.raises(DataError, match="is a directory"):
        read_values(tmp_path)
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(DataError, match="not a plain file"):
        read_values(tmp_path / "pipe.toml")


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_bytes(b"\xef\xbb\xbftask = 'tag'\r\nseed = 3\r\n")
    assert read_values(path) == {"task": "tag", "seed": 3}


TEXT = "task = 'tag'\nseed=2\ntrain.batch_tokens = 7\n\n[ model ]\narch = 'gru'\n[train] # how\n  lr = 1\n"


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("task", 1),
        ("seed", 2),
        ("train.batch_tokens", 3),
        ("model.arch", 6),
        ("train.lr", 8),
        ("model.lr", None),
        ("train.l", None),
        ("lr", None),
        ("arch", None),
    ],
)
def test_line_of_finds_the_line_of_a_key(key: str, line: int | None) -> None:
    assert line_of(TEXT, key) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("task = 'tga'\n", 1),
        ("task = 'tag'\n\n[train]\nlr = 'x'\n", 4),
        ("task = 'tag'\n[train]\nbatch_tokens = 2\nlearning_rat = 1\n", 4),
        ("task = 'tag'\n[model]\narch = 'lsmt'\n", 3),
        ("task = 'tag'\nseed = -1\n", 2),
        ("task = 'tag'\n\n[modle]\narch = 'gru'\n", 3),
        ("task = 'tag'\n[[train]]\nlr = 1\n", 2),
        ("task = 'tag'\nsede = 1\n", 2),
        ("task = 'tag'\nmodle.arch = 'gru'\n", 2),
        ("task = 'tag'\n[data]\n[train.lrr]\nx = 1\n", 3),
        ("task = 'tag'\n\ntrain = { batch_tokens = 2, lrr = 3 }\n", 3),
        ("task = 'tag'\n[ 'train' ]\n\"lrr\" = 3\n", 3),
        ("task = 'tag'\ntrain . lrr = 3\n", 2),
        ("task = 'tag'\n[train]\noptimiser = 'sgd'\nmomentum = 0.9\n", 4),
        ("task = 'tag'\n[model]\narch = 'transformer'\ndim = 9\nheads = 2\n", 5),
        ('task = \'language\'\n[decode]\nprompt = """\n[train]\nlrr = 1\n"""\n[train]\nlrr = 1\n', 8),
    ],
)
def test_an_error_has_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        experiment(read_values(path))
    message = str(caught.value).replace("optimizer", "optimiser") if "optimiser" in text else caught.value
    assert str(with_location(caught.value, path)) == f"{path}:{line}: {message}"


def test_an_error_without_a_line_has_its_file(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text("seed = 1\n")
    assert str(with_location(ConfigError("mixer can't."), path)) == f"{path}: mixer can't."


nested = st.dictionaries(st.sampled_from("abc"), st.integers() | st.dictionaries(st.sampled_from("xyz"), st.integers()))


@given(nested, nested)
def test_later_values_override_earlier_ones(below: dict[str, Any], above: dict[str, Any]) -> None:
    before = repr((below, above))
    merged = merge_values(below, above)
    assert repr((below, above)) == before
    assert merged.keys() == below.keys() | above.keys()
    for key, item in merged.items():
        if key not in above:
            assert item == below[key]
        elif isinstance(above[key], dict) and isinstance(below.get(key), dict):
            assert item == below[key] | above[key]
        else:
            assert item == above[key]


@given(nested, nested, nested)
def test_merging_is_associative(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    assert merge_values(merge_values(a, b), c) == merge_values(a, b, c)
