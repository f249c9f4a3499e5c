"""The config of tasks that generate a text from a source: an encoder-decoder, and its decoding."""

from collections.abc import Iterator
from typing import ClassVar

from seqloom.core.config.decode import Decode
from seqloom.core.config.section import AllBut, Section, Values, key
from seqloom.core.config.train import ComparedTrain
from seqloom.core.problem import Problem
from seqloom.models import encoder_decoder
from seqloom.models.family import Family, Probability, Use
from seqloom.tasks.experiment import Experiment


class GenerationTrain(ComparedTrain):
    label_smoothing: Probability = key(
        0.1, "The share of each target's probability spread over all classes in training."
    )
    scheduled_sampling: Probability = key(
        0.0,
        "Scheduled sampling: the share of the decoder's input tokens that are its own predictions "
        "instead of the reference; it rises from 0 to this during training (Bengio 2015).",
    )
    doubly_stochastic: float = key(
        0.0,
        "The weight of a penalty that makes the attention to each source position sum to 1 over all steps (Xu 2015).",
        ge=0,
        le=1000,
        only_with={"model.attention": AllBut(("none",))},
    )


class GenerationConfig(Experiment):
    """The config of a task that generates a text from a source.

    answer: what that text is called in answers and reports
    """

    use = Use.DECODE
    metric_input = "texts"
    answer: ClassVar[str]

    train: GenerationTrain = key(..., "Training.")
    decode: Decode = key(..., "Decoding: how text is generated.")

    @classmethod
    def model_keys(cls, family: type[Family]) -> tuple[type[Section], ...]:
        return encoder_decoder.model_keys(family)

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        values: Values = {"max_length": 128, "vocabulary_size": 8000}
        if not explicit.get("train"):
            # An embedded corpus has no files for these splits.
            values |= {"valid_share": 0.05, "test_share": 0.05}
        return super().data_defaults(family, size, explicit) | values

    @classmethod
    def model_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        return super().model_defaults(family, size, explicit) | encoder_decoder.defaults(family, explicit)

    @classmethod
    def train_defaults(cls, family: type[Family], size: str) -> Values:
        return {**super().train_defaults(family, size), "batch_tokens": 4096}

    @classmethod
    def fill_model(cls, model: Values, explicit: Values) -> Values:
        family = cls.sections()["model"]
        assert issubclass(family, Family)
        return encoder_decoder.fill(family, model)

    @classmethod
    def decode_defaults(cls, data: Values, explicit: Values) -> Values:
        """Beam search, unless texts are sampled; at most as many tokens as in training, and the end token."""
        samples = str(explicit.get("temperature", 0)) not in ("0", "0.0")
        max_length = str(data.get("max_length"))
        tokens = int(max_length) if max_length.isdecimal() else 128  # validation reports an invalid value
        return {"temperature": 0.0, "beam_size": 1 if samples else 4, "max_length": min(tokens + 1, 100_000)}

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        yield from encoder_decoder.conflicts(self.model)

    def describe_model(self) -> str:
        return encoder_decoder.describe(self.model)
