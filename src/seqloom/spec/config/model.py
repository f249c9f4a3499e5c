"""Models by name: a union of parts, distinguished by `arch`."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from seqloom.spec import names
from seqloom.spec.config.part import Part

Probability = Annotated[float, Field(ge=0, lt=1)]
Width = Annotated[int, Field(ge=1, le=16_384)]
Depth = Annotated[int, Field(ge=1, le=200)]


class AnyModel(Part):
    """What all models have. A key that is None is one that the task has no use for."""

    size: names.Size = Field(
        description="Sets every width and depth not given: tiny for a quick test, small for a CPU, base for a GPU."
    )
    width: Width = Field(description="The size of each token's vector (the embedding).")
    depth: Depth = Field(description="The number of layers.")
    dropout: Probability = Field(
        description="The share of values set to zero in training, between layers and after the last."
    )
    word_dropout: Probability = Field(description="The share of the vocabulary hidden in each training step.")
    init: names.Scheme | None = Field(
        None, description="How weight matrices start. Unless given, each layer starts as its paper says."
    )
    tied: bool | None = Field(
        None,
        description="language, translate, caption: whether the output layer shares its matrix with the embedding; with "
        "a shared vocabulary, the source's embedding is the same one too.",
    )
    encoder: names.Encoder | None = Field(
        None, description="translate, caption: what reads the source; the same kind as the decoder, unless given."
    )
    encoder_depth: Depth | None = Field(
        None, description="translate, caption: the number of layers of the encoder; as many as `depth`, unless given."
    )
    stem: names.ImageStem | None = Field(
        None, description="caption: how an image becomes regions: a CNN's grid, or square patches."
    )
    stages: Annotated[int, Field(ge=1, le=8)] | None = Field(
        None, description="caption: the stages of the CNN, each of which halves height and width (stem grid)."
    )
    image_width: Width | None = Field(
        None, description="caption: the width of the CNN's first stage; each later one has twice as much (stem grid)."
    )
    patch: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        None, description="caption: the pixels of a patch's side; it must divide data.image_size (stem patches)."
    )
    pool: names.Pool | None = Field(None, description="classify: how all positions become one vector.")
    crf: bool | None = Field(
        None, description="tag: whether a sentence's tags are chosen together (CRF), not one by one."
    )
    characters: Literal["none", names.CharacterEncoder] | None = Field(
        None, description="tag: what reads the letters of each word, in addition to its own vector."
    )
    character_width: Width | None = Field(None, description="tag: the size of the vector made from a word's letters.")


class Attentive(AnyModel):
    """What a body that writes step by step needs to look at a source (translate, caption)."""

    attention: names.Attention | None = Field(
        None, description="translate, caption: the score by which the decoder chooses where to look, or none."
    )
    attend: Literal["before", "after"] | None = Field(
        None,
        description="translate, caption: whether the decoder looks at the source before its step (Bahdanau 2014) or "
        "after it (Luong 2015).",
    )
    summary: names.Summary | None = Field(
        None,
        description="translate, caption: with attention none, which one vector of the source every step sees besides "
        "the state that the decoder begins in.",
    )
    meeting: Literal["concatenation", "tanh"] | None = Field(
        None, description="translate, caption: how what was looked at joins the decoder's state for the output layer."
    )
    feed: Literal["every", "first"] | None = Field(
        None, description="translate, caption: whether every step reads what was looked at, or only the first."
    )
    bridge: Literal["source", "none"] | None = Field(
        None,
        description="translate, caption: whether the decoder begins in a state that the source gives it, or knows "
        "nothing but what it looks at.",
    )
    input_feeding: bool | None = Field(
        None, description="translate, caption: whether a step also reads the last step's output (Luong 2015)."
    )


class Window(Attentive):
    """The fixed-window neural language model (Bengio 2003): the last few tokens, one hidden layer."""

    arch: Literal["window"] = Field(description="Which model (`seqloom list models`).")
    window: int = Field(ge=1, le=4096, description="How many tokens each position sees, including itself.")
    hidden: Width = Field(description="The size of the hidden layer.")
    activation: names.Activation = Field("tanh", description="The hidden layer's activation.")
    direct: bool = Field(False, description="Whether the output layer also sees the window directly.")


class Mixer(AnyModel):
    """MLP-Mixer over tokens (Tolstikhin 2021): a network over positions, then one over features."""

    arch: Literal["mixer"] = Field(description="Which model (`seqloom list models`).")
    length: int = Field(ge=1, le=16_384, description="The longest text that it can read, in tokens.")
    token_hidden: Width = Field(description="The size of the hidden layer of the network over positions.")
    hidden: Width = Field(description="The size of the hidden layer of the network over features.")
    activation: names.Activation = Field("gelu", description="The activation of both networks.")
    norm: names.Norm = Field("layer", description="The kind of normalisation before each network.")


class Convolutional(Attentive):
    """Convolutions over time with a way around each: dilated, gated (WaveNet 2016; Dauphin 2017)."""

    arch: Literal["conv"] = Field(description="Which model (`seqloom list models`).")
    kernel: int = Field(3, ge=1, le=255, description="How many tokens each layer looks at from each position.")
    dilated: bool = Field(
        True, description="Whether those tokens lie 1, 2, 4, …, 512 apart from layer to layer, then 1 again."
    )
    gate: names.Gate = Field("linear", description="How each layer's output is gated.")
    activation: names.Activation = Field("relu", description="The activation, with gate none.")
    norm: names.Norm = Field("layer", description="The kind of normalisation before each layer.")
    centred: bool = Field(description="Whether a position also sees later tokens (never in language models).")


class Recurrent(Attentive):
    """RNN, LSTM, GRU and their textbook variants, deep and in both directions."""

    arch: names.Cell = Field(description="Which model (`seqloom list models`).")
    hidden: Width = Field(description="The size of the state, in each direction.")
    bidirectional: bool = Field(
        description="Whether a second network reads from the end (never in language models; of translate, the encoder)."
    )
    connection: names.Connection = Field(
        "plain", description="How a layer's input is kept beside its output: not, added to it, or joined to it."
    )
    initial: names.InitialState = Field("zero", description="The state before the first token.")
    bias: bool = Field(True, description="Whether the cells have biases.")
    dropout_kind: names.DropoutKind = Field(
        "plain", description="Whether dropout zeroes other values at each token, or the same ones throughout a text."
    )
    recurrent_init: names.Scheme = Field(
        "orthogonal", description="How state-to-state weights start; only with `init`."
    )
    input_dropout: Probability = Field(
        0.0, description="The share of the token vectors' values set to zero in training."
    )
    weight_drop: Probability = Field(
        0.0, description="The share of recurrent weights set to zero in training (AWD-LSTM)."
    )
    zoneout: Probability = Field(
        0.0, description="The share of the state that keeps its old value at each token in training."
    )


class Transformer(AnyModel):
    """The Transformer (Vaswani 2017): an encoder, or a decoder that writes, by the task."""

    arch: Literal["transformer"] = Field(description="Which model (`seqloom list models`).")
    heads: int = Field(ge=1, le=256, description="The number of attention heads; it must divide the width.")
    hidden: Width = Field(description="The size of the feed-forward layers.")
    positions: names.Position = Field("sinusoidal", description="How the model knows each token's position.")
    context: int = Field(ge=1, le=1_000_000, description="The most tokens that the model reads at once.")
    order: names.Order = Field("pre", description="Whether normalisation comes before each sublayer or after it.")
    norm: names.Norm = Field("layer", description="The kind of normalisation.")
    activation: names.Activation = Field("gelu", description="The feed-forward layers' activation.")
    gated: bool = Field(False, description="Whether feed-forward layers have a gate (SwiGLU, with swish).")
    score: names.Score = Field("scaled-dot", description="How attention compares a query with a key.")
    key_heads: int | None = Field(
        None, ge=1, description="The number of heads of keys and values, shared by groups of query heads."
    )
    attention_window: int | None = Field(
        None, ge=1, description="How many tokens each position sees at most; all of them unless given."
    )
    bias: bool = Field(True, description="Whether the linear layers have biases.")
    scaled: bool = Field(False, description="Whether token vectors are multiplied by √width (2017).")

    @model_validator(mode="after")
    def heads_divide_the_width(self) -> "Transformer":
        """Each head has the same share of it."""
        if self.width % self.heads:
            raise ValueError(f"heads: {self.heads} does not divide model.width, {self.width}; give a divisor of it")
        if self.key_heads is not None and self.heads % self.key_heads:
            raise ValueError(
                f"key_heads: {self.key_heads} does not divide model.heads, {self.heads}; give a divisor of it"
            )
        if self.positions == "rotary" and self.width // self.heads % 2:
            raise ValueError("positions: rotary needs an even share of model.width in each head; change width or heads")
        if self.positions == "rotary" and self.score not in ("dot", "scaled-dot"):
            raise ValueError(f"positions: rotary goes with the scores dot and scaled-dot, not with {self.score}")
        return self


Model = Annotated[Window | Mixer | Convolutional | Recurrent | Transformer, Field(discriminator="arch")]

MODELS: dict[str, type[AnyModel]] = {
    "window": Window,
    "mixer": Mixer,
    "conv": Convolutional,
    **dict.fromkeys(names.CELLS, Recurrent),
    "transformer": Transformer,
}
