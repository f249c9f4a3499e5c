"""Which validation has the best weights? Rules that select one, compared on the weights of every validation.

    python benchmarks/selection.py numbers copy [--pairs 600 2000 6000]
    python benchmarks/selection.py train.tsv --valid val.tsv --test test.tsv [--pairs 600 2000 6000] [--reverse]
    python benchmarks/selection.py captions.tsv --task caption

Each data set is an embedded corpus, or a TSV file of pairs. For each set, number of pairs and seed it trains one model
to the end, and scores its weights at every validation on the validation and the test split, greedily. Then it prints,
for each rule, the validation that the rule selects and the scores there: at the end of training, and where early
stopping with this patience would have ended it. A rule is a margin m in nats per token:

    best = argmax score_i  over all i with  loss_i <= min loss + m

m = 0 is the lowest loss, m = inf the highest score. Patience counts validations in which neither the lowest loss nor
the best improved; with m = inf, those in which the best did not.

With --keep, the scores of each training are saved there as JSON, and a training that is there is not run again.
Progress goes to standard error.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf, isfinite
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from _trainings import head, row

import seqloom
from seqloom.core.config.section import merge_values
from seqloom.runs.devices import autocast
from seqloom.training.events import Event, Ready, Valid

MARGINS = {"highest score": inf, "within 1.0": 1.0, "within 0.5": 0.5, "within 0.25": 0.25, "lowest loss": 0.0}
SHOWN = ("bleu", "bleu_4", "chrf")  # the scores of the table, as far as the task has them

Validation = dict[str, Any]  # step, epoch, and the scores of both splits: {"valid": {"loss": ...}, "test": ...}


# The rules ---------------------------------------------------------------------------------------------------------


def select(validations: Sequence[Validation], by: str, margin: float) -> int:
    """The index of the best validation: the highest score within the margin; between equal ones the lower loss."""
    losses = [loss(validation) for validation in validations]
    lowest = min(losses)
    eligible = [i for i in range(len(losses)) if losses[i] <= lowest + margin]
    return max(eligible, key=lambda i: (validations[i]["valid"][by], -losses[i], -i))


def stop(validations: Sequence[Validation], by: str, margin: float, patience: int) -> int:
    """After how many validations early stopping ends the training."""
    waiting, lowest = 0, inf
    for i, validation in enumerate(validations):
        improved = select(validations[: i + 1], by, margin) == i or (isfinite(margin) and loss(validation) < lowest)
        waiting, lowest = 0 if improved else waiting + 1, min(lowest, loss(validation))
        if waiting == patience:
            return i + 1
    return len(validations)


def loss(validation: Validation) -> float:
    value = float(validation["valid"]["loss"])
    return value if isfinite(value) else inf


# Trainings ---------------------------------------------------------------------------------------------------------


@dataclass
class Measure:
    """A listener that scores the weights of every validation on the test split too."""

    validations: list[Validation] = field(default_factory=list)
    chosen_by: str = ""

    def __call__(self, event: Event) -> None:
        if isinstance(event, Ready):
            self.session, self.chosen_by = event.session, event.session.task.chosen_by
            self.model: Any = event.model
        if isinstance(event, Valid):
            session = self.session
            with torch.inference_mode(), autocast(session.experiment.train, session.device):
                test = session.task.validate(self.model, "test", session.device).scores
            self.validations.append({"step": event.step, "epoch": event.epoch, "valid": event.scores, "test": test})
            figures = (
                f"{split} loss {scores['loss']:.3f}, {self.chosen_by} {scores[self.chosen_by]:.2f}"
                for split, scores in (("valid", event.scores), ("test", test))
            )
            print(f"  epoch {event.epoch:g}: {'; '.join(figures)}", file=sys.stderr, flush=True)


def measure(name: str, options: argparse.Namespace, config: Mapping[str, Any], scratch: Path) -> dict[str, Any]:
    """Train, or read the scores of an earlier call with the same config; the name of the score, and all validations."""
    key = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:12]
    saved = (options.keep or scratch) / f"{name.replace(', ', '-').replace(' ', '-')}-{key}.json"
    print(name, file=sys.stderr, flush=True)
    if not saved.exists():
        listener = Measure()
        with tempfile.TemporaryDirectory() as folder:
            seqloom.train(
                options.task,
                data=read_data(config, Path(folder)),
                model=config["model"],
                train=config["train"],
                decode={"beam_size": 1},
                seed=config["seed"],
                out=Path(folder) / "run",
                listeners=[listener],
            )
        content = {"config": config, "chosen_by": listener.chosen_by, "validations": listener.validations}
        saved.parent.mkdir(parents=True, exist_ok=True)
        saved.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return dict(json.loads(saved.read_text(encoding="utf-8")))


def read_data(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The `data` section: a corpus, or copies of the files, of the training file its first rows."""
    name, pairs = config["set"], config["pairs"]
    if is_corpus(name):
        examples = {} if pairs is None else {"examples": pairs}
        return {"corpus": name, **examples, **config["data"]}
    data: dict[str, Any] = {"on_bad_line": "skip"}
    for split, file in (("train", name), ("valid", config["valid"]), ("test", config["test"])):
        if file is None:
            data[f"{split}_share"] = 0.1
        else:
            rows = read_rows(Path(file), config["task"], pairs if split == "train" else None)
            lines = ["source\ttarget", *("\t".join(cells[:: -1 if config["reverse"] else 1]) for cells in rows)]
            path = folder / f"{split}.tsv"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            data[split] = str(path)
    return {**data, **config["data"]}


