"""Encoder-decoders: any encoder with any causal decoder; `model.arch` names the decoder.

Decoders without cross-attention get an attention layer over the source (Bahdanau et al. 2014; Luong et al. 2015).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from seqloom.core import names
from seqloom.core.config.section import AllBut, OneOf, Section, Values, key, keys
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.models.family import Depth, Family, tied_conflicts
from seqloom.models.layer_builder import CUSTOM, Unnamed
from seqloom.models.registry import ARCHITECTURES

if TYPE_CHECKING:
    from seqloom.nn.decoder_context import Context
    from seqloom.nn.layer import Layer
    from seqloom.nn.model import EncoderDecoder
    from seqloom.nn.stems import TokenEmbedding
    from seqloom.nn.vision import ImageStem

NO_ENCODER = "none"


class EncoderDecoderKeys(Section):
    """The keys of every encoder-decoder, in addition to those of its decoder's family."""

    tied: bool = key(
        ...,
        "Whether the output layer shares its weights with the target embedding; with a shared "
        "vocabulary, the source embedding shares them too.",
    )
    head: names.Head = key("softmax", "The output layer and its loss.")
    encoder: Annotated[str, OneOf(ARCHITECTURES.names, also=(NO_ENCODER,))] = key(
        ..., "The architecture of the encoder; default: that of the decoder."
    )
    encoder_depth: Depth = key(
        ..., "The number of encoder layers; default: `depth`.", only_with={"model.encoder": AllBut((NO_ENCODER,))}
    )


class AttentionDecoderKeys(EncoderDecoderKeys):
    """The keys of a decoder without cross-attention of its own, which gets an attention layer over the source."""

    attention: names.Attention = key("additive", "The attention score of the decoder, or none.")
    attend: Literal["before", "after"] = key(
        "before",
        "Whether the decoder attends to the source before its step (Bahdanau 2014) or after it (Luong 2015).",
        only_with={"model.attention": AllBut(("none",))},
    )
    context_pool: names.Summary = key(
        "none",
        "How the source is pooled into one context vector for all steps, in addition to the decoder's "
        "initial state (attention none).",
        only_with={"model.attention": ("none",)},
    )
    combine: Literal["concatenation", "tanh"] = key(
        ..., "How the context vector and the decoder's state are combined for the output layer."
    )
    context_input: Literal["every", "first"] = key(
        "every", "Whether every step reads the context vector, or only the first."
    )
    bridge: Literal["source", "none"] = key(
        "source",
        "Whether the source sets the decoder's initial state; with none, the decoder knows the source only "
        "through the context vector.",
    )
    input_feeding: bool = key(False, "Whether a step also reads the previous step's output (Luong 2015).")

    @property
    def has_context(self) -> bool:
        """Whether steps read the source, apart from the initial state."""
        return self.attention != "none" or self.context_pool != "none"

    @property
    def context_in_input(self) -> bool:
        """Whether the context is part of the decoder's input."""
        return self.context_pool != "none" if self.attention == "none" else self.attend == "before"


class CustomEncoderKeys(EncoderDecoderKeys):
    """The keys of a decoder whose layers a user-defined function builds; it may build the encoder's layers too."""

    encoder: Annotated[str, OneOf(ARCHITECTURES.names, also=(NO_ENCODER, CUSTOM))] = key(
        ..., "The architecture of the encoder; default: layers of the same function."
    )


def model_keys(family: type[Family]) -> tuple[type[EncoderDecoderKeys], ...]:
    """The keys of a decoder of this family, in addition to the family's."""
    if issubclass(family, Unnamed):
        return (CustomEncoderKeys, AttentionDecoderKeys)
    return (AttentionDecoderKeys,) if family.generates and not family.cross_attends else (EncoderDecoderKeys,)


def defaults(family: type[Family], values: Values) -> Values:
    """The defaults of Bahdanau et al. or of the Transformer, given the values of other keys."""
    result: Values = {"tied": family.cross_attends and values.get("head") in (None, "softmax")}
    if AttentionDecoderKeys in model_keys(family):
        result["combine"] = "tanh" if values.get("tied") else "concatenation"  # tanh gives the embedding's width
    return result


# Checks ---------------------------------------------------------------------------------------------------------------


