"""One experiment: everything that decides how a run ends, in one frozen value."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer, model_validator

from seqloom.spec import names
from seqloom.spec.config.data import Data
from seqloom.spec.config.decode import Decode
from seqloom.spec.config.defaults import WRITTEN, filled
from seqloom.spec.config.layers import merged
from seqloom.spec.config.model import AnyModel, Attentive, Convolutional, Mixer, Model, Recurrent, Transformer, Window
from seqloom.spec.config.part import Part, spelt_out
from seqloom.spec.config.sentences import explained
from seqloom.spec.config.train import Train
from seqloom.spec.config.uses import USED_BY as USED_BY
from seqloom.spec.config.uses import useless
from seqloom.spec.errors import ConfigError


class Experiment(Part):
    """Task, seed, data, model, training, decoding.

    >>> tagger = experiment({"task": "tag", "data": {"train": "train.conllu"}})
    >>> tagger.model.arch, tagger.model.bidirectional, tagger.train.optimiser
    ('lstm', True, 'adam')
    """

    task: names.Task = Field(description="What to learn (`seqloom list tasks`).")
    seed: int = Field(
        1, ge=0, lt=2**63, description="The same seed gives the same run: the same weights, order and dropout."
    )
    data: Data = Field(Data(), description="Files in, tokens out.")
    model: Model = Field(description="The model that learns (`seqloom list models`).")
    train: Train = Field(description="How it learns.")
    decode: Decode | None = Field(None, description="language, translate, caption: how texts are written.")

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

    @model_serializer(mode="wrap")
    def acting(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Nested values, without the keys that change nothing: what can be given to `experiment` again."""
        return without(dump(self), {each.key for each in useless(self)})


def disagreements(whole: Experiment) -> Iterator[str]:
    """Sentences on parts that don't fit each other."""
    task, data, model, train = whole.task, whole.data, whole.model, whole.train
    if whole.decode is not None:
        yield from decode_disagreements(task, whole.decode)
    if data.train and data.corpus is not None:
        yield f"data.train and data.corpus are both given ({data.train[0]}, {data.corpus}). Leave one of them out"
    if (0 if data.valid else data.valid_share) + (0 if data.test else data.test_share) >= 1:
        both = f"{data.valid_share} and {data.test_share}"
        yield f"data.valid_share and data.test_share are {both}, which leaves nothing to learn from. Make them smaller"
    if train.epochs is None and train.steps is None:
        yield "train.epochs and train.steps are both none, so training would never end. Give one of them"
    yield from cannot(task, model)
    if task == "language":
        yield from language_disagreements(model, train)
    if task in WRITTEN:
        yield from writing_disagreements(whole)
    elif task != "language" and isinstance(model, Mixer) and (data.max_length or 0) > model.length:
        yield f"data.max_length is {data.max_length}, more than model.length, {model.length}. Make them equal"
    if task != "language" and isinstance(model, Transformer) and (data.max_length or 0) > model.context:
        yield f"data.max_length is {data.max_length}, more than model.context, {model.context}. Make them equal"
    if model.character_width is not None and model.character_width >= model.width and model.characters != "none":
        yield f"model.character_width is {model.character_width}, and must be less than model.width, {model.width}"
    if model.character_width is not None and model.character_width % 2 and model.characters == "lstm":
        yield f"model.character_width is {model.character_width}; expected an even number, half for each direction"
    if model.init == "identity" and (isinstance(model, Convolutional) or model.characters == "conv"):
        yield "model.init identity is for matrices, and a convolution has others. Take orthogonal, or leave it out"
    if isinstance(model, Recurrent) and not has_a_way_around(model):
        wide = "model.width as wide as the layer's output"
        yield f"model.connection residual needs a layer that keeps its width. Give model.depth 2 or more, or {wide}"
    if task == "classify" and train.loss_at == "every" and model.pool != "last":
        yield f"train.loss_at every asks each step for the class, which goes with model.pool last, not {model.pool}"


def decode_disagreements(task: str, decode: Decode) -> Iterator[str]:
    """What does not go together in writing."""
    if task not in ("language", *WRITTEN):
        yield f"decode has no use in {task}; it is a part of language, translate and caption. Leave it out"
    if decode.beam > 1 and decode.temperature > 0:
        what = f"decode.beam is {decode.beam} and decode.temperature {decode.temperature:g}"
        yield f"{what}: a beam looks for the likeliest text, a temperature draws one. Give one of them"
    if decode.temperature == 0 and decode.n_best > decode.beam:
        what = f"decode.n_best is {decode.n_best}, more than decode.beam, {decode.beam}"
        yield f"{what}. Widen the beam, or draw texts with decode.temperature"
    if decode.min_length > decode.length:
        yield f"decode.min_length is {decode.min_length}, more than decode.length, {decode.length}. Make it smaller"


