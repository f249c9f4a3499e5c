"""The config of a language model."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from seqloom.core import names
from seqloom.core.config.data import NO_FILES, DataSection, TokenizedData
from seqloom.core.config.decode import DecodeSection
from seqloom.core.config.section import Section, Values, key, keys
from seqloom.core.config.train import Train
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.core.registry import Registry
from seqloom.data.spec import DataSpec, EmbeddedCorpus
from seqloom.models.family import Family, Use, tied_conflicts
from seqloom.tasks.experiment import Experiment, Help

DATA_SPEC = DataSpec(
    "language",
    "plain text",
    ("text",),
    corpora=Registry(
        "corpus",
        {
            "python": EmbeddedCorpus("seqloom.data.corpora.python:text"),
            "copy": EmbeddedCorpus("seqloom.data.corpora.copy:text"),
            "brackets": EmbeddedCorpus("seqloom.data.corpora.brackets:text"),
        },
    ),
)


class LanguageData(TokenizedData, DataSection):
    examples: int | None = key(
        None,
        "The number of examples in the embedded corpus; for `python`, the number of characters.",
        ge=10,
        le=10_000_000,
        only_with={"data.train": NO_FILES},
    )


class LanguageModel(Section):
    """Keys of the model of every family."""

    tied: bool = key(False, "Whether the output layer shares its weights with the embedding.")
    head: names.Head = key("softmax", "The output layer and its loss.")


class LanguageTrain(Train):
    """Keys of training: how a text is read in chunks."""

    batch_size: int | None = key(None, "The number of text streams in a batch, read in parallel.", ge=1, le=16_777_216)
    batch_tokens: int | None = key(
        None,
        "The number of tokens in a batch, `batch_size` times `bptt`; set this or `batch_size`.",
        ge=1,
        le=16_777_216,
    )
    bptt: int = key(
        ..., "The number of tokens through which the gradient is backpropagated (truncated BPTT).", ge=1, le=1_000_000
    )
    bptt_random: bool = key(
        False,
        "Whether the number of tokens varies randomly around `bptt` from batch to batch; needs `carry_state`.",
        only_with={"train.carry_state": (True,)},
    )
    carry_state: bool = key(
        ..., "Whether the state is carried from one batch to the next; otherwise it is reset at each batch."
    )
    loss_at: Literal["every", "last"] = key(
        "every", "Whether the loss is computed at every token of a row, or only at the last."
    )
    samples: int = key(1, "The number of sample texts to generate at each validation.", ge=0, le=20)

    @property
    def streams(self) -> int:
        """The number of text streams in a batch, read in parallel."""
        return self.batch_size or max(1, (self.batch_tokens or 0) // self.bptt)


class Config(Experiment):
    """Predict the next token."""

    data_spec = DATA_SPEC
    help = Help(
        "Learns to predict the next token of a text from the tokens before it, and to generate similar text. Reads "
        "plain text; the last tenth is used for validation. The metric is perplexity: a perplexity of N means that "
        "the model is as uncertain as between N equally probable tokens. The trained model generates text with "
        "`seqloom generate`.",
        file="corpus.txt",
        option="--model transformer",
        more="'books/*.txt' --data.tokenizer bpe",
    )
    architecture = "lstm"
    renamed: ClassVar[Mapping[str, str]] = {"train.batch": "train.batch_size"}
    use = Use.GENERATE
    scores = ("loss", "perplexity", "bits_per_character")

    data: LanguageData = key(..., "Files, splits and tokenization.")
    train: LanguageTrain = key(..., "Training.")
    decode: DecodeSection = key(..., "Decoding: how text is generated.")

    @classmethod
    def model_keys(cls, family: type[Family]) -> tuple[type[Section], ...]:
        return (LanguageModel,)

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        return super().data_defaults(family, size, explicit) | {"tokenizer": "character"}

    @classmethod
    def train_defaults(cls, family: type[Family], size: str) -> Values:
        return {
            **super().train_defaults(family, size),
            "batch_tokens": None,
            "batch_size": 32,
            "bptt": 64,
            "carry_state": family.carries_state,
        }

    @classmethod
    def decode_defaults(cls, data: Values, explicit: Values) -> Values:
        return {"temperature": 0.0} if str(explicit.get("beam_size", 1)) != "1" else {}

    @classmethod
    def required_length(cls, data: Values, train: Values) -> object:
        return train["bptt"]

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        model, train = self.model, self.train
        if train.carry_state and not model.carries_state:
            message = f"{KeyName('train.carry_state')} would let the cache of a {model.arch} grow without limit"
            yield conflict("train.carry_state", message, f"Leave it out, or use an {self.architecture}")
        yield from model.length_conflicts("train.bptt", train.bptt)
        own = keys(model, LanguageModel)
        if own.tied:
            yield from tied_conflicts(own.head)
        if own.tied and model.output_width != model.dim:
            message = f"{KeyName('model.tied')} needs an output ({model.output_width}) as wide as a token embedding"
            yield conflict("model.tied", f"{message}, {KeyName('model.dim')} ({model.dim})")
