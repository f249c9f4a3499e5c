"""Translation quality: every attention score, decoders without attention, and Multi30k.

    python benchmarks/translation.py scores [--cells rnn lstm gru transformer] [--scores dot ...] [--budget 180]
    python benchmarks/translation.py bottleneck [--corpora copy numbers] [--lengths 5 10 20 30] [--variants additive …]
    python benchmarks/translation.py multi30k DATA [--budget 1800]
    python benchmarks/translation.py cells [DATA] [--cells gru gru-after lstm] [--minutes 10] [--seeds 1 2 3]

scores      numbers in words, English to French: recurrent decoders with each score, and the Transformer
bottleneck  one GRU, with attention and without: on copies of growing length, and on longer numbers than in training
multi30k    English to German: DATA holds train.en-de.tsv and val.en-de.tsv, which seqloom does not include
cells       the default translator with other cells, on numbers or Multi30k, for equal minutes on this CPU: its step is
            timed, and each seed trained for the number of steps that fit (with --device cuda that takes less time)

Each row is one call of `seqloom.train`, printed as Markdown when it ends; progress goes to standard error. Seconds are
of training, validations included. A row that took longer than the budget is marked. Decoding uses a beam of 4 unless a
row says otherwise.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import torch
from _trainings import Bench, head, row, seconds

from seqloom.core.names import SCORES
from seqloom.data.corpora.numbers import in_words
from seqloom.runs.run import Run
from seqloom.tasks.registry import experiment
from seqloom.tasks.task import Evaluation
from seqloom.training.estimate import time_steps
from seqloom.training.session import Session

Values = dict[str, Any]

DECODE: Values = {"beam_size": 4, "max_length": 64}

# The embedded task: a recipe for each cell, the same for all scores. (At the GRU's learning rate most RNNs and LSTMs
# train as fast; a few, such as the tanh RNN with the dot product or the LSTM with the Gaussian score, sometimes don't.)
CELLS = ("rnn", "lstm", "gru")
RECURRENT: Values = {"dim": 64, "hidden": 128}
FAST: Values = {"batch_tokens": 1024, "epochs": 10, "validate_every": 300, "lr": 2e-3}
SLOW: Values = {**FAST, "epochs": 15, "lr": 1e-3}
WARMED: Values = {**FAST, "epochs": 12, "lr": 3e-3, "warmup": 200}
RECURRENT_TRAIN = {"rnn": SLOW, "lstm": WARMED, "gru": FAST}
TRANSFORMER: Values = {"arch": "transformer", "size": "small", "depth": 2}
TRANSFORMER_TRAIN: Values = {**FAST, "lr": 1e-3}

# One decoder with attention and three without. These start from the encoder's last state (Sutskever et al. 2014); two
# also read a vector at every step, the last state (Cho et al. 2014) or the mean of the source.
VARIANTS: dict[str, tuple[str, Values]] = {
    "additive": ("additive attention", {"attention": "additive"}),
    "last": ("last state only", {"attention": "none"}),
    "last-every": ("last state at every step", {"attention": "none", "context_pool": "last"}),
    "mean-every": ("mean at every step", {"attention": "none", "context_pool": "mean"}),
}
COPY: Values = {"corpus": "copy", "tokenizer": "word", "examples": 20_000}
COPY_TRAIN: Values = {
    "batch_tokens": 1024,
    "steps": 2000,
    "validate_every": 500,
    "lr": 2e-3,
}  # as many steps at each length
SEEN_DIGITS, UNSEEN_DIGITS, UNSEEN = 4, (5, 6), 500

READ: Values = {"on_bad_line": "skip"}  # line 7366 of Multi30k's training file has a tab too many
MULTI30K: Values = {
    "model": {"arch": "gru", "attention": "additive", "dim": 256, "hidden": 256, "tied": True, "dropout": 0.2},
    "data": {"vocabulary_size": 8000, **READ},
    "train": {"batch_tokens": 3072, "epochs": 7, "lr": 2e-3},
}


# scores ------------------------------------------------------------------------------------------------------------


def scores(bench: Bench, cells: Sequence[str], score_names: Sequence[str], budget: float) -> None:
    """Train every cell with every score; the Transformer has its own score."""
    head("model", "score", "exact match", "BLEU", "seconds", "steps", "parameters")
    for cell in cells:
        for score, model, train in recipes(cell, score_names):
            run = bench.trained(f"scores-{cell}-{score}", model=model, train=train)
            test, cost = run.scores["test"], run.scores["cost"]
            measured = f"{test['exact_match']:.3f}", f"{test['bleu']:.1f}", seconds(run, budget)
            row(cell, score, *measured, cost["steps"], f"{cost['parameters']:,}")


def recipes(cell: str, score_names: Sequence[str]) -> Iterator[tuple[str, Values, Values]]:
    """The scores of one kind of decoder, each with its model and training settings."""
    if cell == "transformer":
        yield "scaled-dot", TRANSFORMER, TRANSFORMER_TRAIN
        return
    for score in score_names:
        yield score, {"arch": cell, "attention": score, **RECURRENT}, RECURRENT_TRAIN[cell]


# bottleneck --------------------------------------------------------------------------------------------------------


def copies(bench: Bench, lengths: Sequence[int], variants: Sequence[str]) -> None:
    """Copies of random letters: how many a vector can represent."""
    head("letters, up to", "decoder", "exact match", "by number of letters", "seconds")
    for length in lengths:
        for variant in variants:
            name, keys = VARIANTS[variant]
            run = bench.trained(
                f"copy-{length}-{variant}",
                model={"arch": "gru", **RECURRENT, **keys},
                data={**COPY, "corpus_length": length},
                train=COPY_TRAIN,
            )
            evaluation = evaluate_test_split(run)
            bins = (f"{span(bin_)}: {bin_['exact_match']:.2f}" for bin_ in evaluation.details["by_length"])
            row(length, name, f"{evaluation.scores['exact_match']:.3f}", ", ".join(bins), seconds(run))


def evaluate_test_split(run: Run) -> Evaluation:
    """Evaluate the test split with its details, which a run saves for the validation split alone."""
    task = Session.prepare(run.experiment).task
    with torch.inference_mode():
        return task.evaluate(run.model, "test", run.device)


def span(bin_: Mapping[str, float]) -> str:
    """The source lengths of a bin."""
    return f"{bin_['from']}" if bin_["from"] == bin_["to"] else f"{bin_['from']} to {bin_['to']}"


def longer_numbers(bench: Bench, variants: Sequence[str]) -> None:
    """Train on numbers of up to four digits and evaluate longer ones."""
    columns = (f"{digits} digits: exact, chrF" for digits in UNSEEN_DIGITS)
    head("decoder", f"up to {SEEN_DIGITS} digits, unseen: exact, chrF", *columns, "seconds")
    files = [numbers(bench, digits) for digits in UNSEEN_DIGITS]
    for variant in variants:
        name, keys = VARIANTS[variant]
        run = bench.trained(
            f"numbers-{variant}",
            model={"arch": "gru", **RECURRENT, **keys},
            data={"corpus_length": SEEN_DIGITS},
            train=FAST,
        )
        scores_by_file = [run.scores["test"], *(run.evaluate(file).scores for file in files)]
        row(
            name,
            *(f"{scores_['exact_match']:.3f}, {scores_['chrf']:.1f}" for scores_ in scores_by_file),
            seconds(run),
        )


def numbers(bench: Bench, digits: int) -> Path:
    """Write a file of pairs: numbers with this number of digits in English and French."""
    path = bench.folder / f"{digits}-digits.tsv"
    sampled = Random(bench.seed).sample(range(10 ** (digits - 1), 10**digits), UNSEEN)
    path.write_text(
        "".join(f"{in_words(number, 'en')}\t{in_words(number, 'fr')}\n" for number in sampled), encoding="utf-8"
    )
    return path


# multi30k ----------------------------------------------------------------------------------------------------------


def multi30k(bench: Bench, data: Path, budget: float) -> None:
    """Descriptions of photographs, English to German."""
    valid = data / "val.en-de.tsv"
    run = bench.trained("multi30k", data / "train.en-de.tsv", valid=valid, **MULTI30K)
    head("decoding", "BLEU on val", "chrF", "seconds of training", "steps", "parameters", "signature")
    cost = run.scores["cost"]
    for name, beam in (("greedy", 1), ("beam 5", 5)):
        evaluation = run.evaluate(valid, decode={"beam_size": beam})
        measured = f"{evaluation.scores['bleu']:.2f}", f"{evaluation.scores['chrf']:.2f}", seconds(run, budget)
        signature = evaluation.details["signatures"]["bleu"].replace("|", r"\|")
        row(name, *measured, cost["steps"], f"{cost['parameters']:,}", f"`{signature}`")


# cells -------------------------------------------------------------------------------------------------------------


def compare_cells(bench: Bench, data: Path | None, options: argparse.Namespace) -> None:
    """The default translator with each cell, for as many steps as fit into equal minutes on the CPU."""
    seeds = [f"chrF, seed {seed}" for seed in options.seeds]
    head("cell", "ms/step", "steps", "parameters", *seeds, "mean chrF", "mean BLEU")
    for cell in options.cells:
        values = cell_config(cell, data)
        rate = options.rate or steps_per_second(values)
        values["train"] = {"steps": round(60 * options.minutes * rate)}
        if options.minutes == 0:
            row(cell, f"{1000 / rate:.0f}")
            continue
        benches = [replace(bench, seed=seed, decode={}) for seed in options.seeds]
        runs = [each.trained(f"cells-{cell}-{each.seed}", **values) for each in benches]
        valid, cost = [run.scores["valid"] for run in runs], runs[0].scores["cost"]
        chrf, bleu = ([scores_[name] for scores_ in valid] for name in ("chrf", "bleu"))
        measured = *(f"{score:.1f}" for score in chrf), f"{mean(chrf):.2f}", f"{mean(bleu):.2f}"
        row(cell, f"{1000 / rate:.0f}", cost["steps"], f"{cost['parameters']:,}", *measured)


def cell_config(cell: str, data: Path | None) -> Values:
    """The default translator with a cell, on Multi30k or on the embedded corpus."""
    values: Values = {"model": {"arch": cell}, "data": {}}
    if data is not None:
        files = {split: [str(data / f"{name}.en-de.tsv")] for split, name in (("train", "train"), ("valid", "val"))}
        values["data"] = {**READ, **files}
    return values


def steps_per_second(values: Values) -> float:
    """The rate of training on the CPU: the best of three measurements."""
    train = {"device": "cpu", "steps": 1000}
    trainer = Session.prepare(experiment({"task": "translate", **values, "train": train})).trainer([])
    return max(steps / taken for taken, _, steps in (time_steps(trainer) for _ in range(3)))


# The command -------------------------------------------------------------------------------------------------------


def main() -> None:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--seed", type=int, default=1)
    common.add_argument("--device", default="cpu", help="where to train (default: %(default)s, which budgets are for)")
    common.add_argument("--keep", type=Path, help="keep the runs in this folder")
    common.add_argument("--steps", type=int, help="at most so many steps of each training, for a quick look")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command")
    command = commands.add_parser("scores", parents=[common])
    command.add_argument("--cells", nargs="+", choices=[*CELLS, "transformer"], default=[*CELLS, "transformer"])
    command.add_argument("--scores", nargs="+", choices=SCORES, default=SCORES)
    command.add_argument("--budget", type=float, default=180, help="seconds of training (default: %(default)s)")
    command = commands.add_parser("bottleneck", parents=[common])
    command.add_argument("--corpora", nargs="+", choices=["copy", "numbers"], default=["copy", "numbers"])
    command.add_argument("--lengths", type=int, nargs="+", default=[5, 10, 20, 30])
    command.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    command = commands.add_parser("multi30k", parents=[common])
    command.add_argument("data", type=Path, help="the folder of Multi30k")
    command.add_argument("--budget", type=float, default=1800, help="seconds of training (default: %(default)s)")
    command = commands.add_parser("cells", parents=[common])
    command.add_argument("data", type=Path, nargs="?", help="the folder of Multi30k (default: the embedded numbers)")
    command.add_argument("--cells", nargs="+", default=["gru", "gru-after", "lstm"])
    command.add_argument(
        "--minutes", type=float, default=10, help="of training; 0 times a step only (default: %(default)s)"
    )
    command.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    command.add_argument("--rate", type=float, help="steps per second on the CPU, if it was measured before")
    options = parser.parse_args()
    if options.command is None:
        print("Say what to measure: python benchmarks/translation.py scores, bottleneck, multi30k DATA or cells")
        return
    print(f"torch {torch.__version__}, {options.device}, {torch.get_num_threads()} threads, seed {options.seed}")
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.seed, options.device, options.keep or Path(scratch), options.steps, DECODE)
        bench.folder.mkdir(parents=True, exist_ok=True)
        measure(bench, options)


def measure(bench: Bench, options: argparse.Namespace) -> None:
    """Run the selected command."""
    if options.command == "scores":
        scores(bench, options.cells, options.scores, options.budget)
    if options.command == "multi30k":
        multi30k(bench, options.data, options.budget)
    if options.command == "cells":
        compare_cells(bench, options.data, options)
    if options.command == "bottleneck" and "copy" in options.corpora:
        copies(bench, options.lengths, options.variants)
    if options.command == "bottleneck" and "numbers" in options.corpora:
        longer_numbers(bench, options.variants)


if __name__ == "__main__":
    main()
