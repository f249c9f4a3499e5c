"""Values over values: options over a config file over defaults."""

from collections.abc import Mapping


def section_of(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    """A section among nested values; empty where there is none.

    >>> section_of({"seed": 1, "train": {"lr": 1}}, "train"), section_of({"seed": 1}, "train")
    ({'lr': 1}, {})
    """
    section = values.get(name)
    return section if isinstance(section, Mapping) else {}


def merged(*layers: Mapping[str, object]) -> dict[str, object]:
    """Nested values, later ones over earlier ones, key by key.

    >>> merged({"train": {"lr": 1, "batch": 2}}, {"train": {"lr": 3}})
    {'train': {'lr': 3, 'batch': 2}}
    """
    whole: dict[str, object] = {}
    for layer in layers:
        for key, item in layer.items():
            inside = whole.get(key)
            whole[key] = merged(inside, item) if isinstance(inside, dict) and isinstance(item, Mapping) else item
    return whole
