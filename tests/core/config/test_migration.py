"""Older names of keys: accepted in files, refused in Python with the present name."""

import re
from pathlib import Path

import pytest

from seqloom.core.config.migration import BRITISH, REDEFINED, RENAMED, americanize, migrate, migrate_values, older_names
from seqloom.core.problem import ConfigError
from seqloom.core.run_format import FORMAT
from seqloom.tasks.config_keys import all_keys
from seqloom.tasks.registry import experiment, read_config

FIXTURES = sorted((Path(__file__).parent.parent.parent / "fixtures" / "runs").glob("*/experiment.toml"))
NEW = BRITISH | {old: new[0] for old, new in RENAMED.items()}


def test_every_present_name_is_a_key_and_no_older_name_is() -> None:
    keys = all_keys()
    assert {name for present_names in RENAMED.values() for name in present_names} | set(BRITISH.values()) <= keys.keys()
    assert not keys.keys() & NEW.keys()


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.parent.name)
def test_the_config_of_an_older_run_is_read(path: Path) -> None:
    values = read_config(path)
    config = experiment(values)
    new_names = americanize(values)
    for section in ("data", "model", "train", "decode"):
        for name, value in new_names.get(section, {}).items():  # type: ignore[attr-defined]
            present = getattr(getattr(config, section), name)
            assert present == (tuple(value) if isinstance(value, list) else value)


def test_batch_was_streams_for_language_and_tokens_for_other_tasks(tmp_path: Path) -> None:
    for task, key in (("language", "batch_size"), ("tag", "batch_tokens")):
        (tmp_path / "e.toml").write_text(f"task = '{task}'\n[train]\nbatch = 4\n")
        assert read_config(tmp_path / "e.toml")["train"] == {key: 4}


def test_a_file_with_both_names_of_a_key_is_refused() -> None:
    for old, new in NEW.items():
        (section, name), new_name = old.split("."), new.partition(".")[2]
        values = {"task": "tag", section: {name: 1, new_name: 1}}
        with pytest.raises(ConfigError, match=r"are the same key, set twice"):
            (americanize if old in BRITISH else migrate)(values)


def test_a_value_is_renamed_in_older_runs_that_had_another_meaning_of_it() -> None:
    values = {"task": "classify", "model": {"pool": "last", "context_pool": "mean"}}
    words = {"model.pool": ("last", "last-step"), "model.context_pool": ("last", "last-step", "mean")}
    renamed = {"task": "classify", "model": {"pool": "last-step", "context_pool": "mean"}}
    assert migrate_values(values, 1, words.__getitem__) == renamed
    assert migrate_values(values, FORMAT, words.__getitem__) == values
    assert migrate_values(values, 1, lambda key: ("last", "first")) == values  # a key of a user-defined part
    assert max(REDEFINED) < FORMAT


def test_other_values_are_not_changed() -> None:
    for values in ({"task": "tag"}, {"task": "tag", "train": 5}, {"model": {"arch": "gru", "hidden": 3}}):
        assert migrate(values) == values


def test_an_older_name_in_python_names_the_present_one() -> None:
    for old, new in RENAMED.items():
        section, _, name = old.partition(".")
        with pytest.raises(ConfigError, match=rf"^{re.escape(old)} is now called {re.escape(new[0])}"):
            experiment({"task": "translate", section: {name: 1}})


def test_older_names_of_a_key() -> None:
    assert older_names("model.max_length") == ["model.length", "model.context"]
    assert older_names("train.optimizer") == ["train.optimiser"]
    assert older_names("train.lr") == []
