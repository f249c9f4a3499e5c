"""The encoder of an encoder-decoder, as a model of its own."""

from typing import Any

from seqloom.spec.config.defaults import SIZES
from seqloom.spec.config.model import MODELS, AnyModel, Convolutional, Mixer, Recurrent, Transformer


def encoder_of(model: AnyModel, longest: int) -> AnyModel | None:
    """What `model.encoder` stands for; None is no encoder at all.

    Of the decoder's own kind it is as the decoder is, but for its depth and the directions in which it reads. Of
    another kind it has the widths of its own kind at this size, over vectors as wide as the model's.

    longest: the most positions of a source, for a kind that must know

    >>> from seqloom.spec.config.experiment import experiment
    >>> model = experiment({"task": "translate", "model": {"arch": "gru", "encoder": "transformer"}}).model
    >>> encoder_of(model, longest=65).heads
    4
    """
    if model.encoder in (None, "none"):
        return None
    kind = MODELS[model.encoder]
    said: dict[str, Any] = {"arch": model.encoder, "depth": model.encoder_depth or model.depth}
    if kind is Convolutional:
        said["centred"] = True
    if kind is Mixer:
        said["length"] = longest
    if isinstance(model, kind):
        return model.model_copy(update=said)
    if kind is Recurrent:
        said["bidirectional"] = True
    if kind is Transformer:
        said["context"] = longest
    alike = {name: getattr(model, name) for name in ("size", "width", "dropout", "word_dropout", "init")}
    return kind.model_validate({**SIZES[kind][model.size], **alike, **said})
