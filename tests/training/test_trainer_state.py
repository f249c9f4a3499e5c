"""The progress of a run as JSON."""

import json
import math
from dataclasses import asdict

import pytest

from seqloom.training.trainer_state import Candidate, Progress


def test_progress_is_read_back_and_unknown_keys_are_ignored() -> None:
    progress = Progress(epoch=2, step=7, candidates=[Candidate(4, 0.5), Candidate(6, 0.25, 3.0)], validations=[4, 6])
    progress.recent.loss = 1.5
    assert Progress.from_json(json.loads(json.dumps(asdict(progress)))) == progress
    assert Progress.from_json({**asdict(progress), "of_a_later_version": 1}) == progress


@pytest.mark.parametrize(
    ("loss", "expected"), [(3.5, 3.5), (None, math.inf), (math.nan, math.inf), (-math.inf, math.inf)]
)
def test_an_older_checkpoint_has_the_best_validation_alone(loss: float | None, expected: float) -> None:
    older = {"step": 9, "best": 0.5, "best_loss": loss, "best_step": 6, "since_best": 1}
    best = Candidate(6, 0.5, expected)
    assert Progress.from_json(older) == Progress(step=9, candidates=[best], lowest_loss=expected, since_best=1)
    assert Progress.from_json({"step": 9, "best": None, "best_loss": None, "best_step": 0}) == Progress(step=9)


WRONG = {
    "candidates": [3, [3], [{"step": 2}], [{"step": -1, "score": 1.0, "loss": 1.0}]],
    "lowest_loss": ["1", None],
    "best": ["1"],
    "step": ["x", 1.5, -1, True, None],
    "validations": [3, ["x"]],
    "seconds": ["1"],
    "log_bytes": [-1],
    "recent": [3],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values])
def test_the_error_of_an_invalid_value_names_its_key(key: str, value: object) -> None:
    field = "candidates" if key == "best" else key
    with pytest.raises(ValueError, match=rf"^{field}(\.\w+)* is "):
        Progress.from_json({key: value})
