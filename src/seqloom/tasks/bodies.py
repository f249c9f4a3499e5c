"""From a model's config to layers: vectors of a width in, a body out; causal where a task writes token after token."""

from collections.abc import Callable
from typing import TypeVar

from seqloom.nn.convolution import CausalConvolution, CentredConvolution, GatedLinearUnit, GatedTanhUnit
from seqloom.nn.deep import recurrent_stack
from seqloom.nn.dense import DenseOverFeatures
from seqloom.nn.dropout import DROPOUTS, Dropout
from seqloom.nn.initialisation import initialise
from seqloom.nn.layer import Layer
from seqloom.nn.mixer import MixerBlock
from seqloom.nn.models import Writer
from seqloom.nn.positions import POSITIONS
from seqloom.nn.residual import PreNorm
from seqloom.nn.stack import Stack
from seqloom.nn.stems import Tokens
from seqloom.nn.transformer import TransformerParts, decoder, encoder
from seqloom.nn.window import FixedWindow, FixedWindowDirect
from seqloom.spec.config.model import AnyModel, Convolutional, Mixer, Recurrent, Transformer, Window

Build = Callable[..., Layer]
SomeModel = TypeVar("SomeModel", bound=Writer)


def window(part: Window, width: int, *, causal: bool) -> Layer:
    """The last few tokens, hidden layers over them."""
    kind = FixedWindowDirect if part.direct else FixedWindow
    first = kind(width, part.hidden, part.window, activation=part.activation)
    more: list[Layer] = []
    for k in range(part.depth - 1):
        below = first.output_size if k == 0 else part.hidden
        more.append(DenseOverFeatures(below, part.hidden, activation=part.activation))
    top = more[-1].output_size if more else first.output_size
    return Stack([first, *more, Dropout(top, part.dropout)])


def mixer(part: Mixer, width: int, *, causal: bool) -> Layer:
    """Networks over positions and over features, in turn."""
    blocks: list[Layer] = [
        MixerBlock(
            width,
            part.length,
            part.token_hidden,
            part.hidden,
            activation=part.activation,
            norm=part.norm,
            dropout=part.dropout,
        )
        for _ in range(part.depth)
    ]
    return Stack(blocks)


def convolutional(part: Convolutional, width: int, *, causal: bool) -> Layer:
    """y_k = y_{k−1} + D(gate(convolution_k(norm(y_{k−1}))))"""
    kind = CentredConvolution if part.centred else CausalConvolution
    blocks: list[Layer] = []
    for k in range(part.depth):
        dilation = 2 ** (k % 10) if part.dilated else 1  # at most 512, as in WaveNet
        if part.gate == "none":
            inner: Layer = kind(width, width, part.kernel, dilation=dilation, activation=part.activation)
        else:
            unit = GatedLinearUnit if part.gate == "linear" else GatedTanhUnit
            inner = Stack([kind(width, 2 * width, part.kernel, dilation=dilation), unit(width)])
        blocks.append(PreNorm(inner, norm=part.norm, dropout=part.dropout))
    return Stack(blocks)


def recurrent(part: Recurrent, width: int, *, causal: bool) -> Layer:
    """Depth, directions and dropout of one cell; dropout after the last layer too."""
    stack = recurrent_stack(
        part.arch,
        width,
        part.hidden,
        depth=part.depth,
        bidirectional=part.bidirectional,
        connection=part.connection,
        bias=part.bias,
        initial=part.initial,
        dropout=part.dropout,
        input_dropout=part.input_dropout,
        dropout_kind=part.dropout_kind,
        weight_drop=part.weight_drop,
        zoneout=part.zoneout,
    )
    return Stack({"recurrent": stack, "dropout": DROPOUTS[part.dropout_kind](stack.output_size, part.dropout)})


def transformer(part: Transformer, width: int, *, causal: bool) -> Layer:
    """Its decoder if causal, else its encoder."""
    parts = transformer_parts(part, width)
    return decoder(parts) if causal else encoder(parts)


def transformer_parts(part: Transformer, width: int) -> TransformerParts:
    """Sizes and parts of its blocks."""
    return TransformerParts(
        depth=part.depth,
        size=width,
        heads=part.heads,
        hidden_size=part.hidden,
        order=part.order,
        norm=part.norm,
        activation=part.activation,
        gated=part.gated,
        key_heads=part.key_heads,
        score=part.score,
        window=part.attention_window,
        rotary=10_000.0 if part.positions == "rotary" else None,
        bias=part.bias,
        dropout=part.dropout,
    )


BODIES: dict[type[AnyModel], Build] = {
    Window: window,
    Mixer: mixer,
    Convolutional: convolutional,
    Recurrent: recurrent,
    Transformer: transformer,
}


def body(part: AnyModel, width: int, *, causal: bool) -> Layer:
    """The layers that this part of the config describes, over vectors of this width."""
    return BODIES[type(part)](part, width, causal=causal)


def positions(part: AnyModel, width: int, longest: int | None = None) -> Layer | None:
    """What the stem adds to its vectors; recurrence, convolution and mixing need no telling."""
    return POSITIONS[part.positions](width, longest or part.context) if isinstance(part, Transformer) else None


def stem_dropout(part: AnyModel) -> float:
    """Of the stem's vectors; a recurrent model says it by itself (`input_dropout`)."""
    return part.dropout if isinstance(part, Transformer) else 0.0


def tokens(part: AnyModel, vocabulary: int, *, longest: int | None = None, tied: Tokens | None = None) -> Tokens:
    """The stem of a model that reads tokens.

    longest: the most positions, if not those of the config's context
    tied: another stem whose embedding this one shares
    """
    return Tokens(
        vocabulary,
        part.width,
        scaled=isinstance(part, Transformer) and part.scaled,
        positions=positions(part, part.width, longest),
        dropout=stem_dropout(part),
        word_dropout=part.word_dropout,
        tied=tied,
    )


def started(model: SomeModel, part: AnyModel) -> SomeModel:
    """The model with its weights where the config says that they start, if it says so."""
    if part.init is not None:
        recurrent = part.recurrent_init if isinstance(part, Recurrent) else "orthogonal"
        initialise(model, weights=part.init, recurrent=recurrent)
    return model
