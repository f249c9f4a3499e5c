"""What a key is when nobody says: by task, by architecture, by size. The resolved config has it."""

from collections.abc import Mapping
from typing import Any

from seqloom.spec.config.data import Data
from seqloom.spec.config.decode import Decode
from seqloom.spec.config.model import MODELS, Attentive, Convolutional, Mixer, Recurrent, Transformer, Window
from seqloom.spec.config.part import Part, spelt_out
from seqloom.spec.config.train import Train

Values = dict[str, Any]

OFF = {"epochs", "clip_norm"}  # keys with a default that may be switched off

ARCHITECTURE = {"language": "lstm", "classify": "lstm", "tag": "lstm", "translate": "gru", "caption": "gru"}

WRITTEN = ("translate", "caption")  # tasks whose model has an encoder and a decoder

# Widths and depths, by the size's name.
SIZES: dict[type, dict[str, Values]] = {
    Window: {
        "tiny": {"width": 16, "hidden": 64, "depth": 1, "window": 8},
        "small": {"width": 32, "hidden": 256, "depth": 1, "window": 16},
        "base": {"width": 64, "hidden": 1024, "depth": 1, "window": 32},
    },
    Mixer: {
        "tiny": {"width": 32, "hidden": 64, "token_hidden": 32, "depth": 1},
        "small": {"width": 128, "hidden": 512, "token_hidden": 64, "depth": 4},
        "base": {"width": 512, "hidden": 2048, "token_hidden": 256, "depth": 8},
    },
    Convolutional: {
        "tiny": {"width": 32, "depth": 2},
        "small": {"width": 128, "depth": 5},
        "base": {"width": 512, "depth": 8},
    },
    Recurrent: {
        "tiny": {"width": 32, "hidden": 64, "depth": 1},
        "small": {"width": 128, "hidden": 256, "depth": 1},
        "base": {"width": 512, "hidden": 512, "depth": 2},
    },
    Transformer: {
        "tiny": {"width": 32, "hidden": 128, "depth": 2, "heads": 2},
        "small": {"width": 128, "hidden": 512, "depth": 4, "heads": 4},
        "base": {"width": 512, "hidden": 2048, "depth": 6, "heads": 8},
    },
}

# The CNN over an image, by the model's size.
IMAGE: dict[str, Values] = {
    "tiny": {"stages": 3, "image_width": 8, "patch": 8},
    "small": {"stages": 3, "image_width": 32, "patch": 8},
    "base": {"stages": 4, "image_width": 64, "patch": 16},
}
IMAGE_SIZE = {"tiny": 48, "small": 48, "base": 224}

# The Transformer of 2017 (https://arxiv.org/abs/1706.03762): `base` is that one.
PAPER = {"order": "post", "activation": "relu", "scaled": True}
PAPER_TRAINING = {
    "optimiser": "adam",
    "beta2": 0.98,
    "epsilon": 1e-9,
    "schedule": "inverse-sqrt",
    "warmup": 4000,
    "lr": 7e-4,  # (512 · 4000)^(−1/2): the schedule's highest point
}

CHARACTER_WIDTH = {"tiny": 16, "small": 128, "base": 256}


def model_defaults(task: str, kind: type, size: str, tied: object) -> Values:
    """What a model of this kind is in this task; `tied` as it is said, if it is."""
    values: Values = {"size": size, "dropout": 0.1, "word_dropout": 0.0, **SIZES[kind][size]}
    if kind is Recurrent:
        values["bidirectional"] = task != "language"
    if kind is Convolutional:
        values["centred"] = task != "language"
    if task == "language":
        values["tied"] = False
    if task == "classify":
        values |= {"pool": "mean", "dropout": 0.5, "word_dropout": 0.1}
    if task == "tag":
        values |= {"crf": False, "characters": "lstm", "character_width": CHARACTER_WIDTH[size]}
        values |= {"dropout": 0.5, "word_dropout": 0.1}
        if kind is Recurrent:
            values |= {"width": 2 * values["width"], "input_dropout": 0.3}
    if task in WRITTEN:
        values |= writing_defaults(task, kind, size, tied)
    if kind in (Transformer, Mixer, Convolutional):
        values["dropout"] = 0.1  # in every layer, on the way around it
    return values


def writing_defaults(task: str, kind: type, size: str, tied: object) -> Values:
    """What an encoder-decoder is: Bahdanau's, or the Transformer. A tied output has the width of a token's vector."""
    values: Values = {"tied": kind is Transformer}
    if kind is Convolutional:
        values["centred"] = False
    if issubclass(kind, Attentive):
        values |= {"attention": "additive", "attend": "before", "bridge": "source"}
        values |= {"feed": "every", "input_feeding": False}
        values |= {"meeting": "tanh" if tied else "concatenation", "summary": "none"}
    if kind is Transformer:
        values["scaled"] = True  # else positions, of size 1, drown the tokens
    if kind is Transformer and size == "base":
        values |= PAPER
    if task == "caption":
        values |= {"stem": "grid", **IMAGE[size]}
        if kind is not Transformer:
            values["encoder"] = "none"
    return values


