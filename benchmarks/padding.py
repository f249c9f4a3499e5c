"""The fraction of padding in the batches of an epoch: SST-2, UD English EWT and names, at the default batch size.

    python benchmarks/padding.py DATA

DATA is a folder with sst2/{train,dev,test}.tsv, ud-english-ewt/en_ewt-ud-{train,dev,test}.conllu and names/*.txt.
`train` is the first epoch of a run; the other splits are read for their scores. A small split has few rows of each
length, and so more padding.
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from seqloom.data.batches import batches_by_length
from seqloom.data.split import TRAIN
from seqloom.tasks.registry import experiment
from seqloom.tasks.row_task import RowTask
from seqloom.training.session import Session

SETS: dict[str, tuple[str, dict[str, str]]] = {
    "sst2": ("classify", {"train": "train.tsv", "valid": "dev.tsv", "test": "test.tsv"}),
    "ud-english-ewt": (
        "tag",
        {split: f"en_ewt-ud-{name}.conllu" for split, name in (("train", "train"), ("valid", "dev"), ("test", "test"))},
    ),
    "names": ("classify", {"train": "."}),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, nargs="?", help="the folder of data sets")
    options = arguments.parse_args()
    if options.data is None:
        print("Name the folder of data sets: python benchmarks/padding.py DATA")
        return
    print(f"{'data':<16}{'split':<8}{'rows':>8}{'tokens':>10}{'budget':>8}{'batches':>9}{'padding':>9}")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["SEQLOOM_CACHE"] = cache
        for name in SETS:
            measure(options.data, name)


def measure(data: Path, name: str) -> None:
    """Print a row for each split of a data set."""
    task, files = SETS[name]
    config = experiment({"task": task, "data": {split: str(data / name / file) for split, file in files.items()}})
    row_task = Session.prepare(config).task
    assert isinstance(row_task, RowTask)
    for split, rows in row_task.data.splits.items():
        all_lengths = rows[row_task.rows].lengths()
        lengths = np.minimum(all_lengths, config.data.max_length or all_lengths.max())
        seed = config.seed if split == TRAIN else 0
        batches = batches_by_length(lengths, config.train.batch_tokens, seed=seed, epoch=0)
        cells = f"{len(lengths):>8,}{lengths.sum():>10,}{config.train.batch_tokens:>8,}{len(batches):>9,}"
        print(f"{name:<16}{split:<8}{cells}{padding(lengths, batches):>9.1%}", flush=True)


def padding(lengths: Integer[ndarray, " rows"], batches: list[Integer[ndarray, " batch"]]) -> float:
    """The fraction of positions that are padding."""
    positions = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - int(lengths.sum()) / positions


if __name__ == "__main__":
    main()
