"""Preparing a large text for a language model: tokens per second and peak memory.

    python benchmarks/large_text.py [--megabytes 1024] [--kinds character byte word bpe] [--steps 20]

The text is Python's standard library, repeated, with a number in each line so that all lines differ. Each kind of
tokenizer runs in a process of its own: it splits the text, learns the tokenizer from a bounded sample, writes all
tokens to memory-mapped files and takes a few training steps. The floor is the time of reading the file. Memory is shown
after preparation and after the steps, since a step with a large vocabulary needs the most.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from seqloom.data.corpora import python
from seqloom.data.text_io import read_chunks


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--megabytes", type=int, default=1024, help="of text, in MiB (default: %(default)s)")
    arguments.add_argument("--kinds", nargs="+", default=["character", "byte", "word", "bpe"])
    arguments.add_argument("--steps", type=int, default=20, help="of training, from the mapped files")
    arguments.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        measure(*options.child, options.steps)
        return
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "large.txt"
        size = write_text(text, options.megabytes << 20)
        start = time.monotonic()
        characters = sum(map(len, read_chunks(text)))
        reading = time.monotonic() - start
        print(f"{size / 2**20:,.0f} MiB, {characters:,} characters; reading alone {reading:.1f} s")
        print(f"{'tokenizer':12s}{'tokens':>16s}{'ready in':>12s}{'of reading':>12s}{'tokens/s':>14s}", end="")
        print(f"{'peak RSS':>12s}{'with steps':>12s}")
        for kind in options.kinds:
            environment = {**os.environ, "SEQLOOM_CACHE": f"{folder}/cache-{kind}"}
            program = [sys.executable, __file__, "--steps", str(options.steps), "--child", kind, str(text)]
            output = subprocess.run(program, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
            tokens, seconds, ready, with_steps = json.loads(output)
            print(
                f"{kind:12s}{tokens:16,d}{seconds:10.1f} s{seconds / reading:11.0f}x{tokens / seconds:14,.0f}", end=""
            )
            print(f"{ready:8.2f} GiB{with_steps:8.2f} GiB", flush=True)


def write_text(path: Path, size: int) -> int:
    """Write a file of about this size without equal lines."""
    lines = "".join(python.text(1, None, None)).splitlines()
    size_written = number = 0
    with path.open("w", encoding="utf-8") as file:
        while size_written < size:
            text = "".join(f"{line}  # {number + i}\n" for i, line in enumerate(lines))
            number += len(lines)
            size_written += file.write(text)
    return path.stat().st_size


def measure(kind: str, text: str, steps: int) -> None:
    """Measure one tokenizer, in its own process."""
    from seqloom.tasks.registry import experiment
    from seqloom.training.session import Session

    start = time.monotonic()
    config = {
        "task": "language",
        "data": {"train": text, "tokenizer": kind, "valid_share": 0.01},
        "model": {"size": "tiny"},
    }
    session = Session.prepare(experiment({**config, "train": {"steps": steps}}))
    seconds = time.monotonic() - start
    ready = peak()
    tokens = sum(map(len, session.task.data.tokens.values()))  # type: ignore[attr-defined]
    trainer = session.trainer([])
    for _ in range(steps):
        trainer.step()
    print(json.dumps([tokens, seconds, ready, peak()]))


def peak() -> float:
    """The peak memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