def train_defaults(task: str, kind: type, size: str) -> Values:
    """How a model of this kind learns this task."""
    attends = kind is Transformer
    values: Values = {"epochs": 10, "schedule": "cosine", "clip_norm": 1.0, "lr": 1e-3 if attends else 2e-3}
    values |= {"optimiser": "adamw", "decay": 0.01, "warmup": 100} if attends else {"optimiser": "adam"}
    if task == "language":
        values |= {"batch": 32, "bptt": 64, "bptt_drawn": False, "carry": not attends, "loss_at": "every", "samples": 1}
    else:
        values |= {"batch": 2048}
    if task == "classify":
        values |= {"loss_at": "last", "lr": 1e-3, "label_smoothing": 0.1}
    if task == "tag":
        values["epochs"] = 15
    if task in WRITTEN:
        values |= {"batch": 4096, "label_smoothing": 0.1, "scheduled_sampling": 0.0, "doubly_stochastic": 0.0}
        if attends and size == "base":
            values = {key: value for key, value in values.items() if key != "decay"} | PAPER_TRAINING
    return values


def data_defaults(task: str, kind: type, size: str) -> Values:
    """What a token is in this task, and how many a row may have. (A classifier's tokens are guessed from its texts.)"""
    values: Values = {"vocabulary": 20_000}
    if task == "language":
        values["tokeniser"] = "character"
    if task != "language":
        values["max_length"] = 128 if kind is Mixer else 512
    if task in WRITTEN:
        values |= {"max_length": 128, "vocabulary": 8000}
    if task == "translate":
        values |= {"tokeniser": "bpe", "shared_vocabulary": True}
    if task == "caption":
        values |= {"tokeniser": "word", "min_count": 2, "lowercase": True, "image_size": IMAGE_SIZE[size]}
    if task != "tag":
        values["sample"] = 20_000_000
    if task == "classify":
        values |= {"on_rare_label": "refuse", "min_count": 2}
    if task == "tag":
        values |= {"lowercase": True, "min_count": 2}  # letters tell capitals; a word seen once teaches the unknown one
    return values


def filled(raw: Mapping[str, Any]) -> Values:
    """`raw` with every default that depends on the task, the architecture or the size put in."""
    task, parts = raw.get("task"), {name: raw.get(name) or {} for name in ("data", "model", "train", "decode")}
    if not all(isinstance(part, Mapping) for part in parts.values()):
        return dict(raw)  # the schema says what is wrong, here and below
    model = dict(parts["model"])
    arch = model.setdefault("arch", ARCHITECTURE.get(str(task), "lstm"))
    kind, size = MODELS.get(str(arch)), model.get("size") or "small"
    if str(task) not in ARCHITECTURE or kind is None or str(size) not in CHARACTER_WIDTH:
        return {**raw, "model": model}
    data = said(Data, parts["data"], data_defaults(str(task), kind, str(size)))
    if task in WRITTEN and not data.get("train"):
        data = {"valid_share": 0.05, "test_share": 0.05} | data  # of an embedded corpus, which is all there is
    train = said(Train, parts["train"], train_defaults(str(task), kind, str(size)))
    if train.get("optimiser") == "rmsprop" and "momentum" not in parts["train"]:
        train["momentum"] = 0.0
    if train.get("optimiser") != "adamw" and "decay" not in parts["train"]:
        train.pop("decay", None)
    if train.get("steps") is not None and "epochs" not in parts["train"]:
        train["epochs"] = None
    if kind is Mixer:
        model.setdefault("length", data["max_length"] if task != "language" else train["bptt"])
    if kind is Transformer:
        model.setdefault("context", train["bptt"] if task == "language" else data["max_length"])
    model = said(kind, model, model_defaults(str(task), kind, str(size), model.get("tied")))
    if task == "tag" and "character_width" not in parts["model"] and isinstance(model["width"], int):
        model["character_width"] = min(
            model["character_width"], max(2, model["width"] // 4 * 2)
        )  # even: two directions
    if task in WRITTEN:
        model.setdefault("encoder", arch)
        model.setdefault("encoder_depth", model["depth"])
    given = {**raw, "data": data, "model": model, "train": train}
    decode = said(Decode, parts["decode"], decode_defaults(str(task), parts["decode"], data.get("max_length")))
    return given | {"decode": decode if decode or task == "language" else None}


def decode_defaults(task: str, given: Mapping[str, Any], longest: object) -> Values:
    """A translation is the likeliest one that a beam finds, as long as those learnt from may be; a text is drawn."""
    if task in WRITTEN:
        drawn = str(given.get("temperature", 0)) not in ("0", "0.0")
        tokens = int(str(longest)) if str(longest).isdecimal() else 128  # else the schema says what is wrong
        return {"temperature": 0.0, "beam": 1 if drawn else 4, "length": min(tokens + 1, 100_000)}  # and the end
    return {"temperature": 0.0} if str(given.get("beam", 1)) != "1" else {}


def said(kind: type[Part], values: Mapping[str, Any], defaults: Values) -> Values:
    """What was said over what nobody said; None stands only where it means something, elsewhere for the default."""
    given = spelt_out(kind, dict(values))
    return defaults | {
        name: value for name, value in given.items() if value is not None or name not in defaults.keys() - OFF
    }
