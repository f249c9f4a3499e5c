"""The config of a tagger."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from seqloom.core import names
from seqloom.core.config.data import TaggedColumn, VocabularyData
from seqloom.core.config.section import AllBut, Section, Values, key, keys
from seqloom.core.config.train import ComparedTrain
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.core.registry import Registry
from seqloom.data.spec import DataSpec, EmbeddedCorpus
from seqloom.models.family import NOT_FOR_CONVOLUTIONS, Family, Probability, Use, Width
from seqloom.tasks.experiment import Experiment, Help
from seqloom.tasks.label_config import LabelModel

DATA_SPEC = DataSpec(
    "tag",
    "CoNLL-U (.conllu), or one word and its tag per line (.conll)",
    ("conll",),
    corpora=Registry(
        "corpus",
        {
            "python": EmbeddedCorpus("seqloom.data.corpora.python:sentences"),
            "copy": EmbeddedCorpus("seqloom.data.corpora.copy:sentences"),
            "brackets": EmbeddedCorpus("seqloom.data.corpora.brackets:sentences"),
        },
    ),
    suffix=".conllu",
)

CHARACTER_WIDTH = {"tiny": 16, "small": 128, "base": 256}


class TagData(VocabularyData, TaggedColumn):
    """Words with their tags in, numbers out."""


class TagModel(LabelModel):
    """Keys of the model of every family."""

    crf: bool = key(False, "Whether a CRF predicts the tags of a sentence jointly, instead of one by one.")
    head: names.Head = key("softmax", "The output layer of each word, and its loss.", only_with={"model.crf": (False,)})
    characters: Literal["none", names.CharacterEncoder] = key(
        "lstm", "The encoder of the characters of each word, used in addition to its embedding."
    )
    character_width: Width = key(
        ...,
        "The size of the vector computed from a word's characters.",
        only_with={"model.characters": AllBut(("none",))},
    )


class TagTrain(ComparedTrain):
    """Keys of training."""

    label_smoothing: Probability = key(
        0.0,
        "The share of each target's probability spread over all classes in training (not with a CRF).",
        only_with={"model.crf": (False,)},
    )


class Config(Experiment):
    """Give each word of a sentence a tag."""

    data_spec = DATA_SPEC
    help = Help(
        "Learns to predict the tag of each word of a sentence: its part of speech, or whether it begins or "
        "continues a name. Reads CoNLL-U, or files with a word and its tag on each line and a blank line "
        "between sentences. The model reads each word and its characters. The metrics are "
        "accuracy and, for tags such as B-PER, the F1 of spans. The trained model tags sentences with "
        "`seqloom predict`.",
        file="train.conllu",
        option="--model.crf",
        more="train.conllu --valid dev.conllu --data.tag xpos",
    )
    architecture = "lstm"
    use = Use.ENCODE
    sized: ClassVar[tuple[str, ...]] = ("character_width",)
    scores = (
        *("accuracy", "sentence_accuracy", "span_precision", "span_recall", "span_f1", "span_macro_f1"),
        *("macro_f1", "loss"),
    )
    metric_input = "tags"

    data: TagData = key(..., "Files, splits and tokenization.")
    train: TagTrain = key(..., "Training.")

    @classmethod
    def model_keys(cls, family: type[Family]) -> tuple[type[Section], ...]:
        return (TagModel,)

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        # The letters keep their case; words with one occurrence train the vector of unknown words.
        return super().data_defaults(family, size, explicit) | {"lowercase": True, "min_count": 2}

    @classmethod
    def model_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        values: Values = {"dropout": 0.5, "word_dropout": 0.1, "character_width": CHARACTER_WIDTH[size]}
        if "input_dropout" in family.model_fields:  # besides dropout between layers
            width = family.sizes[size]["dim"]
            assert isinstance(width, int)
            values |= {"input_dropout": 0.3, "dim": 2 * width}
        return values

    @classmethod
    def train_defaults(cls, family: type[Family], size: str) -> Values:
        return super().train_defaults(family, size) | {"epochs": 15}

    @classmethod
    def fill_model(cls, model: Values, explicit: Values) -> Values:
        width, character_width = model["dim"], model["character_width"]
        if "character_width" in explicit or not isinstance(width, int) or not isinstance(character_width, int):
            return model
        return model | {"character_width": min(character_width, max(2, width // 4 * 2))}  # even: two directions

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        model, own = self.model, keys(self.model, TagModel)
        if own.characters != "none" and own.character_width >= model.dim:
            message = f"{KeyName('model.character_width')} is {own.character_width}, and must be less than"
            yield conflict("model.character_width", f"{message} {KeyName('model.dim')}, {model.dim}")
        if own.characters == "lstm" and own.character_width % 2:
            message = f"{KeyName('model.character_width')} is {own.character_width}"
            yield conflict("model.character_width", f"{message}; expected an even number, half for each direction")
        if own.characters == "conv" and model.init == "identity":
            yield NOT_FOR_CONVOLUTIONS
