"""Keys by their older names and by their British spellings, and values that had another meaning in older runs.

A file may use any of these names, since configs and runs outlive a release. On the command line and in Python, British
spellings are accepted; an older name is an error that states the new one.
"""

from collections.abc import Callable, Container, Mapping

from seqloom.core.config.section import section_of
from seqloom.core.problem import ConfigError, KeyName, Problem

BRITISH = {"data.tokeniser": "data.tokenizer", "train.optimiser": "train.optimizer", "model.centred": "model.centered"}

RENAMED: dict[str, tuple[str, ...]] = {
    "data.length": ("data.corpus_length",),
    "data.vocabulary": ("data.vocabulary_size",),
    "model.width": ("model.dim",),
    "model.length": ("model.max_length",),
    "model.context": ("model.max_length",),
    "model.summary": ("model.context_pool",),
    "model.meeting": ("model.combine",),
    "model.feed": ("model.context_input",),
    "model.initial": ("model.initial_state",),
    "model.order": ("model.norm_order",),
    "model.key_heads": ("model.kv_heads",),
    "model.scaled": ("model.scale_embeddings",),
    "train.batch": ("train.batch_tokens", "train.batch_size"),
    "train.carry": ("train.carry_state",),
    "train.bptt_drawn": ("train.bptt_random",),
    "train.decay": ("train.weight_decay",),
    "train.floor": ("train.min_lr_ratio",),
    "train.slowness": ("train.temporal_activation_l2",),
    "train.not_finite": ("train.max_skipped_steps",),
    "train.average": ("train.average_checkpoints",),
    "train.keep": ("train.keep_checkpoints",),
    "decode.beam": ("decode.beam_size",),
    "decode.length": ("decode.max_length",),
    "decode.no_repeat": ("decode.no_repeat_ngram",),
}

REDEFINED: dict[int, dict[tuple[str, str], str]] = {
    # Up to run format 1, `last` of a bidirectional model was the last step of both directions.
    1: {("model.pool", "last"): "last-step", ("model.context_pool", "last"): "last-step"},
}
"""What a value of a key is called now, by the last run format in which it had that meaning."""


def americanize(values: Mapping[str, object]) -> dict[str, object]:
    """Nested values with British spellings of keys replaced.

    >>> americanize({"train": {"optimiser": "sgd"}})
    {'train': {'optimizer': 'sgd'}}
    """
    return _rename(values, BRITISH)


def migrate(
    values: Mapping[str, object], of_task: Mapping[str, str] | None = None, keys: Container[str] = ()
) -> dict[str, object]:
    """The nested values of a file with older names of keys replaced.

    of_task: new names by older ones, where the file's task differs
    keys: the keys that the file's task and model have; a key of a user-defined part may have an older name of another

    >>> migrate({"train": {"batch": 32}}), migrate({"train": {"batch": 32}}, {"train.batch": "train.batch_size"})
    ({'train': {'batch_tokens': 32}}, {'train': {'batch_size': 32}})
    """
    names = {old: new[0] for old, new in RENAMED.items()} | dict(of_task or {})
    return _rename(values, {old: new for old, new in names.items() if old not in keys})


def migrate_values(
    values: Mapping[str, object], run_format: int, choices: Callable[[str], Container[str]]
) -> dict[str, object]:
    """The nested values of a run's config, with those that had another meaning in its format under their present names.

    choices: the words that a key takes; a key of a user-defined part may have an older value of another

    >>> migrate_values({"model": {"pool": "last"}}, 1, lambda key: ("last", "last-step"))
    {'model': {'pool': 'last-step'}}
    """
    result = dict(values)
    for last_format, changes in REDEFINED.items():
        for (key, old), new in changes.items() if run_format <= last_format else ():
            section, _, name = key.partition(".")
            if section_of(result, section).get(name) == old and new in choices(key):
                result[section] = {**section_of(result, section), name: new}
    return result


def older_names(key: str) -> list[str]:
    """The other names under which a file may hold a key."""
    names = BRITISH.items(), ((old, new) for old, new_names in RENAMED.items() for new in new_names)
    return [old for pairs in names for old, new in pairs if new == key]


def renamed_key(key: str) -> Problem | None:
    """The problem of a key that is written under an older name; None for any other key."""
    if key not in RENAMED:
        return None
    new = " or ".join(f"{KeyName(name)}" for name in RENAMED[key])
    return Problem("renamed-key", f"{KeyName(key)} is now called {new}", "Use that name", key=key)


def _rename(values: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
    result = dict(values)
    for old, new in names.items():
        (section, name), new_name = old.split("."), new.partition(".")[2]
        keys = dict(section_of(result, section))
        if name in keys:
            if new_name in keys:
                message = f"{KeyName(old)} and {KeyName(new)} are the same key, set twice"
                raise ConfigError(message, "Leave one out", key=new, code="key-given-twice")
            result[section] = {new_name if key == name else key: value for key, value in keys.items()}
    return result
