"""Drawn scenes described: exact captions, and whether the model looks at what it names while it names it.

    python benchmarks/scenes.py [RUN] [--seed 1]

Without RUN, trains one first: a few minutes on a GPU, hours on a CPU. A GRU that looks after its step carries nothing
of what it saw to the next: it has to look at a thing to name it.

The drawing knows where each object is: for every noun of a scene kept for testing whose caption is right, the region
with the greatest weight, while that noun is written, must overlap the object's box.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import seqloom
from seqloom.data.corpora.scenes import attended, captioned
from seqloom.data.origin import Origin
from seqloom.runs.run import Run
from seqloom.tasks.translate import Caption

RECIPE: dict[str, Any] = {
    "model": {"arch": "gru", "attend": "after", "stages": 2, "image_width": 16},
    "data": {"examples": 20_000},
    "train": {"steps": 6000, "validate_every": 2000, "batch": 20_000, "lr": 3e-3, "doubly_stochastic": 0.01},
}


def measured(run: Run) -> dict[str, float]:
    """Over the test part: the share of exact captions, and of nouns (in those) that were looked at."""
    chosen = run.experiment.model_copy(
        update={"data": run.experiment.data.model_copy(update={"corpus": "scenes", "train": ()})}
    )
    task = Caption.prepare(chosen, Origin.of(chosen))
    part, scenes = task.data.parts["test"], list(captioned(chosen.seed, chosen.data.length, chosen.data.examples))
    grid = task.source.grid(chosen.model)
    exact = looked = nouns = 0
    options = chosen.decode.model_copy(update={"n_best": 1})
    with torch.inference_mode():
        for rows in task.decoding_batches(part, options):
            found = task.write(run.model, task.source.batch(part, rows), options, run.device, attention=True)
            for row, (best, *_) in zip(rows.tolist(), found, strict=True):
                scene = scenes[int(part.line[row]) - 1]
                if task.target.decode(best.tokens) != scene.caption:
                    continue
                exact += 1
                weights = best.alignment.numpy(force=True).reshape(-1, *grid)
                hits = [attended(weights[word], box) for word, box in scene.boxes.items()]
                looked, nouns = looked + int(np.sum(hits)), nouns + len(hits)
    return {"scenes": len(task.source.distinct(part)), "exact": exact / len(part), "nouns": looked / max(1, nouns)}


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
        run = seqloom.train("caption", **RECIPE, seed=given.seed, out=folder)
        print(f"seed {given.seed}, {run.device}, {time.monotonic() - begun:.0f} s:", measured(run))
    finally:
        shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main()
