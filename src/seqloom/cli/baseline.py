"""How a model compares with the simplest answer that there is."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from seqloom.cli.console import say
from seqloom.lens.outcome import baseline


def show_baseline(console: Console, scores: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """What always giving the same label would score, where the task has labels; and a warning if that is as good."""
    simplest, accuracy = baseline(details), scores.get("accuracy")
    if simplest is None or not isinstance(accuracy, int | float):
        return
    say(console, "baseline", simplest.sentence())
    if not accuracy > simplest.accuracy:
        told = "this model is no better than that. More steps, another --train.lr or more data may help"
        say(console, "warning", told, "bold yellow")
