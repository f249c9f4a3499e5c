"""What `--dry-run` predicts beside what the run then takes, on the embedded corpora; asked for: within 25%.

    python benchmarks/estimate.py [--steps 400]

The run is timed from the moment its data are ready to the end of its report: steps, validations, samples,
checkpoints, scores.
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
    for name, raw in CASES.items():
        session = Session.prepare(experiment({**raw, "train": {"steps": options.steps}}))
        said = estimate(session).seconds
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            session.start(Path(folder) / "run")
            write_report(Path(folder) / "run")
            took = time.monotonic() - begun
        print(f"{name:24s}{said:8.1f} s{took:8.1f} s{said / took:18.2f}", flush=True)


if __name__ == "__main__":
    main()
