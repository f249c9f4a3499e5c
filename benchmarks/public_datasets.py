"""Scores on public data sets against those of the literature; each is one call of `seqloom.train`.

    python benchmarks/public_datasets.py DATA [shakespeare-transformer shakespeare-lstm sst2 ewt names]

DATA is a folder with tinyshakespeare/input.txt, sst2/{train,dev,test}.tsv,
ud-english-ewt/en_ewt-ud-{train,dev,test}.conllu and names/*.txt. seqloom does not include them.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import seqloom
from seqloom.tasks.metrics.registry import readable

# nanoGPT's CPU-sized character model: 4 layers, 4 heads, width 128, context 64, batch 12, 2,000 steps, no dropout.
NANO = {
    "steps": 2000,
    "batch_size": 12,
    "bptt": 64,
    "warmup": 100,
    "min_lr_ratio": 0.1,
    "lr": 1e-3,
    "validate_every": 500,
}
NANO_MODEL = {"dim": 128, "depth": 4, "heads": 4, "hidden": 512, "positions": "learned", "tied": True, "dropout": 0.0}
ADAMW = {"optimizer": "adamw", "weight_decay": 0.1, "beta2": 0.99}

EXPERIMENTS: dict[str, dict[str, Any]] = {
    "shakespeare-transformer": {
        "task": "language",
        "files": ["tinyshakespeare/input.txt"],
        "model": {"arch": "transformer", **NANO_MODEL},
        "train": {**NANO, **ADAMW, "samples": 0},
        "score": ("valid", "loss"),
        "literature": "1.88 (nanoGPT)",
    },
    "shakespeare-lstm": {
        "task": "language",
        "files": ["tinyshakespeare/input.txt"],
        "model": {"arch": "lstm", "dim": 128, "hidden": 384, "dropout": 0.0},
        "train": {**NANO, "lr": 4e-3, "samples": 0},
        "score": ("valid", "loss"),
        "literature": "",
    },
    "sst2": {
        "task": "classify",
        "files": ["sst2/train.tsv"],
        "valid": "sst2/dev.tsv",
        "test": "sst2/test.tsv",
        "model": {
            "arch": "lstm",
            "bidirectional": True,
            "dim": 150,
            "hidden": 75,
            "pool": "mean",
            "init": "uniform",
            "dropout": 0.3,
            "input_dropout": 0.5,
            "word_dropout": 0.2,
        },
        "data": {"lowercase": True, "min_count": 2},
        "train": {"epochs": 6, "batch_tokens": 256, "lr": 5e-4, "label_smoothing": 0.1},
        "score": ("test", "accuracy"),
        "literature": "0.79 to 0.82",
    },
    "ewt": {
        "task": "tag",
        "files": ["ud-english-ewt/en_ewt-ud-train.conllu"],
        "valid": "ud-english-ewt/en_ewt-ud-dev.conllu",
        "test": "ud-english-ewt/en_ewt-ud-test.conllu",
        "model": {"arch": "lstm"},
        "train": {},
        "score": ("test", "accuracy"),
        "literature": "0.954 to 0.969",
    },
    "names": {
        "task": "classify",
        "files": ["names"],
        "model": {"arch": "gru", "pool": "last", "bidirectional": False, "dropout": 0.3, "word_dropout": 0.0},
        "data": {"tokenizer": "character", "test_share": 0.1},
        "train": {"lr": 2e-3, "label_smoothing": 0.0},
        "score": ("test", "accuracy"),
        "literature": "",
    },
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, nargs="?", help="the folder of data sets")
    arguments.add_argument("names", nargs="*", help=f"which of {', '.join(EXPERIMENTS)} (default: all)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--keep", type=Path, help="keep the runs in this folder")
    options = arguments.parse_args()
    if options.data is None:
        print("Name the folder of data sets: python benchmarks/public_datasets.py DATA")
        return
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, seed {options.seed}")
    for name in options.names or EXPERIMENTS:
        print(row(name, EXPERIMENTS[name], options.data, options.seed, options.keep), flush=True)


def row(name: str, spec: dict[str, Any], data: Path, seed: int, keep: Path | None) -> str:
    """Train, and return a table row of the result."""
    out = (keep or Path(tempfile.mkdtemp())) / name
    start = time.monotonic()
    run = seqloom.train(
        spec["task"],
        *(data / file for file in spec["files"]),
        valid=data / spec["valid"] if "valid" in spec else (),
        test=data / spec["test"] if "test" in spec else (),
        model=spec["model"],
        data={"seed": seed, **spec.get("data", {})},
        train=spec["train"],
        seed=seed,
        out=out,
    )
    seconds = time.monotonic() - start
    split, score = spec["score"]
    size, scores = run.manifest.parameters, run.scores
    if keep is None:
        shutil.rmtree(out.parent)
    suffix = f"   literature {spec['literature']}" if spec["literature"] else ""
    step = scores["best_step"]
    weights = "average weights" if step is None else f"step {step}"
    best = f"{readable(scores['chosen_by'])} {scores['valid'][scores['chosen_by']]:.4f}, {weights}"
    return (
        f"{name:24s} {split} {readable(score)} {scores[split][score]:.4f}   {size:,} parameters   {seconds:.0f} s"
        f"   (validation: {best}){suffix}"
    )


if __name__ == "__main__":
    main()
