"""Drawn scenes described: exact captions, and whether the model looks at what it names while it names it.

    python benchmarks/scenes.py [RUN] [--seed 1]

Without RUN, trains one first: a few minutes on a GPU, hours on a CPU. It is a GRU that is told nothing of the picture
before its first step, looks after each, and carries nothing of what it saw to the next: it has to look at a thing to
name it.

The drawing knows where each object is: for every noun of a scene kept for testing that is rightly said, the region with
the greatest weight, while it is written, must overlap the object's box.
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


def measured(run: Run) -> dict[str, float]:
    """Over the test split: the share of exact captions, the nouns rightly said, and the share of these looked at."""
    chosen = run.experiment.model_copy(
        update={"data": run.experiment.data.model_copy(update={"corpus": "scenes", "train": ()})}
    )
    data = chosen.data
    task = Caption.prepare(chosen, DataSource.resolve(data, Caption.data_spec).hashed())
    test = task.data.splits["test"]
    scenes = [scene for (scene, _), _ in captioned(data.seed, data.corpus_length, data.examples)]
    grid = task.source.grid(chosen.model)
    exact, hits = [], []
    options = chosen.decode.model_copy(update={"n_best": 1})
    with torch.inference_mode():
        for rows in task.decoding_batches(test, options):
            found = task.write(run.model, task.source.batch(test, rows), options, run.device, attention=True)
            for row, (best, *_) in zip(rows.tolist(), found, strict=True):
                scene = scenes[int(test.line[row]) - 1]
                said = task.target.decode(best.tokens).split()
                exact.append(" ".join(said) == scene.caption)
                hits += looked_at(scene, said, best.alignment.numpy(force=True).reshape(-1, *grid))
    shares = {"exact": round(float(np.mean(exact)), 3), "looked at": round(float(np.mean(hits)), 3)}
    return {"scenes": len(exact), "nouns": len(hits), **shares}


def looked_at(scene: Scene, said: list[str], weights: Float[ndarray, "steps rows columns"]) -> list[bool]:
    """For each thing whose noun was said in its turn, whether the model looked at it then; a word is a token here."""
    steps = [step for step, word in enumerate(said) if word in SHAPES]
    both = zip(steps, scene.objects, strict=False)  # there may be too many nouns, or too few
    return [attended(weights[step], thing.box) for step, thing in both if said[step] == thing.words[-1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.run:
        print(measured(seqloom.load(given.run)))
        return
    folder = Path(tempfile.mkdtemp()) / "scenes"
    try:
        begun = time.monotonic()
        recipe = {**RECIPE, "data": {**RECIPE["data"], "seed": given.seed}}
        run = seqloom.train("caption", **recipe, seed=given.seed, out=folder)
        device, took = resolve_device(run.experiment.train.device), time.monotonic() - begun
        print(f"seed {given.seed}, trained on {device} in {took:.0f} s: {measured(run)}")
    finally:
        shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main()
