"""Drawn scenes described: exact captions, and whether the model looks at what it names while it names it.

    python benchmarks/scenes.py [RUN]

Without RUN, trains one first. The drawing knows where each object is: for every noun of a scene kept for testing whose
caption is right, the region with the greatest weight, while that noun is written, must overlap the object's box.
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
    "model": {"arch": "gru", "attend": "after", "bridge": "none", "stages": 2, "image_width": 16},
    "train": {"epochs": 20, "batch": 4096, "lr": 2e-3},
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
    given = parser.parse_args()
    if given.run:
        print(measured(seqloom.load(given.run)))
        return
    folder = Path(tempfile.mkdtemp()) / "scenes"
    try:
        begun = time.monotonic()
        run = seqloom.train("caption", **RECIPE, out=folder)
        print(f"{time.monotonic() - begun:.0f} s, {torch.get_num_threads()} threads", measured(run))
    finally:
        shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main()