def conflicts(section: Family) -> Iterator[Problem]:
    """Problems of values that conflict with other keys."""
    own = keys(section, EncoderDecoderKeys)
    if own.tied:
        yield from tied_conflicts(own.head)
    if isinstance(own, AttentionDecoderKeys):
        yield from attention_conflicts(section, own)
    own_initial_state = is_same_family(section, own.encoder) or not has_bridge(own)
    yield from section.decoder_conflicts(own_initial_state=own_initial_state)


def attention_conflicts(section: Family, own: AttentionDecoderKeys) -> Iterator[Problem]:
    """Conflicts of the keys of attention."""
    context_pool, combine_tanh = KeyName("model.context_pool"), KeyName("model.combine", "tanh")
    first_only = KeyName("model.context_input", "first")
    if not own.has_context and own.context_input == "first":
        message = f"{first_only} has no effect without attention or {context_pool}"
        yield conflict("model.context_input", message, "Leave it out")
    if not own.has_context and not section.has_initial_state:
        message = f"without attention, {section.arch} can't see the source, because it has no initial state"
        advice = f"Give {KeyName('model.context_pool', 'mean')}, or a {KeyName('model.attention')} such as additive"
        yield conflict("model.context_pool", message, advice)
    if own.attention != "none" and own.attend == "after" and own.context_input == "first":
        message = f"{first_only} needs a context vector that is known before the step"
        yield conflict("model.context_input", f"{message}; it goes with {KeyName('model.attend', 'before')}")
    if own.tied and own.combine != "tanh":
        message = f"{KeyName('model.tied')} needs an output as wide as a token embedding, which {combine_tanh} gives"
        yield conflict("model.tied", message)
    known_width = section.has_initial_state and section.output_has_hidden_width
    if own.input_feeding and own.combine == "concatenation" and not known_width:
        message = f"{KeyName('model.input_feeding')} here needs an output of a known width, which {combine_tanh} gives"
        yield conflict("model.input_feeding", message)
    input_is_state = own.attend == "after" and not own.input_feeding
    keeps_width = section.output_has_hidden_width or (section.output_has_input_width and input_is_state)
    if own.attention in names.SAME_WIDTH and not keeps_width:
        message = f"{KeyName('model.attention', own.attention)} compares vectors of equal size"
        others = "which this decoder does not have; additive, bilinear and low-rank take any"
        yield conflict("model.attention", f"{message}, {others}")
    if not own.has_context and "none" in (own.encoder, own.bridge):
        message = f"without attention and {context_pool} a decoder sees its source only through"
        both = f"{KeyName('model.encoder')} and {KeyName('model.bridge')}"
        yield conflict("model.context_pool", f"{message} {both}", "Set both, or one of the others")


def has_bridge(own: EncoderDecoderKeys) -> bool:
    """Whether the source sets the decoder's initial state."""
    return not isinstance(own, AttentionDecoderKeys) or own.bridge != "none"


def is_same_family(section: Family, encoder: str) -> bool:
    """Whether the encoder is of the decoder's family."""
    return encoder == section.arch or (encoder != NO_ENCODER and isinstance(section, ARCHITECTURES[encoder].family))


# Building -------------------------------------------------------------------------------------------------------------


def encoder_section(section: Family, max_length: int) -> Family | None:
    """The config of the encoder as a model of its own; None if there is no encoder.

    An encoder of the decoder's family has the decoder's config, except for its depth and directions. One of another
    family has the sizes of that family, over vectors of the same width.

    max_length: the maximum length of a source

    >>> from seqloom.tasks.registry import experiment
    >>> model = experiment({"task": "translate", "model": {"arch": "gru", "encoder": "transformer"}}).model
    >>> encoder_section(model, max_length=65).heads
    4
    """
    own = keys(section, EncoderDecoderKeys)
    if own.encoder == NO_ENCODER:
        return None
    values: Values = {"arch": own.encoder, "depth": own.encoder_depth}
    if is_same_family(section, own.encoder):
        return section.model_copy(update=values | section.encoder_changes())
    family = ARCHITECTURES[own.encoder].family
    shared = {name: getattr(section, name) for name in ("size", "dim", "dropout", "word_dropout", "init")}
    sizes, changes = family.sizes[section.size], family.encoder_values(max_length)
    return family.model_validate({**sizes, **shared, **values, **changes})


