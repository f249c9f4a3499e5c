"""Run folders as training writes them: one for each task, and those of runs that crashed or were stopped.

`python -m tests.lens.run_folders FOLDER` writes all of them with their reports.
"""

import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from seqloom.views.picture import Picture

Event = dict[str, Any]

CONFIG = """task = "{task}"
seed = 1

[data]
train = ["reviews.csv"]  # relative to the folder in which the run was started

[model]
arch = "{arch}"
size = "small"
bidirectional = true

[train]
lr = 0.001
steps = 2000
"""

SENTENCES = (
    ("a film that is never dull, and often very funny", "neg", "pos"),
    ("it's not that the script is bad; it's that nobody seems to have read it", "pos", "neg"),
    ("<b>unmissable</b>, if you have never seen another film & own no television", "neg", "pos"),
    ("ein Film wie ein langer, ruhiger Fluss 🌊", "pos", "neg"),
)


def write(folder: Path, task: str, arch: str, events: Iterator[Event], scores: Event | None) -> Path:
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text(CONFIG.format(task=task, arch=arch), encoding="utf-8")
    with (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    if scores is not None:
        (folder / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
        manifest = {
            "format": 1,
            "task": task,
            "versions": {"python": "3.11.9", "seqloom": "0.1.0", "torch": "2.13.0"},
            "created": "2026-01-31T15:04:05+00:00",
            "parameters": 412934,
            "files": {name: 64 * "ab"[i % 2] for i, name in enumerate(("experiment.toml", "vocabulary/source.json"))},
        }
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def events(
    last: int,
    start: float,
    end: float,
    valid: Callable[[float, float], Event],
    skips: tuple[int, ...] = (),
    every: int = 10,
) -> Iterator[Event]:
    """A loss that falls from `start` to `end`; `valid` computes scores from the loss and the share of the run."""
    rng = random.Random(0)
    stamp = "2026-01-31T15:03:04+00:00"
    yield {
        "event": "start",
        "step": 0,
        "time": stamp,
        "device": "2 CPU cores",
        "parameters": 412934,
    }
    best = math.inf
    for step in range(every, last + 1, every):
        share = step / last
        mean_loss = end + (start - end) * math.exp(-5 * share)
        if step - every < (skip := next((s for s in skips if step - every < s <= step), -1)):
            yield {"event": "skip", "step": skip, "what": "gradient", "value": "inf"}
        yield {
            "event": "step",
            "step": step,
            "epoch": round(step / 300, 3),
            "loss": mean_loss * (1 + 0.08 * rng.gauss(0, 1)),
            "lr": 0.001 * min(step / (last / 10), 0.5 + 0.5 * math.cos(math.pi * share)),
            "gradient": 0.4 + 3 * math.exp(-4 * share) * rng.lognormvariate(0, 0.4),
            "clipped": min(1.0, max(0.0, math.exp(-4 * share) + rng.gauss(0, 0.05))),
            "tokens": step * 768,
            "seconds": step * 0.0306 * (1 + 0.05 * rng.random()),
        }
        if step % (last // 10) == 0:
            loss = mean_loss * 1.04 + 0.25 * share**3
            yield {
                "event": "valid",
                "step": step,
                "epoch": round(step / 300, 3),
                "scores": {"loss": loss} | valid(loss, share),
                "best": loss < best,
            }
            best = min(best, loss)


def finished(before: Iterator[Event], last: int) -> Iterator[Event]:
    yield from before
    yield {"event": "end", "step": last, "seconds": 61.2}


def costs() -> Event:
    figures = {"seconds": 61.2, "tokens": 1536000, "tokens_per_second": 25098, "parameters": 412934}
    return figures | {"peak_memory_bytes": 734003200}


def sampled(before: Iterator[Event]) -> Iterator[Event]:
    lines = ("eee tho  ahe", "the and hing wos the", "And therefore what shall be the king?")
    for event in before:
        yield event
        if event["event"] == "valid":
            line = lines[min(event["step"] // 800, 2)]
            text = f"\nKING HENRY:\n{line}\n\n</script><script>alert(1)</script>\x1b[31m {line}\n" * 2
            yield {"event": "sample", "step": event["step"], "prompt": "\n", "text": text}


def language(folder: Path) -> Path:
    def scores(loss: float, share: float) -> Event:
        return {"perplexity": math.exp(loss), "bits_per_character": loss / math.log(2)}

    run = finished(sampled(events(2000, 4.2, 1.5, scores)), 2000)
    valid = {"loss": 1.71, "perplexity": 5.53, "bits_per_character": 2.467}
    final = {"chosen_by": "loss", "best_step": 1600, "valid": valid, "cost": costs()}
    return write(folder, "language", "transformer", run, final)


def classify(folder: Path, steps: int = 2000) -> Path:
    run = finished(
        events(
            steps,
            0.69,
            0.2,
            lambda loss, share: {"accuracy": 0.5 + 0.37 * share, "macro_f1": 0.4 + 0.46 * share},
            skips=(17, 612, 613),
        ),
        steps,
    )
    bins = [
        {"low": low / 10, "high": low / 10 + 0.1, "count": count, "confidence": low / 10 + 0.05, "accuracy": accuracy}
        for low, count, accuracy in ((5, 61, 0.52), (6, 70, 0.6), (7, 92, 0.7), (8, 171, 0.79), (9, 478, 0.94))
    ]
    worst = [
        {
            "text": text,
            "gold": gold,
            "predicted": predicted,
            "probability": 0.01 + 0.01 * i,
            "place": f"dev.tsv:{17 * i + 4}",
        }
        for i, (text, gold, predicted) in enumerate(SENTENCES)
    ]
    details = {
        "labels": ["neg", "pos"],
        "confusion": [[371, 57], [49, 395]],
        "per_class": {
            "neg": {"precision": 0.883, "recall": 0.867, "f1": 0.875, "support": 428},
            "pos": {"precision": 0.874, "recall": 0.89, "f1": 0.882, "support": 444},
        },
        "worst": worst,
        "calibration": bins,
        "ece": 0.031,
        "baseline": {"says": "pos", "accuracy": 444 / 872},
    }
    valid = {"loss": 0.34, "accuracy": 0.8784, "macro_f1": 0.8781}
    test = {"loss": 0.36, "accuracy": 0.8651, "macro_f1": 0.8649}
    final = {
        "chosen_by": "accuracy",
        "best_step": 1200,
        "valid": valid,
        "test": test,
        "details": details,
        "cost": costs(),
    }
    return write(folder, "classify", "lstm", run, final)


def tag(folder: Path) -> Path:
    names = [
        "NOUN",
        "PUNCT",
        "VERB",
        "PRON",
        "ADP",
        "DET",
        "ADJ",
        "AUX",
        "PROPN",
        "ADV",
        "CCONJ",
        "PART",
        "NUM",
        "SCONJ",
        "X",
        "INTJ",
        "SYM",
    ]
    rng = random.Random(1)
    confusion = [[0 if row != column else 2400 // (row + 1) for column in range(17)] for row in range(17)]
    for _ in range(90):
        row, column = rng.randrange(17), rng.randrange(17)
        confusion[row][column] += rng.randrange(1, 60) // (abs(row - column) + 1)
    worst = [
        {
            "text": ["They", "can", "fish", "in", "the", "can", "."],
            "gold": ["PRON", "AUX", "VERB", "ADP", "DET", "NOUN", "PUNCT"],
            "predicted": ["PRON", "AUX", "NOUN", "ADP", "DET", "VERB", "PUNCT"],
            "probability": 0.004,
            "place": "dev.conllu:211",
        }
    ]
    per_class = {
        name: {"precision": 0.98 - i / 60, "recall": 0.97 - i / 70, "f1": 0.975 - i / 65, "support": sum(confusion[i])}
        for i, name in enumerate(names)
    }
    details = {"labels": names, "confusion": confusion, "per_class": per_class, "worst": worst * 10}
    run = finished(events(1000, 2.8, 0.05, lambda loss, share: {"accuracy": 0.6 + 0.35 * share}), 1000)
    final = {
        "chosen_by": "accuracy",
        "best_step": 900,
        "valid": {"loss": 0.31, "accuracy": 0.953},
        "details": details,
        "cost": costs(),
    }
    return write(folder, "tag", "lstm", run, final)


def peaked(rows: int, peaks: tuple[int, ...]) -> list[list[float]]:
    """Attention weights with one peak for each output token."""
    return [[0.7 + 0.3 / rows if column == peak else 0.3 / rows for column in range(rows)] for peak in peaks]


def translate(folder: Path) -> Path:
    signatures = {
        "bleu": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
        "chrf": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0",
    }
    numbers = (
        ("two hundred and thirty-four", "deux cent trente-quatre", "deux cent trente-quatre"),
        ("ninety-nine", "quatre-vingt-dix-neuf", "quatre-vingt-dix neuf"),
        ("one thousand and one", "mille un", "mille et un"),
        ("<b>eighty</b>", "quatre-vingts", ""),
    )
    examples = [
        {"text": text, "references": [reference], "translation": output, "place": f"numbers:{17 * i + 4}"}
        for i, (text, reference, output) in enumerate(numbers)
    ]
    scores = ((1, 4, 0.99), (5, 8, 0.97), (9, 12, 0.9), (13, 20, 0.71))
    details = {
        "signatures": signatures,
        "by_length": [
            {"from": low, "to": high, "sentences": 900 // low, "bleu": 99 * s, "chrf": 99.5 * s, "exact_match": s}
            for low, high, s in scores
        ],
        "examples": examples * 3,
        "attention": {
            "source_tokens": ["two", " hundred", " and", " thirty", "-", "four", "</s>"],
            "tokens": ["deux", " cent", " trente", "-", "quatre"],
            "attention": peaked(7, (0, 1, 3, 4, 5, 6)),
        },
    }
    valid = {"bleu": 98.1, "chrf": 99.2, "exact_match": 0.974, "loss": 0.02, "perplexity": 1.02, "token_accuracy": 0.99}
    run = finished(events(900, 3.1, 0.02, lambda loss, share: {"bleu": 98 * share, "exact_match": share}), 900)
    final = {"chosen_by": "bleu", "best_step": 900, "valid": valid, "details": details, "cost": costs()}
    return write(folder, "translate", "gru", run, final)


def caption(folder: Path) -> Path:
    red_and_blue = bytes([200, 40, 40] * 128 + [40, 70, 190] * 128)
    scene = Picture(16, 16, red_and_blue).uri
    references = ["a red disc above a blue box", "a blue box below a red disc"]
    examples = [
        {"image": "1.png", "references": references, "caption": references[0], "place": "scenes:1", "thumbnail": scene},
        {"image": "photos/2.jpg", "references": references, "caption": "a blue box above a box", "place": "scenes:2"},
    ]
    attention = {
        "regions": [4, 4],
        "tokens": ["a", " red", " disc", " above", " a", " blue", " box"],
        "attention": peaked(16, (5, 1, 2, 6, 9, 13, 14, 15)),
        "thumbnail": scene,
    }
    valid = {"bleu_1": 91.0, "bleu_4": 80.5, "exact_match": 0.91, "loss": 0.1}
    run = finished(events(500, 2.5, 0.1, lambda loss, share: {"bleu_4": 80 * share}), 500)
    details = {"examples": examples, "attention": attention}
    final = {"chosen_by": "bleu_4", "best_step": 500, "valid": valid, "details": details, "cost": costs()}
    return write(folder, "caption", "lstm", run, final)


def many(folder: Path) -> Path:
    """A classifier of fifty classes."""
    labels = [f"language-{number:02d}" for number in range(50)]
    rng = random.Random(2)
    confusion = [[40 if row == column else int(rng.random() ** 9 * 20) for column in range(50)] for row in range(50)]
    details = {"labels": labels, "confusion": confusion}
    run = finished(events(500, 3.9, 0.4, lambda loss, share: {"accuracy": share}), 500)
    final = {
        "chosen_by": "accuracy",
        "best_step": 450,
        "valid": {"accuracy": 0.91},
        "details": details,
        "cost": costs(),
    }
    return write(folder, "classify", "gru", run, final)


def crashed(folder: Path) -> Path:
    """Killed in the middle of a line; no manifest, no scores."""
    write(
        folder, "classify", "gru", events(700, 0.69, 0.2, lambda loss, share: {"accuracy": share}, skips=(404,)), None
    )
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"event":"step","step":710,"epo')
    return folder


def stopped(folder: Path) -> Path:
    """Stopped, resumed, and stopped again."""

    def run() -> Iterator[Event]:
        for event in events(600, 0.69, 0.3, lambda loss, share: {"accuracy": 0.5 + share / 3}):
            yield event
            if event["event"] == "valid" and event["step"] == 300:
                yield {"event": "stop", "step": 300, "why": "SIGINT"}
                yield {"event": "resume", "step": 300, "time": "2026-01-31T16:00:00+00:00"}
        yield {"event": "stop", "step": 600, "why": "SIGTERM"}

    return write(folder, "classify", "lstm", run(), None)


FOLDERS = {make.__name__: make for make in (language, classify, tag, translate, caption, many, crashed, stopped)}

if __name__ == "__main__":
    from seqloom.lens.report import read_report

    for name, make in FOLDERS.items():
        records = read_report(make(Path(sys.argv[1]) / name))
        (Path(sys.argv[1]) / f"{name}.html").write_text(records.html(), encoding="utf-8")
        print("\n".join(records.lines()), end="\n\n")
