"""The progress of a run as JSON."""

import json
from dataclasses import asdict

import pytest

from seqloom.training.trainer_state import Progress


def test_progress_is_read_back_and_unknown_keys_are_ignored() -> None:
    progress = Progress(epoch=2, step=7, best=0.5, validations=[4, 6])
    progress.recent.loss = 1.5
    assert Progress.from_json(json.loads(json.dumps(asdict(progress)))) == progress
    assert Progress.from_json({**asdict(progress), "of_a_later_version": 1}) == progress


WRONG = {
    "step": ["x", 1.5, -1, True, None],
    "validations": [3, ["x"]],
    "seconds": ["1"],
    "log_bytes": [-1],
    "recent": [3],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values])
def test_the_error_of_an_invalid_value_names_its_key(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{key}(\.\w+)* is "):
        Progress.from_json({key: value})
