"""The time that `--dry-run` predicts against the time that the run takes, on embedded corpora; the goal is 25%.

    python benchmarks/estimate.py [--steps 400]

The run is timed from prepared data to the written report: steps, validations, samples, checkpoints and scores.
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch

from seqloom.api import write_report
from seqloom.tasks.registry import experiment
from seqloom.training.estimate import estimate
from seqloom.training.session import Session

CASES = {
    "language, lstm": {"task": "language", "model": {"arch": "lstm"}},
    "language, transformer": {"task": "language", "model": {"arch": "transformer"}},
    "classify, lstm": {"task": "classify", "model": {"arch": "lstm"}},
    "classify, gru": {"task": "classify", "model": {"arch": "gru"}},
    "tag, lstm": {"task": "tag", "model": {"arch": "lstm"}},
    "tag, conv": {"task": "tag", "model": {"arch": "conv"}},
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, default=400, help="of each run (default: %(default)s)")
    options = arguments.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {options.steps} steps")
    print(f"{'':24s}{'estimate':>10s}{'took':>10s}{'estimate / took':>18s}")
    for name, config in CASES.items():
        session = Session.prepare(experiment({**config, "train": {"steps": options.steps}}))
        predicted = estimate(session).seconds
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            session.start(Path(folder) / "run")
            write_report(Path(folder) / "run")
            actual = time.monotonic() - start
        print(f"{name:24s}{predicted:8.1f} s{actual:8.1f} s{predicted / actual:18.2f}", flush=True)


if __name__ == "__main__":
    main()
