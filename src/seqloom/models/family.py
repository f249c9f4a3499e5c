"""What a model family is: a section of the config that knows what it can do, and builds its layers."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

from pydantic import Field

from seqloom.core import names
from seqloom.core.config.section import OneOf, Section, Values, key
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.models.registry import ARCHITECTURES, that_generate

if TYPE_CHECKING:
    from seqloom.nn.layer import Layer
    from seqloom.nn.model import GenerativeModel
    from seqloom.nn.stems import TokenEmbedding

    SomeModel = TypeVar("SomeModel", bound=GenerativeModel)

Probability = Annotated[float, Field(ge=0, lt=1)]
Width = Annotated[int, Field(ge=1, le=16_384)]
Depth = Annotated[int, Field(ge=1, le=200)]


NOT_FOR_CONVOLUTIONS = conflict(
    "model.init",
    f"{KeyName('model.init', 'identity')} is for matrices, and a convolution has others",
    "Take orthogonal, or leave it out",
)


def norm_conflicts(norm: str) -> Iterator[Problem]:
    """Why a model that generates can't have a norm, if it can't."""
    if norm in names.NORMS_OVER_TIME:
        message = f"{KeyName('model.norm', norm)} takes its means over later tokens too, so it can't write"
        yield conflict("model.norm", f"{message}; layer and rms can")


def tied_conflicts(head: str) -> Iterator[Problem]:
    """Why a head can't share the embedding's matrix, if it can't."""
    if head != "softmax":
        message = (
            f"{KeyName('model.head', head)} has an output layer of its own, and {KeyName('model.tied')} is for softmax"
        )
        yield conflict("model.head", message, f"Give {KeyName('model.tied', False)}")


class Use(Enum):
    """What a task asks of a model.

    ENCODE: read a whole sequence; each position may see all others
    GENERATE: write token after token; no position sees a later one
    DECODE: the same about a source, which an encoder has read
    """

    ENCODE = "encode"
    GENERATE = "generate"
    DECODE = "decode"


def cannot_generate(arch: str, use: Use) -> Problem:
    """Why a model whose layers are not causal can't be used so."""
    *others, last = that_generate()
    is_encoder = use is Use.DECODE and arch in ARCHITECTURES
    aside = f"; it can be their encoder ({KeyName('model.encoder', arch)})" if is_encoder else ""
    message = f"{arch} reads a whole sequence at once, so it can't write one token after another"
    return conflict("model.arch", f"{message}; {', '.join(others)} and {last} can{aside}")


