from typing import Any

import pytest

import seqloom
from seqloom.core.problem import ConfigError


@pytest.mark.parametrize("section", ["data", "train", "decode"])
@pytest.mark.parametrize("value", ["reviews.csv", ["reviews.csv"], 3])
def test_a_section_that_is_no_mapping_is_refused(section: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{section} is .*; expected a table of keys"):
        seqloom.train("classify", **{section: value})
