"""`Family`: a section of the config that states what a family of models can do, and builds its layers."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

from pydantic import Field

from seqloom.core import names
from seqloom.core.config.section import OneOf, Section, Values, key
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.core.wording import counted, join_words
from seqloom.models.registry import ARCHITECTURES, generative_architectures

if TYPE_CHECKING:
    from seqloom.nn.layer import Layer
    from seqloom.nn.model import GenerativeModel
    from seqloom.nn.stems import TokenEmbedding

    SomeModel = TypeVar("SomeModel", bound=GenerativeModel)

Probability = Annotated[float, Field(ge=0, lt=1)]
Width = Annotated[int, Field(ge=1, le=16_384)]
Depth = Annotated[int, Field(ge=1, le=200)]


class Use(Enum):
    """What a task needs of a model.

    ENCODE: each position may see the whole sequence
    GENERATE: predict the next token; no position may see a later one
    DECODE: generate from a source, which an encoder reads
    """

    ENCODE = "encode"
    GENERATE = "generate"
    DECODE = "decode"


# Conflicts that several families and tasks share ----------------------------------------------------------------------

NOT_FOR_CONVOLUTIONS = conflict(
    "model.init",
    f"{KeyName('model.init', 'identity')} does not apply to convolutions",
    "Use orthogonal, or leave it out",
)


def norm_conflicts(norm: str) -> Iterator[Problem]:
    """A norm over time sees later tokens."""
    if norm in names.NORMS_OVER_TIME:
        message = f"{KeyName('model.norm', norm)} uses statistics of later tokens, so it can't generate text"
        yield conflict("model.norm", f"{message}; use layer or rms")


def tied_conflicts(head: str) -> Iterator[Problem]:
    """Only the softmax head can share the matrix of the embedding."""
    if head != "softmax":
        layer = f"{KeyName('model.head', head)} has an output layer of its own"
        message = f"{layer}, but {KeyName('model.tied')} needs softmax"
        yield conflict("model.head", message, f"Give {KeyName('model.tied', False)}")


def cannot_generate(arch: str, use: Use) -> Problem:
    """The problem of a model that is not causal where it would have to generate."""
    is_encoder = use is Use.DECODE and arch in ARCHITECTURES
    aside = f"; it can be their encoder ({KeyName('model.encoder', arch)})" if is_encoder else ""
    message = f"{arch} reads a whole sequence at once, so it can't generate text token by token"
    return conflict("model.arch", f"{message}; {join_words(generative_architectures())} can{aside}")


class Family(Section):
    """The keys of every model, and what tasks may ask of a model. A family overrides what differs.

    sizes: widths and depths for each value of `size`
    generates: whether it can be causal
    carries_state: whether its state has a fixed size, so that it can be carried through a text of any length
    has_initial_state: whether it has an initial state, which a source may set
    cross_attends: whether its decoder has cross-attention; `AttentionDecoder` adds attention to other decoders
    default_max_length: the default of `max_length`, in `data` and in `model`
    layers_have_max_length: whether `max_length` bounds its layers, and not only the positions added to their input
    """

    sizes: ClassVar[Mapping[str, Values]] = {}
    generates: ClassVar[bool] = True
    carries_state: ClassVar[bool] = True
    has_initial_state: ClassVar[bool] = False
    cross_attends: ClassVar[bool] = False
    default_max_length: ClassVar[int] = 512
    layers_have_max_length: ClassVar[bool] = False

    arch: Annotated[str, OneOf(ARCHITECTURES.names)] = key(..., "The architecture (`seqloom list models`).")
    size: names.Size = key(
        ..., "Sets the default widths and depths: tiny for a quick test, small for a CPU, base for a GPU."
    )
    dim: Width = key(..., "The size of the token embeddings.")
    depth: Depth = key(..., "The number of layers.")
    dropout: Probability = key(..., "The dropout probability between layers and after the last layer.")
    word_dropout: Probability = key(
        ..., "The probability that all occurrences of a word in a batch are hidden in training."
    )
    init: names.Scheme | None = key(None, "The initialization of weight matrices; default: that of each layer's paper.")

    # Defaults and checks ----------------------------------------------------------------------------------------------

    @classmethod
    def defaults(cls, size: str, use: Use) -> Values:
        """Values for keys of this section, which win over the task's."""
        return {}

    @classmethod
    def train_defaults(cls, size: str, use: Use) -> Values:
        """Values for keys of `train`."""
        return {"lr": 2e-3, "optimizer": "adam"}

    @classmethod
    def encoder_values(cls, max_length: int) -> Values:
        """Values for keys of an encoder whose decoder is of another family; `max_length` is the source's."""
        return {}

    def encoder_changes(self) -> Values:
        """Keys that differ in the encoder of an encoder-decoder of this family."""
        return {}

    def decoder_changes(self, *, own_initial_state: bool) -> Values:
        """Keys that differ in the decoder; `own_initial_state` if the source does not set its initial state."""
        return {}

    def conflicts(self, use: Use) -> Iterator[Problem]:
        """Keys that do not go together, or not with this use; the first one is shown."""
        yield from ()

    def decoder_conflicts(self, *, own_initial_state: bool) -> Iterator[Problem]:
        """The same for an encoder-decoder; `own_initial_state` if one of its layers has an initial state of its own."""
        yield from ()

    def length_conflicts(self, key: str, length: int | None) -> Iterator[Problem]:
        """The conflict of a config key that allows longer sequences than the model reads."""
        limit = self.length_limit
        if limit is None or (length or 0) <= limit:
            return
        message = f"{KeyName(key)} is {length}, more than"
        if "max_length" not in type(self).model_fields:
            yield conflict(key, f"{message} the {limit} positions that the model's layers can read", "Lower it")
        else:
            yield conflict(key, f"{message} {KeyName('model.max_length')}, {limit}", "Make them equal")

    # Sizes ------------------------------------------------------------------------------------------------------------

    @property
    def output_width(self) -> int:
        """The width of the output of its layers."""
        return self.dim

    @property
    def encoder_width(self) -> int:
        """The same of an encoder, whose layers may see later positions."""
        return self.output_width

    @property
    def hidden_width(self) -> int:
        """The width inside its layers, and of a decoder's output before the context is added."""
        return self.dim

    @property
    def length_limit(self) -> int | None:
        """The most positions that it reads: its key `max_length`, if it has one; None for any number."""
        limit = getattr(self, "max_length", None)
        return limit if isinstance(limit, int) else None

    @property
    def output_has_hidden_width(self) -> bool:
        """Whether the output always has `hidden_width`, as that of an LSTM does."""
        return False

    @property
    def output_has_input_width(self) -> bool:
        """Whether the output has the width of the input, as that of residual layers does."""
        return False

    @property
    def is_bidirectional(self) -> bool:
        """Whether a second network reads from the end: its key `bidirectional`, if it has one."""
        return bool(getattr(self, "bidirectional", False))

    # Building ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def build(self, input_size: int, *, causal: bool) -> "Layer":
        """The layers; with `causal`, no position may see a later one."""

    def build_decoder(self, input_size: int, *, memory_size: int) -> "Layer":
        """A decoder with attention to a memory, of a family that `cross_attends`."""
        raise NotImplementedError(f"{type(self).__name__} has no cross-attention.")

    def position_layer(self, width: int, max_length: int | None = None) -> "Layer | None":
        """The layer that adds positions to the stem's vectors, if the model needs one."""
        return None

    @property
    def stem_dropout(self) -> float:
        return 0.0

    @property
    def scales_embeddings(self) -> bool:
        """Whether token vectors are multiplied by √dim."""
        return False

    def tokens(
        self, vocabulary: int, *, max_length: int | None = None, tied: "TokenEmbedding | None" = None
    ) -> "TokenEmbedding":
        """The stem of a model that reads tokens.

        max_length: the maximum number of positions; default: that of the config
        tied: another stem, whose embedding this one shares
        """
        from seqloom.nn.stems import TokenEmbedding

        return TokenEmbedding(
            vocabulary,
            self.dim,
            scaled=self.scales_embeddings,
            positions=self.position_layer(self.dim, max_length),
            dropout=self.stem_dropout,
            word_dropout=self.word_dropout,
            tied=tied,
        )

    def initialized(self, model: "SomeModel") -> "SomeModel":
        """The model, whose weights are initialized if `init` is set."""
        if self.init is not None:
            from seqloom.nn.initialization import initialize

            initialize(model, weights=self.init, recurrent=getattr(self, "recurrent_init", "orthogonal"))
        return model

    def describe_size(self) -> str:
        return f"{counted(self.depth, 'layer')} of {self.hidden_width}"

    def describe(self) -> str:
        """The architecture and its size, to print."""
        return f"{self.arch}, {self.describe_size()}{', both directions' if self.is_bidirectional else ''}"