def writing_disagreements(whole: Experiment) -> Iterator[str]:
    """What encoder-decoders need beyond the rest."""
    data, model = whole.data, whole.model
    if isinstance(model, Attentive):
        if model.attention == "none" and model.summary == "none" and model.feed == "first":
            yield "model.feed first has nothing to feed without attention or model.summary. Leave it out"
        if model.attention == "none" and model.summary == "none" and not isinstance(model, Recurrent):
            what = f"without attention, nothing of the source reaches {model.arch}, which has no state to begin in"
            yield f"{what}. Give model.summary mean, or a model.attention such as additive"
        if model.attention != "none" and model.attend == "after" and model.feed == "first":
            yield "model.feed first feeds what was looked at before the step; it goes with model.attend before"
        if model.tied and model.meeting != "tanh":
            yield "model.tied needs an output as wide as a token's vector, which model.meeting tanh gives"
        known = isinstance(model, Recurrent) and model.connection != "dense"
        if model.input_feeding and model.meeting == "concatenation" and not known:
            yield "model.input_feeding here needs an output of a known width, which model.meeting tanh gives"
        if model.attention in names.SAME_WIDTH and not keeps_its_width(model):
            what = f"model.attention {model.attention} compares vectors of one width, which this decoder does not have"
            yield f"{what}; additive, bilinear and low-rank take any"
        if model.attention == "none" and model.summary == "none" and "none" in (model.encoder, model.bridge):
            what = "without attention and model.summary a decoder knows its source by model.encoder and model.bridge"
            yield f"{what}. Give both, or one of the others"
    if isinstance(model, Recurrent) and model.initial != "zero" and not begins_by_itself(model):
        what = f"model.initial {model.initial} has no use here, since the source gives the decoder its first state"
        yield f"{what}. Leave it out, or give model.bridge none"
    if whole.task == "translate" and model.encoder == "none":
        yield "model.encoder none is for images; a text needs one that reads it, such as gru or transformer"
    if model.stem == "patches" and model.patch and data.image_size and data.image_size % model.patch:
        yield f"model.patch is {model.patch}, and does not divide data.image_size, {data.image_size}. Give a divisor"


def keeps_its_width(model: Attentive) -> bool:
    """Whether the decoder's output is as wide as `hidden` (conv: `width`), whatever else its input holds."""
    if isinstance(model, Convolutional):
        return model.attend == "after" and not model.input_feeding
    if isinstance(model, Window):
        return not (model.direct and model.depth == 1)
    return isinstance(model, Recurrent) and model.connection != "dense"


def begins_by_itself(model: Recurrent) -> bool:
    """Whether a recurrent layer here has a first state of its own: the encoder, or a decoder without a bridge."""
    return model.encoder in names.CELLS or model.bridge == "none"


def has_a_way_around(model: Recurrent) -> bool:
    """Whether a residual connection changes anything: there is none around a layer that changes the width."""
    output = model.hidden * (2 if model.bidirectional else 1)
    return model.connection != "residual" or model.depth > 1 or model.width == output


def cannot(task: str, model: AnyModel) -> Iterator[str]:
    """A model that can't do a task says so and names one that can."""
    if task not in ("language", *WRITTEN):
        return
    end = "lstm, gru, conv, window and transformer can"
    if isinstance(model, Mixer):
        aside = "; it can be their encoder (model.encoder mixer)" if task in WRITTEN else ""
        yield f"mixer reads a whole sequence at once, so it can't write one token after another; {end}{aside}"
    if isinstance(model, Recurrent) and model.bidirectional and task == "language":
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
            yield f"train.bptt is {train.bptt}, more than model.context, {model.context}. Make them equal"
    output = getattr(model, "hidden", model.width) if not isinstance(model, Transformer) else model.width
    if isinstance(model, Window) and model.direct and model.depth == 1:
        output = model.width * model.window + model.hidden
    if isinstance(model, Recurrent) and model.connection == "dense":
        output = model.width + model.depth * model.hidden
    if model.tied and output != model.width:
        yield f"model.tied needs an output ({output}) as wide as a token's vector, model.width ({model.width})"


def experiment(raw: Mapping[str, Any], over: Mapping[str, Any] | None = None) -> Experiment:
    """An experiment from nested values, as TOML, keyword arguments or the command line give them.

    over: values that lie over those of `raw`, as options over a config file; what they leave without a use there goes

    >>> experiment({"task": "classify", "train": {"learning_rat": 1e-3}})
    Traceback (most recent call last):
    seqloom.spec.errors.ConfigError: unknown key train.learning_rat. Did you mean train.lr? ...
    >>> file = {"task": "tag", "train": {"optimiser": "adam", "beta1": 0.8}}
    >>> experiment(file, over={"train": {"optimiser": "sgd"}}).train.beta1 == experiment({"task": "tag"}).train.beta1
    True
    """
    above = over or {}
    both = merged(raw, above)
    whole = validated(both)
    gone: set[str] = set()
    for each in useless(whole):
        if is_said(each.key, above, whole) or (is_said(each.key, raw, whole) and not has(each.decided_by, above)):
            raise ConfigError(each.sentence, each.key)
        if is_said(each.key, raw, whole):
            gone.add(each.key)
    return validated(merged(without(raw, gone), above)) if gone else whole


def validated(raw: Mapping[str, Any]) -> Experiment:
    """As the schema says, or one sentence."""
    try:
        return Experiment.model_validate(dict(raw))
    except ValidationError as wrong:
        raise explained(wrong, raw) from None


def has(key: str, raw: Mapping[str, Any]) -> bool:
    """Whether a key stands among nested values."""
    part, _, name = key.partition(".")
    return name in (raw.get(part) or {})


def is_said(key: str, raw: Mapping[str, Any], whole: Experiment) -> bool:
    """Whether a key stands there with a value that is not none."""
    part, _, name = key.partition(".")
    return has(key, raw) and spelt_out(type(getattr(whole, part)), raw[part])[name] is not None


def without(raw: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    """Nested values, less some dotted keys."""
    return {
        part: {name: item for name, item in inside.items() if f"{part}.{name}" not in gone}
        if isinstance(inside, Mapping)
        else inside
        for part, inside in raw.items()
    }