def read_rows(path: Path, task: str, most: int | None) -> Iterator[list[str]]:
    """The first rows that have two cells. The path of a caption's image, relative to the file, becomes absolute."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    for cells in islice((cells for cells in rows if len(cells) == 2), most):
        yield [str((path.parent / cells[0]).resolve()), cells[1]] if task == "caption" else cells


def is_corpus(name: str) -> bool:
    return not Path(name).suffix


# Tables ------------------------------------------------------------------------------------------------------------


def print_table(results: Sequence[dict[str, Any]], patience: int | None) -> None:
    """What each rule selects, at the end of training or by early stopping; the means over seeds, one line each."""
    by = results[0]["chosen_by"]
    shown = [name for name in SHOWN if name in results[0]["validations"][0]["valid"]]
    ended = "all" if patience is None else f"patience {patience}"
    scores = [f"{split} {name}" for split in ("valid", "test") for name in shown]
    head("rule", "ended by", "epochs", "selected", "valid loss", "valid perplexity", *scores)
    for rule, margin in MARGINS.items():
        until = [
            len(result["validations"]) if patience is None else stop(result["validations"], by, margin, patience)
            for result in results
        ]
        seen = [result["validations"][:end] for result, end in zip(results, until, strict=True)]
        best = [validations[select(validations, by, margin)] for validations in seen]
        row(
            rule,
            ended,
            " ".join(f"{validations[-1]['epoch']:g}" for validations in seen),
            " ".join(f"{validation['epoch']:g}" for validation in best),
            f"{mean(validation['valid']['loss'] for validation in best):.3f}",
            f"{mean(validation['valid']['perplexity'] for validation in best):.1f}",
            *(
                f"{mean(validation[split][name] for validation in best):.2f}"
                for split in ("valid", "test")
                for name in shown
            ),
        )


# The command -------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="embedded corpora (numbers, copy), or TSV files of pairs")
    parser.add_argument("--task", default="translate", choices=["translate", "caption"])
    parser.add_argument("--valid", help="a TSV file for validation (default: 0.1 of the set)")
    parser.add_argument("--test", help="a TSV file for testing (default: 0.1 of the set)")
    parser.add_argument("--pairs", type=int, nargs="+", help="train on so many pairs, the first ones (default: all)")
    parser.add_argument("--reverse", action="store_true", help="swap source and target of the files")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=10, help="(default: %(default)s)")
    parser.add_argument("--arch", default="gru", help="(default: %(default)s)")
    parser.add_argument("--size", default="small", help="(default: %(default)s)")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="keys of the config: train.lr=1e-3")
    parser.add_argument("--patience", type=int, nargs="+", default=[3], help="of early stopping (default: 3)")
    parser.add_argument("--device", default="cpu", help="where to train (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="keep the scores of each training in this folder")
    options = parser.parse_args()
    if not options.sets:
        print("Name the data: python benchmarks/selection.py numbers copy PAIRS.tsv")
        return
    print(f"torch {torch.__version__}, {options.device}, {torch.get_num_threads()} threads")
    with tempfile.TemporaryDirectory() as scratch:
        for data in options.sets:
            for pairs in options.pairs or [None]:
                results = [train(options, data, pairs, seed, Path(scratch)) for seed in options.seeds]
                print(f"\n{title(options, data, pairs)}, seeds {' '.join(map(str, options.seeds))}")
                for patience in (None, *options.patience):
                    print_table(results, patience)


def train(options: argparse.Namespace, data: str, pairs: int | None, seed: int, scratch: Path) -> dict[str, Any]:
    """The measurements of one training."""
    keys = tomllib.loads("\n".join(quoted(pair) for pair in options.set))
    config = {
        "task": options.task,
        "set": data,
        "valid": options.valid,
        "test": options.test,
        "pairs": pairs,
        "reverse": options.reverse,
        "seed": seed,
        "data": {"seed": seed, **keys.get("data", {})},
        "model": {"arch": options.arch, "size": options.size, **keys.get("model", {})},
        "train": merge_values({"epochs": options.epochs, "device": options.device}, keys.get("train", {})),
    }
    return measure(f"{title(options, data, pairs)}, seed {seed}", options, config, scratch)


def title(options: argparse.Namespace, data: str, pairs: int | None) -> str:
    """The name of a set: file, direction, number of pairs."""
    count = "" if pairs is None else f", {pairs} pairs"
    return f"{Path(data).name}{', reversed' if options.reverse and not is_corpus(data) else ''}{count}"


def quoted(pair: str) -> str:
    """KEY=VALUE as a line of TOML; a value that is no TOML is a text.

    >>> quoted("train.lr=1e-3"), quoted("model.attention=dot")
    ('train.lr = 1e-3', 'model.attention = "dot"')
    """
    key, _, value = pair.partition("=")
    try:
        tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        value = json.dumps(value)
    return f"{key} = {value}"


if __name__ == "__main__":
    main()