def build(
    section: Family, stem: "Layer | ImageStem", target: "TokenEmbedding", *, max_length: int, smoothing: float
) -> "EncoderDecoder":
    """The encoder-decoder of a config, over the stems of the source and the target.

    max_length: the maximum length of a source
    smoothing: label smoothing in training
    """
    from seqloom.nn.heads.per_token import HEADS, PerToken
    from seqloom.nn.model import EncoderDecoder

    encoder = build_encoder(section, stem.output_size, max_length)
    decoder = build_decoder(section, encoder, target.output_size)
    own, size, vocabulary = keys(section, EncoderDecoderKeys), decoder.output_size, target.vocabulary
    # With a tied matrix the output has no bias either: all of it is the embedding (Vaswani et al. 2017).
    head = (
        PerToken(size, vocabulary, tied=target.embedding, bias=False, smoothing=smoothing)
        if own.tied
        else HEADS[own.head](size, vocabulary, smoothing=smoothing)
    )
    return EncoderDecoder(stem, encoder, target, decoder, head)


def build_encoder(section: Family, width: int, max_length: int) -> "Layer":
    """The encoder; without one, the stem's vectors are the memory.

    Some scores need memory and query of one width: they get a linear layer if the encoder has another width.
    """
    from seqloom.nn.dense import DenseOverFeatures
    from seqloom.nn.layer import Identity
    from seqloom.nn.stack import Stack

    config, own = encoder_section(section, max_length), keys(section, EncoderDecoderKeys)
    encoder = Identity(width) if config is None else config.build(width, causal=False)
    one_width = isinstance(own, AttentionDecoderKeys) and own.attention in names.SAME_WIDTH
    if not one_width or encoder.output_size == section.hidden_width:
        return encoder
    return Stack({"read": encoder, "widen": DenseOverFeatures(encoder.output_size, section.hidden_width)})


def build_decoder(section: Family, encoder: "Layer", width: int) -> "Layer":
    """The decoder: with cross-attention if its family has it, otherwise causal layers with a context."""
    from seqloom.nn.attention_decoder import AttentionDecoder, ConcatCombine, TanhCombine
    from seqloom.nn.bridges import NoBridge, choose_bridge

    memory = encoder.output_size
    if section.cross_attends:
        return section.build_decoder(width, memory_size=memory)
    own = keys(section, AttentionDecoderKeys)
    is_tanh = own.combine == "tanh"
    output = section.dim if own.tied else section.hidden_width  # of `combine`; a tied head reads the embedding's width
    input_size = width
    if own.context_in_input and own.has_context:
        input_size += memory
    if own.input_feeding:
        input_size += output if is_tanh else memory * own.has_context + section.hidden_width
    changes = section.decoder_changes(own_initial_state=not has_bridge(own))
    body = section.model_copy(update=changes).build(input_size, causal=True)
    hidden, context = body.output_size, build_context(own, body.output_size, memory)
    return AttentionDecoder(
        body,
        context,
        TanhCombine(context.size, hidden, output) if is_tanh else ConcatCombine(context.size, hidden),
        choose_bridge(encoder, body) if has_bridge(own) else NoBridge(),
        context_input=own.context_input if context.feeds_body else "every",
        input_feeding=own.input_feeding,
    )


def build_context(own: AttentionDecoderKeys, hidden: int, memory: int) -> "Context":
    """The layer that computes the context vector."""
    from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, NoContext, PooledContext
    from seqloom.nn.scores import SCORES, Gaussian

    if own.attention == "none":
        return NoContext() if own.context_pool == "none" else PooledContext(memory, own.context_pool)
    kind = AttentionBefore if own.attend == "before" else AttentionAfter
    if own.attention == "gaussian":  # the width keeps scores from growing with the dimension
        return kind(hidden, memory, Gaussian(hidden, memory, width=hidden**0.25))
    return kind(hidden, memory, SCORES[own.attention](hidden, memory))


def describe(section: Family) -> str:
    """The decoder and its size, the encoder and the attention, to print."""
    own = keys(section, EncoderDecoderKeys)
    words = [section.arch, section.describe_size()]
    if own.encoder != section.arch:
        words.append(f"encoder {own.encoder}")
    if section.is_bidirectional and is_same_family(section, own.encoder):
        words.append("read in both directions")
    if isinstance(own, AttentionDecoderKeys):
        words.append("no attention" if own.attention == "none" else f"{own.attention} attention")
    return ", ".join(words)
