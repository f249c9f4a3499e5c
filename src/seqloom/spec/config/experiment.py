"""One experiment: everything that decides how a run ends, in one frozen value."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, ValidationError, model_validator

from seqloom.spec import names
from seqloom.spec.config.data import Data
from seqloom.spec.config.decode import Decode
from seqloom.spec.config.defaults import filled
from seqloom.spec.config.model import AnyModel, Convolutional, Mixer, Model, Recurrent, Transformer, Window
from seqloom.spec.config.part import Part
from seqloom.spec.config.sentences import sentence
from seqloom.spec.config.train import Train
from seqloom.spec.errors import ConfigError

# Keys that only some tasks have a use for; elsewhere they stay None.
USED_BY: dict[str, tuple[str, ...]] = {
    "data.text": ("classify",),
    "data.label": ("classify",),
    "data.header": ("classify",),
    "data.label_separator": ("classify",),
    "data.on_rare_label": ("classify",),
    "data.tokeniser": ("language", "classify"),
    "data.sample": ("language", "classify"),
    "data.tag": ("tag",),
    "data.max_length": ("classify", "tag"),
    "model.tied": ("language",),
    "model.pool": ("classify",),
    "model.crf": ("tag",),
    "model.characters": ("tag",),
    "model.character_width": ("tag",),
    "train.bptt": ("language",),
    "train.bptt_drawn": ("language",),
    "train.carry": ("language",),
    "train.loss_at": ("language", "classify"),
    "train.samples": ("language",),
}


class Experiment(Part):
    """Task, seed, data, model, training, decoding.

    >>> tagger = experiment({"task": "tag", "data": {"train": "train.conllu"}})
    >>> tagger.model.arch, tagger.model.bidirectional, tagger.train.optimiser
    ('lstm', True, 'adam')
    """

    task: names.Task = Field(description="What to learn (`seqloom list tasks`).")
    seed: int = Field(
        1, ge=0, lt=2**63, description="Of weights, order, split and dropout: the same seed, the same run."
    )
    data: Data = Field(Data(), description="Files in, tokens out.")
    model: Model = Field(description="What learns (`seqloom list models`).")
    train: Train = Field(description="How it learns.")
    decode: Decode | None = Field(None, description="language: how samples are written.")

    @model_validator(mode="before")
    @classmethod
    def fill(cls, raw: Any) -> Any:
        """Defaults that depend on the task, the architecture or the size."""
        return filled(raw) if isinstance(raw, Mapping) else raw

    @model_validator(mode="after")
    def agree(self) -> "Experiment":
        """The parts fit each other."""
        for wrong in disagreements(self):
            raise ValueError(wrong)
        return self


def disagreements(whole: Experiment) -> Iterator[str]:
    """Sentences on parts that don't fit each other."""
    task, data, model, train = whole.task, whole.data, whole.model, whole.train
    for key, tasks in USED_BY.items():
        part, name = key.split(".")
        if task not in tasks and getattr(getattr(whole, part), name) is not None:
            yield f"{key} has no use in {task}; it is a key of {' and '.join(tasks)}. Leave it out"
    if task != "language" and whole.decode is not None:
        yield f"decode has no use in {task}; it is a part of language. Leave it out"
    if data.train and data.corpus is not None:
        yield f"data.train and data.corpus are both given ({data.train[0]}, {data.corpus}). Leave one of them out"
    if (0 if data.valid else data.valid_share) + (0 if data.test else data.test_share) >= 1:
        both = f"{data.valid_share} and {data.test_share}"
        yield f"data.valid_share and data.test_share are {both}, which leaves nothing to learn from. Make them smaller"
    for name in ("length", "examples"):
        if data.train and getattr(data, name) is not None:
            yield f"data.{name} is of embedded corpora, and data.train names files. Leave it out"
    if train.epochs is None and train.steps is None:
        yield "train.epochs and train.steps are both none, so training would never end. Give one of them"
    if train.optimiser == "adamw" and train.l2:
        yield "train.l2 adds to the gradient, which adamw does not do. Give train.decay, or train.optimiser adam"
    if train.optimiser != "adamw" and train.decay:
        yield f"train.decay is adamw's, and train.optimiser is {train.optimiser}. Give train.l2 instead"
    yield from cannot(task, model)
    if task == "language":
        yield from language_disagreements(model, train)
    elif isinstance(model, Mixer) and (data.max_length or 0) > model.length:
        yield f"data.max_length is {data.max_length}, more than the {model.length} of model.length. Make them equal"
    elif isinstance(model, Transformer) and (data.max_length or 0) > model.context:
        yield f"data.max_length is {data.max_length}, more than the {model.context} of model.context. Make them equal"
    if model.character_width is not None and model.character_width >= model.width and model.characters != "none":
        yield f"model.character_width is {model.character_width}, and must be less than model.width, {model.width}"
    if model.character_width is not None and model.character_width % 2 and model.characters == "lstm":
        yield f"model.character_width is {model.character_width}; expected an even number, half for each direction"
    if model.init == "identity" and (isinstance(model, Convolutional) or model.characters == "conv"):
        yield "model.init identity is for matrices, and a convolution has others. Take orthogonal, or leave it out"
    if task == "classify" and train.loss_at == "every" and model.pool != "last":
        yield f"train.loss_at every asks each step for the class, which goes with model.pool last, not {model.pool}"


