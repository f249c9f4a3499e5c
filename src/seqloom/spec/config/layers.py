"""Values over values: options over a config file over defaults."""

from collections.abc import Mapping
from typing import Any


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values, later ones over earlier ones, key by key.

    >>> merged({"train": {"lr": 1, "batch": 2}}, {"train": {"lr": 3}})
    {'train': {'lr': 3, 'batch': 2}}
    """
    whole: dict[str, Any] = {}
    for layer in layers:
        for key, item in layer.items():
            inside = whole.get(key)
            whole[key] = merged(inside, item) if isinstance(inside, dict) and isinstance(item, Mapping) else item
    return whole
