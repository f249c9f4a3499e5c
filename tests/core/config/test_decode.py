"""The `decode` section of a config."""

import pytest
from pydantic import ValidationError

from seqloom.core.config.decode import Decode


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("temperature", -1),
        ("temperature", 11),
        ("top_k", 0),
        ("top_p", 0),
        ("top_p", 1.1),
        ("max_length", 0),
        ("seed", -1),
    ],
)
def test_values_out_of_range_are_refused(key: str, wrong: float) -> None:
    with pytest.raises(ValidationError, match=key):
        Decode.model_validate({key: wrong})
