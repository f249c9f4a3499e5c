"""Captions of drawn scenes: exact match, and whether the model attends to the object that it names.

    python benchmarks/scenes.py [RUN] [--seed 1]

Without RUN, it trains a model first: a few minutes on a GPU, hours on a CPU. The model is a GRU that sees the image by
attention only: nothing of the image is in its initial state, and no context is passed on to the next step. So it has to
attend to an object to name it.

The position of each object is known. For every correctly generated noun of the test scenes, the region with the largest
attention weight must overlap the object's box.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

import seqloom
from seqloom.data.corpora.scenes import SHAPES, Scene, attended, captioned
from seqloom.data.source import DataSource
from seqloom.runs.devices import resolve_device
from seqloom.runs.run import Run
from seqloom.tasks.caption.task import Caption

RECIPE: dict[str, Any] = {
    "model": {
        "arch": "gru",
        "attend": "after",
        "bridge": "none",
        "combine": "tanh",
        "stages": 2,
        "image_width": 16,
        "dropout": 0.4,
    },
    "data": {"examples": 20_000},
    "train": {
        "steps": 6000,
        "validate_every": 2000,
        "batch_tokens": 20_000,
        "lr": 3e-3,
        "warmup": 300,
        "doubly_stochastic": 0.01,
    },
}


def measure(run: Run) -> dict[str, float]:
    """On the test split: exact match, and for correctly generated nouns the fraction whose object is attended to."""
    config = run.experiment.model_copy(
        update={"data": run.experiment.data.model_copy(update={"corpus": "scenes", "train": ()})}
    )
    data = config.data
    task = Caption.prepare(config, DataSource.resolve(data, config.data_spec).hashed())
    test = task.data.splits["test"]
    scenes = [scene for (scene, _), _ in captioned(data.seed, data.corpus_length, data.examples)]
    grid = task.image_grid()
    exact, hits = [], []
    options = config.decode.model_copy(update={"n_best": 1})
    with torch.inference_mode():
        for rows in task.decoding_batches(test, options):
            hypotheses = task.decode(run.model, task.source_batch(test, rows), options, run.device, attention=True)
            for row, (best, *_) in zip(rows.tolist(), hypotheses, strict=True):
                scene = scenes[int(test.line[row]) - 1]
                words = task.target.decode(best.tokens).split()
                exact.append(" ".join(words) == scene.caption)
                hits += attended_nouns(scene, words, best.alignment.numpy(force=True).reshape(-1, *grid))
    shares = {"exact": round(float(np.mean(exact)), 3), "attended": round(float(np.mean(hits)), 3)}
    return {"scenes": len(exact), "nouns": len(hits), **shares}


def attended_nouns(scene: Scene, words: list[str], weights: Float[ndarray, "steps rows columns"]) -> list[bool]:
    """For each object whose noun is generated in its position, whether it is attended to; each word is a token."""
    steps = [step for step, word in enumerate(words) if word in SHAPES]
    pairs = zip(steps, scene.objects, strict=False)  # there may be too many nouns or too few
    return [attended(weights[step], item.box) for step, item in pairs if words[step] == item.words[-1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.run:
        print(measure(seqloom.load(options.run)))
        return
    folder = Path(tempfile.mkdtemp()) / "scenes"
    try:
        start = time.monotonic()
        recipe = {**RECIPE, "data": {**RECIPE["data"], "seed": options.seed}}
        run = seqloom.train("caption", **recipe, seed=options.seed, out=folder)
        device, took = resolve_device(run.experiment.train.device), time.monotonic() - start
        print(f"seed {options.seed}, trained on {device} in {took:.0f} s: {measure(run)}")
    finally:
        shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main()
