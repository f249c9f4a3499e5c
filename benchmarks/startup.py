"""The time of a first prediction: a new process that opens a run, answers one text and ends, against `import torch`.

    python benchmarks/startup.py [--rounds 5]

The runs are trained first: tiny ones, and a base one to show that the size of a model costs little. The programs take
turns, a round of each after one that is not counted; medians in seconds.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

import seqloom

RUNS = (("classify", "tiny", "a text"), ("translate", "tiny", "ninety-nine"), ("translate", "base", "ninety-nine"))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = {"import torch": [sys.executable, "-c", "import torch"]}
        for task, size, text in RUNS:
            path = Path(folder) / f"{task}-{size}"
            seqloom.train(task, size=size, train={"steps": 2}, out=path)
            commands[f"predict, {task} {size}"] = [sys.executable, "-m", "seqloom.cli", "predict", str(path), text]
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.rounds + 1):
            for name, command in commands.items():
                start = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(seconds[1:]) for name, seconds in times.items()}
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    for name, seconds in medians.items():
        print(f"{name:<26}{seconds:>7.2f} s{seconds / medians['import torch']:>7.2f} times `import torch`")


if __name__ == "__main__":
    main()
