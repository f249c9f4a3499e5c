"""Encoder-decoders: any encoder with any causal decoder; `model.arch` names the decoder.

Decoders without cross-attention get an attention layer over the source (Bahdanau et al. 2014; Luong et al. 2015).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from seqloom.core import names
from seqloom.core.config.section import AllBut, OneOf, Section, Values, key, keys
from seqloom.core.problem import ConfigError, KeyName, Problem, conflict
from seqloom.core.wording import counted, join_words
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

# What the decoder knows of the source without attention, in the description of a model.
BRIDGE_DESCRIPTIONS = {
    "last": "the encoder's last",
    "last-map": "a learned map of the encoder's last",
    "mean": "the mean of the source",
    "mean-map": "a learned map of the mean of the source",
    "source": "from the source",
}


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
    bridge: names.Bridge = key(
        ...,
        "How the source sets the decoder's initial state: the final state of a recurrent encoder (last; of both "
        "directions, [forward at the end; backward at the start]) or the mean of the encoder's outputs (mean), each of "
        "them also through a learned tanh layer, which fits any sizes (last-map, mean-map); or not at all (none). "
        "Default: last if the encoder reads one way and has the decoder's cell and depth; otherwise mean-map, or "
        "without attention last-map if the encoder is made of cells. source, of older runs: last in the same case, "
        "otherwise mean-map.",
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


def fill(family: type[Family], values: Values) -> Values:
    """The values, completed by the defaults that depend on defaults of other keys."""
    own: Values = {"encoder": values["arch"], "encoder_depth": values["depth"]}
    result = own | {name: value for name, value in values.items() if name not in own or value is not None}
    if AttentionDecoderKeys in model_keys(family) and result.get("bridge") is None:
        result["bridge"] = default_bridge(family, result)
    return result


def default_bridge(family: type[Family], values: Values) -> str:
    """The encoder's final state where it is known to fit; without attention, where there is one.

    Otherwise the mean of the encoder's outputs, because its last output may have seen only a few positions.
    """
    if not family.has_initial_state:
        return "none"
    encoder = values["encoder"]
    if not vectors_of(encoder):
        return "mean-map"
    has_depth = str(values["encoder_depth"]) == str(values["depth"])
    if encoder == values["arch"] and has_depth and not values.get("bidirectional"):
        return "last"
    return "last-map" if values.get("attention") == "none" else "mean-map"


def vectors_of(arch: object) -> tuple[str, ...]:
    """The vectors in the state of each layer; empty if there are none, or if only the built layers tell."""
    return ARCHITECTURES[arch].vectors if isinstance(arch, str) and arch in ARCHITECTURES else ()


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
        yield no_initial_state(section)
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
    yield from bridge_conflicts(section, own)


def no_initial_state(section: Family) -> Problem:
    """The problem of a decoder without attention and a context vector whose state the source can't set."""
    message = f"without attention, {section.arch} can't see the source, because it has no initial state"
    advice = f"Give {KeyName('model.context_pool', 'mean')}, or a {KeyName('model.attention')} such as additive"
    return conflict("model.context_pool", message, advice)


def bridge_conflicts(section: Family, own: AttentionDecoderKeys) -> Iterator[Problem]:
    """A bridge without effect, and final states that can't be copied, as far as they are known before building."""
    bridge = KeyName("model.bridge", own.bridge)
    if own.bridge in ("none", "source"):
        return
    if not section.has_initial_state:
        message = f"{bridge} has no effect, because {section.arch} has no initial state that a source could set"
        yield conflict("model.bridge", message, "Leave it out")
    mean_map = f"Give {KeyName('model.bridge', 'mean-map')}, which fits any encoder"
    is_last = own.bridge in ("last", "last-map")
    if is_last and not has_final_state(section, own):
        reason = "there is no encoder" if own.encoder == NO_ENCODER else f"{own.encoder} has none"
        yield conflict("model.bridge", f"{bridge} reads the encoder's final state, but {reason}", mean_map)
    if own.bridge == "last" and (reason := reason_not_to_copy(section, own)):
        advice = f"Give {KeyName('model.bridge', 'last-map')}, which fits states of any sizes"
        yield conflict("model.bridge", f"{bridge} copies the encoder's final state, but {reason}", advice)
    if (
        own.bridge == "mean"
        and vectors_of(section.arch)
        and (width := memory_width(section, own)) != section.hidden_width
    ):
        message = f"{bridge} copies the mean of the encoder's outputs, which are {width} wide, to states of"
        yield conflict("model.bridge", f"{message} {section.hidden_width}", mean_map)


def has_final_state(section: Family, own: EncoderDecoderKeys) -> bool:
    """Whether the encoder has a final state, as far as it is known before building."""
    if own.encoder == section.arch:
        return section.has_initial_state
    return own.encoder != NO_ENCODER and ARCHITECTURES[own.encoder].family.has_initial_state


def reason_not_to_copy(section: Family, own: EncoderDecoderKeys) -> str:
    """Why the encoder's final state has not the shapes of the decoder's; empty if it may have them."""
    if own.encoder_depth != section.depth:
        return f"the encoder has {counted(own.encoder_depth, 'layer')} and the decoder {section.depth}"
    if section.is_bidirectional and is_same_family(section, own.encoder):
        return "an encoder that reads in both directions has one that is twice as wide as the decoder's"
    of_encoder, of_decoder = vectors_of(own.encoder), vectors_of(section.arch)
    if of_encoder and of_decoder and of_encoder != of_decoder:
        return f"{own.encoder} carries {join_words(of_encoder)}, and {section.arch} {join_words(of_decoder)}"
    return ""


def memory_width(section: Family, own: AttentionDecoderKeys) -> int:
    """The width of the encoder's outputs, or of the stem's without an encoder."""
    if own.attention in names.SAME_WIDTH:
        return section.hidden_width
    encoder = encoder_section(section, max_length=1)  # which changes no width
    return section.dim if encoder is None else encoder.encoder_width


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
    from seqloom.nn.bridges import BRIDGES, vector_widths

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
    if own.bridge == "mean-map" and not own.has_context and not vector_widths(body):  # only the built layers tell
        raise ConfigError.of(no_initial_state(section))
    hidden, context = body.output_size, build_context(own, body.output_size, encoder)
    return AttentionDecoder(
        body,
        context,
        TanhCombine(context.size, hidden, output) if is_tanh else ConcatCombine(context.size, hidden),
        BRIDGES[own.bridge](encoder, body),
        context_input=own.context_input if context.feeds_body else "every",
        input_feeding=own.input_feeding,
    )


def build_context(own: AttentionDecoderKeys, hidden: int, encoder: "Layer") -> "Context":
    """The layer that computes the context vector."""
    from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, NoContext, PooledContext
    from seqloom.nn.pooling import POOLS
    from seqloom.nn.scores import SCORES, Gaussian

    memory = encoder.output_size
    if own.attention == "none":
        if own.context_pool == "none":
            return NoContext()
        return PooledContext(memory, POOLS[own.context_pool].over(encoder))
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
        if own.attention == "none" and own.bridge in BRIDGE_DESCRIPTIONS:
            words.append(f"initial state {BRIDGE_DESCRIPTIONS[own.bridge]}")
        if own.attention == "none" and own.context_pool != "none":
            words.append(f"the {own.context_pool} of the source at {own.context_input} step")
    return ", ".join(words)