class Family(Section):
    """The keys of every model, and what the rest of the package may ask of one.

    sizes: widths and depths by the name of the size
    generates: whether it can be causal
    carries_state: whether what it carries from call to call stays of one size, so that it can be carried for ever
    begins_in_state: whether it has a state to begin in, which a source may give it
    cross_attends: whether its decoder brings attention to the source along; others are given it
    default_max_length: of the examples, unless said
    bounded_itself: whether that holds for its layers too, not only for the positions added to their input
    """

    sizes: ClassVar[Mapping[str, Values]] = {}
    generates: ClassVar[bool] = True
    carries_state: ClassVar[bool] = True
    begins_in_state: ClassVar[bool] = False
    cross_attends: ClassVar[bool] = False
    default_max_length: ClassVar[int] = 512
    bounded_itself: ClassVar[bool] = False

    arch: Annotated[str, OneOf(ARCHITECTURES.names)] = key(description="Which model (`seqloom list models`).")
    size: names.Size = key(
        description="Sets every width and depth not given: tiny for a quick test, small for a CPU, base for a GPU."
    )
    dim: Width = key(description="The size of each token's vector (the embedding).")
    depth: Depth = key(description="The number of layers.")
    dropout: Probability = key(
        description="The share of values set to zero in training, between layers and after the last."
    )
    word_dropout: Probability = key(description="The share of the vocabulary hidden in each training step.")
    init: names.Scheme | None = key(
        None, description="How weight matrices start. Unless given, each layer starts as its paper says."
    )

    # Defaults --------------------------------------------------------------------------------------------------

    @classmethod
    def defaults(cls, size: str, use: Use) -> Values:
        """Keys of this section, for this use; they win over what a task says of all models."""
        return {}

    @classmethod
    def train_defaults(cls, size: str, use: Use) -> Values:
        """How a model of this family learns best."""
        return {"lr": 2e-3, "optimizer": "adam"}

    @classmethod
    def encoder_values(cls, longest: int) -> Values:
        """What it is as the encoder of a model of another family, beside its widths.

        longest: the most positions of a source
        """
        return {}

    def encoder_changes(self) -> Values:
        """What is different in the encoder of a model of this family."""
        return {}

    def decoder_changes(self, *, begins_by_itself: bool) -> Values:
        """What is different in the decoder; `begins_by_itself` if the source does not give it its first state."""
        return {}

    # Checks ----------------------------------------------------------------------------------------------------

    def conflicts(self, use: Use) -> Iterator[Problem]:
        """Sentences on keys that don't go together, or not with this use; the first one is said."""
        yield from ()

    def decoder_conflicts(self, *, begins_by_itself: bool) -> Iterator[Problem]:
        """The same of an encoder-decoder; `begins_by_itself` if a layer of it has a first state of its own."""
        yield from ()

    def length_conflicts(self, key: str, length: int | None) -> Iterator[Problem]:
        """Why it can't read sequences as long as this key of the config says, if it can't."""
        limit = self.length_limit
        if limit is None or (length or 0) <= limit:
            return
        message = f"{KeyName(key)} is {length}, more than"
        if "max_length" not in type(self).model_fields:
            yield conflict(key, f"{message} the {limit} positions that the model's layers take", "Lower it")
        else:
            yield conflict(key, f"{message} {KeyName('model.max_length')}, {limit}", "Make them equal")

    # Sizes -----------------------------------------------------------------------------------------------------

    @property
    def output_width(self) -> int:
        """How wide the vectors are that its layers give, in the direction of time alone."""
        return self.dim

    @property
    def hidden_width(self) -> int:
        """How wide its layers are inside: a decoder's output, if nothing else joins it."""
        return self.dim

    @property
    def length_limit(self) -> int | None:
        """The most positions that the model reads: its key `max_length`, if it has one; None for any number."""
        limit: int | None = getattr(self, "max_length", None)
        return limit

    @property
    def output_is_hidden(self) -> bool:
        """Whether a decoder's output is as wide as `hidden_width`, whatever is joined to its input."""
        return False

    @property
    def output_follows_input(self) -> bool:
        """Whether the output is as wide as the input, and so as `hidden_width` if nothing is joined to that."""
        return False

    # Building --------------------------------------------------------------------------------------------------

    @abstractmethod
    def build(self, input_size: int, *, causal: bool) -> "Layer":
        """Its layers over vectors of this width; `causal` where no position may see a later one."""

    def build_decoder(self, input_size: int, *, memory_size: int) -> "Layer":
        """A decoder that looks at a memory by itself, of a family that does so (`cross_attends`)."""
        raise NotImplementedError(f"{type(self).__name__} brings no attention to a source along.")

    def position_layer(self, width: int, longest: int | None = None) -> "Layer | None":
        """What the stem adds to its vectors, for layers that must be told where each stands."""
        return None

    @property
    def stem_dropout(self) -> float:
        """Of the stem's vectors."""
        return 0.0

    @property
    def scales_embeddings(self) -> bool:
        """Whether token vectors are multiplied by √width."""
        return False

    def tokens(
        self, vocabulary: int, *, longest: int | None = None, tied: "TokenEmbedding | None" = None
    ) -> "TokenEmbedding":
        """The stem of a model that reads tokens.

        longest: the most positions, if not those of the config
        tied: another stem whose embedding this one shares
        """
        from seqloom.nn.stems import TokenEmbedding

        return TokenEmbedding(
            vocabulary,
            self.dim,
            scaled=self.scales_embeddings,
            positions=self.position_layer(self.dim, longest),
            dropout=self.stem_dropout,
            word_dropout=self.word_dropout,
            tied=tied,
        )

    @property
    def recurrent_scheme(self) -> str:
        """How state-to-state weights start, where the config says how weights do."""
        return "orthogonal"

    def initialized(self, model: "SomeModel") -> "SomeModel":
        """The model with its weights where the config says that they start, if it says so."""
        if self.init is not None:
            from seqloom.nn.initialization import initialize

            initialize(model, weights=self.init, recurrent=self.recurrent_scheme)
        return model

    # Words -----------------------------------------------------------------------------------------------------

    def size_words(self) -> str:
        """What makes it large or small."""
        return f"{self.depth} layer{'s' * (self.depth > 1)} of {self.hidden_width}"

    @property
    def reads_both_ways(self) -> bool:
        """Whether a second network reads from the end."""
        return False

    def describe(self) -> str:
        """The architecture and its size, for a person."""
        both = ", both directions" if self.reads_both_ways else ""
        return f"{self.arch}, {self.size_words()}{both}"
