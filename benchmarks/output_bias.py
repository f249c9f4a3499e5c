"""Training from an output bias of zero, and from the prior of the classes (`model.output_bias`), on three data sets.

    python benchmarks/output_bias.py DATA [sst2 names ewt ewt-crf] [--seeds 3]

DATA is the folder of `public_datasets.py`. For each seed both models are trained on the same batches. Columns: the
training loss of the first step; the validation loss and scores after a quarter of the steps, and at the end. A value is
the mean over seeds, followed by half of its range.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

import torch

import seqloom
from seqloom.tasks.metrics.registry import readable
from seqloom.training.events import Event, Step, Valid

SCORES = ("loss", "accuracy", "macro_f1")
TRAIN = {"log_every": 1, "device": "cpu"}
TAGGED = {
    "task": "tag",
    "files": ["ud-english-ewt/en_ewt-ud-train.conllu"],
    "valid": "ud-english-ewt/en_ewt-ud-dev.conllu",
    "model": {"arch": "lstm", "size": "tiny"},
    "train": {"steps": 600, "validate_every": 150, "batch_tokens": 1024},
}
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "sst2": {
        "task": "classify",
        "files": ["sst2/train.tsv"],
        "valid": "sst2/dev.tsv",
        "model": {"arch": "lstm", "size": "tiny"},
        "train": {"steps": 800, "validate_every": 200, "batch_tokens": 1024},
    },
    "names": {
        "task": "classify",
        "files": ["names"],
        "model": {"arch": "gru", "size": "tiny"},
        "data": {"tokenizer": "character"},
        "train": {"steps": 800, "validate_every": 200, "batch_tokens": 1024},
    },
    "ewt": TAGGED,
    "ewt-crf": {**TAGGED, "model": {**TAGGED["model"], "crf": True}},  # type: ignore[dict-item]
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, nargs="?", help="the folder of data sets")
    arguments.add_argument("names", nargs="*", help=f"which of {', '.join(EXPERIMENTS)} (default: all)")
    arguments.add_argument("--seeds", type=int, default=3)
    options = arguments.parse_args()
    if options.data is None:
        print("Name the folder of data sets: python benchmarks/output_bias.py DATA")
        return
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {options.seeds} seeds")
    columns = [f"{readable(name)} at {share}%" for share in (25, 100) for name in SCORES]
    print(f"| data | output bias | first loss | {' | '.join(columns)} |")
    print(f"|---|---|{'---:|' * (1 + len(columns))}")
    for name in options.names or EXPERIMENTS:
        for bias in ("zero", "prior"):
            runs = [measure(EXPERIMENTS[name], options.data, bias, seed) for seed in range(1, options.seeds + 1)]
            print(f"| {name} | {bias} | {' | '.join(map(spread, zip(*runs, strict=True)))} |", flush=True)


def measure(spec: dict[str, Any], data: Path, bias: str, seed: int) -> list[float]:
    """The columns of a run."""
    steps: list[Step] = []
    validations: list[Valid] = []

    def listen(event: Event) -> None:
        if isinstance(event, Step):
            steps.append(event)
        elif isinstance(event, Valid):
            validations.append(event)

    with tempfile.TemporaryDirectory() as folder:
        seqloom.train(
            spec["task"],
            *(data / file for file in spec["files"]),
            valid=data / spec["valid"] if "valid" in spec else (),
            model={**spec["model"], "output_bias": bias},
            data=spec.get("data", {}),
            train={**TRAIN, **spec["train"]},
            seed=seed,
            out=Path(folder) / "run",
            listeners=[listen],
        )
    return [steps[0].loss, *(event.scores[name] for event in (validations[0], validations[-1]) for name in SCORES)]


def spread(values: tuple[float, ...]) -> str:
    return f"{mean(values):.3f} ± {(max(values) - min(values)) / 2:.3f}"


if __name__ == "__main__":
    main()
