"""Run several trainings and print a Markdown table of their results, row by row."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import seqloom
from seqloom.runs.run import Run
from seqloom.tasks.metrics.registry import readable
from seqloom.training.events import Event, Valid


@dataclass(frozen=True)
class Bench:
    """Settings of all trainings: seed, device, folder of runs, maximum number of steps (or None), decoding options."""

    seed: int
    device: str
    folder: Path
    steps: int | None
    decode: Mapping[str, Any]

    def trained(
        self,
        name: str,
        *files: Path,
        model: Mapping[str, Any],
        train: Mapping[str, Any],
        data: Mapping[str, Any] | None = None,
        valid: Path | Sequence[str] = (),
    ) -> Run:
        """Train and return the run."""
        print(name, file=sys.stderr, flush=True)
        return seqloom.train(
            "translate",
            *files,
            valid=valid,
            model=model,
            data={"seed": self.seed, **(data or {})},
            train={**train, "device": self.device, **({} if self.steps is None else {"steps": self.steps})},
            decode=self.decode,
            seed=self.seed,
            out=self.folder / name,
            listeners=[progress],
        )


def progress(event: Event) -> None:
    """Print the scores of each validation to standard error."""
    if isinstance(event, Valid):
        scores = ", ".join(
            f"{readable(name)} {event.scores[name]:.4g}" for name in ("loss", "bleu", "chrf", "exact_match")
        )
        print(f"  step {event.step}: {scores}", file=sys.stderr, flush=True)


def row(*cells: object) -> None:
    """Print one row of a table."""
    print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


def head(*names: str) -> None:
    """Print the header of a table."""
    print()
    row(*names)
    row(*("---" for _ in names))


def seconds(run: Run, budget: float = inf) -> str:
    """The seconds of training, with validations, marked if they exceed the budget."""
    took = float(run.scores["cost"]["seconds"])
    return f"{took:.0f} (over {budget:g})" if took > budget else f"{took:.0f}"
