"""Models by name: a union of parts, told apart by `arch`."""

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
        description="All widths and depths that are not given: tiny for tests, small for two cores, base for a GPU."
    )
    width: Width = Field(description="The width of a token's vector.")
    depth: Depth = Field(description="The number of layers.")
    dropout: Probability = Field(description="The share of values left out in training, between and after layers.")
    word_dropout: Probability = Field(description="The share of the vocabulary left out in each training step.")
    init: names.Scheme | None = Field(
        None, description="How weight matrices start; unless said, as each layer's paper says."
    )
    tied: bool | None = Field(None, description="language: the output layer is the embedding's own matrix.")
    pool: names.Pool | None = Field(None, description="classify: how all positions become one vector.")
    crf: bool | None = Field(None, description="tag: choose a sentence's tags together (CRF), not one by one.")
    characters: Literal["none", names.CharacterEncoder] | None = Field(
        None, description="tag: what reads the characters of each word, beside its vector."
    )
    character_width: Width | None = Field(None, description="tag: the width of what is read from a word's characters.")


class Window(AnyModel):
    """The fixed-window neural language model (Bengio 2003): the last few tokens, one hidden layer."""

    arch: Literal["window"] = Field(description="Which model.")
    window: int = Field(ge=1, le=4096, description="How many tokens each position sees, itself included.")
    hidden: Width = Field(description="The width of the hidden layer.")
    activation: names.Activation = Field("tanh", description="The hidden layer's activation.")
    direct: bool = Field(False, description="Whether the output sees the window directly too.")


class Mixer(AnyModel):
    """MLP-Mixer over tokens (Tolstikhin 2021): a network over positions, then one over features."""

    arch: Literal["mixer"] = Field(description="Which model.")
    length: int = Field(ge=1, le=16_384, description="The most tokens that it can read.")
    token_hidden: Width = Field(description="The width of the network over positions.")
    hidden: Width = Field(description="The width of the network over features.")
    activation: names.Activation = Field("gelu", description="The activation of both networks.")
    norm: names.Norm = Field("layer", description="The norm before each network.")


class Convolutional(AnyModel):
    """Convolutions over time with a way around each: dilated, gated (WaveNet 2016; Dauphin 2017)."""

    arch: Literal["conv"] = Field(description="Which model.")
    kernel: int = Field(3, ge=1, le=255, description="How many inputs each position sees in each layer.")
    dilated: bool = Field(
        True, description="Whether the inputs stand 1, 2, 4, …, 512 steps apart from layer to layer, then 1 again."
    )
    gate: names.Gate = Field("linear", description="What gates each layer's output.")
    activation: names.Activation = Field("relu", description="The activation where there is no gate.")
    norm: names.Norm = Field("layer", description="The norm before each layer.")
    centred: bool = Field(description="Whether a position sees later inputs too (never in language models).")


class Recurrent(AnyModel):
    """RNN, LSTM, GRU and their textbook variants, deep and in both directions."""

    arch: names.Cell = Field(description="Which model.")
    hidden: Width = Field(description="The width of the state, in each direction.")
    bidirectional: bool = Field(description="Whether a second layer reads from the end (never in language models).")
    connection: names.Connection = Field("plain", description="The way around each layer.")
    initial: names.InitialState = Field("zero", description="The state before the first token.")
    bias: bool = Field(True, description="Whether cells have biases.")
    dropout_kind: names.DropoutKind = Field(
        "plain", description="Whether dropout leaves out other values at each step, or the same at all of them."
    )
    recurrent_init: names.Scheme = Field("orthogonal", description="How state-to-state weights start, with `init`.")
    input_dropout: Probability = Field(0.0, description="Dropout of the vectors that the first layer reads.")
    weight_drop: Probability = Field(0.0, description="The share of recurrent weights left out in training (AWD-LSTM).")
    zoneout: Probability = Field(0.0, description="The share of the state that keeps its past in training.")


class Transformer(AnyModel):
    """The Transformer (Vaswani 2017): an encoder, or a decoder that writes, by the task."""

    arch: Literal["transformer"] = Field(description="Which model.")
    heads: int = Field(ge=1, le=256, description="The number of attention heads; a divisor of the width.")
    hidden: Width = Field(description="The width of the feed-forward layers.")
    positions: names.Position = Field("sinusoidal", description="How a token is told where it stands.")
    context: int = Field(ge=1, le=1_000_000, description="The most tokens that it reads at once.")
    order: names.Order = Field("pre", description="Whether the norm stands before each sublayer or after it.")
    norm: names.Norm = Field("layer", description="The norm.")
    activation: names.Activation = Field("gelu", description="The feed-forward layers' activation.")
    gated: bool = Field(False, description="Whether feed-forward layers have a gate (SwiGLU, with swish).")
    score: names.Score = Field("scaled-dot", description="How a query meets a key.")
    key_heads: int | None = Field(None, ge=1, description="Heads of keys and values, shared by groups of query heads.")
    attention_window: int | None = Field(None, ge=1, description="How many tokens each position sees at most.")
    bias: bool = Field(True, description="Whether linear layers have biases.")
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
            raise ValueError("positions: rotary turns features in pairs; give an even number of them to each head")
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