def cannot(task: str, model: AnyModel) -> Iterator[str]:
    """A model that can't do a task says so and names one that can."""
    if task != "language":
        return
    end = "lstm, gru, conv, window and transformer can"
    if isinstance(model, Mixer):
        yield f"mixer reads a whole sequence at once, so it can't write one token after another; {end}"
    if isinstance(model, Recurrent) and model.bidirectional:
        what = f"model.bidirectional lets {model.arch} read from the end too"
        yield f"{what}, so it can't write one token after another. Leave it out"
    if isinstance(model, Convolutional) and model.centred:
        yield "a centred convolution sees later tokens too, so it can't write. Leave out model.centred"
    if isinstance(model, Convolutional | Transformer) and model.norm in ("group", "instance"):
        yield f"model.norm {model.norm} takes its means over later tokens too, so it can't write; layer and rms can"


def language_disagreements(model: AnyModel, train: Train) -> Iterator[str]:
    """What language models need beyond the rest."""
    if isinstance(model, Transformer):
        if train.carry:
            yield "train.carry would let a transformer's cache grow without end. Leave it out, or take an lstm"
        if (train.bptt or 0) > model.context:
            yield f"train.bptt is {train.bptt}, more than the {model.context} tokens of model.context. Make them equal"
    output = getattr(model, "hidden", model.width) if not isinstance(model, Transformer) else model.width
    if isinstance(model, Window) and model.direct and model.depth == 1:
        output = model.width * model.window + model.hidden
    if isinstance(model, Recurrent) and model.connection == "dense":
        output = model.width + model.depth * model.hidden
    if model.tied and output != model.width:
        yield f"model.tied needs an output ({output}) as wide as a token's vector, model.width ({model.width})"
    if train.bptt_drawn and not train.carry:
        yield "train.bptt_drawn goes with a carried state. Leave it out, or give train.carry true"


def experiment(raw: Mapping[str, Any]) -> Experiment:
    """An experiment from nested values, as TOML, keyword arguments or the command line give them.

    >>> experiment({"task": "classify", "train": {"learning_rat": 1e-3}})
    Traceback (most recent call last):
    seqloom.spec.errors.ConfigError: unknown key train.learning_rat. Did you mean train.lr? ...
    """
    try:
        return Experiment.model_validate(dict(raw))
    except ValidationError as wrong:
        raise ConfigError(sentence(wrong, raw)) from None
