"""Encoder-decoders: any encoder, any decoder, a memory between; `model.arch` names the decoder.

A decoder of a family that brings no attention to a source along is given it (Bahdanau et al. 2014; Luong et al. 2015).
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
    from seqloom.nn.attention_decoder import Combine
    from seqloom.nn.decoder_context import Context
    from seqloom.nn.layer import Layer
    from seqloom.nn.model import EncoderDecoder
    from seqloom.nn.scores import Score
    from seqloom.nn.stems import TokenEmbedding
    from seqloom.nn.vision import ImageStem

NO_ENCODER = "none"


class EncoderDecoderKeys(Section):
    """The keys of every encoder-decoder, beside those of its decoder's family."""

    tied: bool = key(
        description="Whether the output layer shares its matrix with the embedding; with a shared vocabulary, the "
        "source's embedding is the same one too."
    )
    head: names.Head = key("softmax", description="What gives each token its probability, and the loss.")
    encoder: Annotated[str, OneOf(ARCHITECTURES.names, also=(NO_ENCODER,))] = key(
        description="What reads the source; the same kind as the decoder, unless given."
    )
    encoder_depth: Depth = key(
        description="The number of layers of the encoder; as many as `depth`, unless given.",
        only_with={"model.encoder": AllBut((NO_ENCODER,))},
    )


class AttentiveDecoderKeys(EncoderDecoderKeys):
    """The keys of a decoder that is given its attention to the source."""

    attention: names.Attention = key(
        "additive", description="The score by which the decoder chooses where to look, or none."
    )
    attend: Literal["before", "after"] = key(
        "before",
        description="Whether the decoder looks at the source before its step (Bahdanau 2014) or after it (Luong 2015).",
        only_with={"model.attention": AllBut(("none",))},
    )
    context_pool: names.Summary = key(
        "none",
        description="With attention none, which one vector of the source every step sees besides the state that the "
        "decoder begins in.",
        only_with={"model.attention": ("none",)},
    )
    combine: Literal["concatenation", "tanh"] = key(
        description="How what was looked at joins the decoder's state for the output layer."
    )
    context_input: Literal["every", "first"] = key(
        "every", description="Whether every step reads what was looked at, or only the first."
    )
    bridge: Literal["source", "none"] = key(
        "source",
        description="Whether the decoder begins in a state that the source gives it, or knows nothing but what it "
        "looks at.",
    )
    input_feeding: bool = key(False, description="Whether a step also reads the last step's output (Luong 2015).")

    @property
    def knows_by_looking(self) -> bool:
        """Whether steps see anything of the source, apart from the state that they begin in."""
        return self.attention != "none" or self.context_pool != "none"

    @property
    def feeds(self) -> bool:
        """Whether what is known of the source goes into the decoder's input."""
        return self.context_pool != "none" if self.attention == "none" else self.attend == "before"


class EncoderOfItsKind(EncoderDecoderKeys):
    """The encoder of a decoder whose layers a function builds may be built by it too."""

    encoder: Annotated[str, OneOf(ARCHITECTURES.names, also=(NO_ENCODER, CUSTOM))] = key(
        description="What reads the source; layers of the same function, unless given."
    )


def model_keys(family: type[Family]) -> tuple[type[EncoderDecoderKeys], ...]:
    """The keys that a decoder of this family has besides its own."""
    given_attention = family.generates and not family.cross_attends
    if issubclass(family, Unnamed):
        return (EncoderOfItsKind, AttentiveDecoderKeys)
    return (AttentiveDecoderKeys,) if given_attention else (EncoderDecoderKeys,)


def defaults(family: type[Family], said: Values) -> Values:
    """Bahdanau's, or the Transformer's. An output layer that shares the embedding's matrix has its width."""
    values: Values = {"tied": family.cross_attends and said.get("head") in (None, "softmax")}
    if AttentiveDecoderKeys in model_keys(family):
        values["combine"] = "tanh" if said.get("tied") else "concatenation"
    return values


# Checks --------------------------------------------------------------------------------------------------------


def conflicts(section: Family) -> Iterator[Problem]:
    """Sentences on keys that don't go together."""
    own = keys(section, EncoderDecoderKeys)
    if own.tied:
        yield from tied_conflicts(own.head)
    if isinstance(own, AttentiveDecoderKeys):
        yield from attention_conflicts(section, own)
    begins_by_itself = is_of_its_kind(section, own.encoder) or begins_anyhow(own)
    yield from section.decoder_conflicts(begins_by_itself=begins_by_itself)


def attention_conflicts(section: Family, own: AttentiveDecoderKeys) -> Iterator[Problem]:
    """What a decoder that is given its attention needs."""
    if not own.knows_by_looking and own.context_input == "first":
        either = f"attention or {KeyName('model.context_pool')}"
        message = f"{KeyName('model.context_input', 'first')} has nothing to feed without {either}"
        yield conflict("model.context_input", message, "Leave it out")
    if not own.knows_by_looking and not section.begins_in_state:
        message = f"without attention, nothing of the source reaches {section.arch}, which has no state to begin in"
        advice = f"Give {KeyName('model.context_pool', 'mean')}, or a {KeyName('model.attention')} such as additive"
        yield conflict("model.context_pool", message, advice)
    if own.attention != "none" and own.attend == "after" and own.context_input == "first":
        message = f"{KeyName('model.context_input', 'first')} feeds what was looked at before the step"
        yield conflict("model.context_input", f"{message}; it goes with {KeyName('model.attend', 'before')}")
    if own.tied and own.combine != "tanh":
        message = f"{KeyName('model.tied')} needs an output as wide as a token's vector"
        yield conflict("model.tied", f"{message}, which {KeyName('model.combine', 'tanh')} gives")
    known = section.begins_in_state and section.output_is_hidden
    if own.input_feeding and own.combine == "concatenation" and not known:
        message = f"{KeyName('model.input_feeding')} here needs an output of a known width"
        yield conflict("model.input_feeding", f"{message}, which {KeyName('model.combine', 'tanh')} gives")
    if own.attention in names.SAME_WIDTH and not keeps_its_width(section, own):
        message = f"{KeyName('model.attention', own.attention)} compares vectors of one width"
        others = "which this decoder does not have; additive, bilinear and low-rank take any"
        yield conflict("model.attention", f"{message}, {others}")
    if not own.knows_by_looking and "none" in (own.encoder, own.bridge):
        message = f"without attention and {KeyName('model.context_pool')} a decoder knows its source by"
        both = f"{KeyName('model.encoder')} and {KeyName('model.bridge')}"
        yield conflict("model.context_pool", f"{message} {both}", "Give both, or one of the others")


def keeps_its_width(section: Family, own: AttentiveDecoderKeys) -> bool:
    """Whether the decoder's output is as wide as `hidden_width`, whatever else its input holds."""
    alone = own.attend == "after" and not own.input_feeding
    return section.output_is_hidden or (section.output_follows_input and alone)


def begins_anyhow(own: EncoderDecoderKeys) -> bool:
    """Whether the decoder begins in a state of its own, since the source gives it none."""
    return isinstance(own, AttentiveDecoderKeys) and own.bridge == "none"


def is_of_its_kind(section: Family, encoder: str) -> bool:
    """Whether the encoder is of the decoder's family."""
    return encoder == section.arch or (encoder != NO_ENCODER and isinstance(section, ARCHITECTURES[encoder].family))


# Building ------------------------------------------------------------------------------------------------------


def encoder_of(section: Family, longest: int) -> Family | None:
    """What `model.encoder` stands for, as a model of its own; None is no encoder at all.

    Of the decoder's own kind it is as the decoder is, but for its depth and the directions in which it reads. Of
    another kind it has the widths of its own kind at this size, over vectors as wide as the model's.

    longest: the most positions of a source, for a kind that must know

    >>> from seqloom.tasks.registry import experiment
    >>> model = experiment({"task": "translate", "model": {"arch": "gru", "encoder": "transformer"}}).model
    >>> encoder_of(model, longest=65).heads
    4
    """
    own = keys(section, EncoderDecoderKeys)
    if own.encoder == NO_ENCODER:
        return None
    said: Values = {"arch": own.encoder, "depth": own.encoder_depth}
    if is_of_its_kind(section, own.encoder):
        return section.model_copy(update=said | section.encoder_changes())
    family = ARCHITECTURES[own.encoder].family
    alike = {name: getattr(section, name) for name in ("size", "dim", "dropout", "word_dropout", "init")}
    return family.model_validate({**family.sizes[section.size], **alike, **said, **family.encoder_values(longest)})


def build(
    section: Family, stem: "Layer | ImageStem", target: "TokenEmbedding", *, longest: int, smoothing: float
) -> "EncoderDecoder":
    """The model that this section of the config describes, over a source's stem and the target's.

    longest: the most positions of a source
    smoothing: of labels, in training
    """
    from seqloom.nn.heads.per_token import HEADS, PerToken
    from seqloom.nn.model import EncoderDecoder

    reader = as_wide(encoder(section, stem.output_size, longest), memory_width(section))
    writer = decoder(section, reader, target.output_size)
    own, size, vocabulary = keys(section, EncoderDecoderKeys), writer.output_size, target.vocabulary
    # With a tied matrix the output has no bias either: all of it is the embedding (Vaswani et al. 2017).
    head = (
        PerToken(size, vocabulary, tied=target.embedding, bias=False, smoothing=smoothing)
        if own.tied
        else HEADS[own.head](size, vocabulary, smoothing=smoothing)
    )
    return EncoderDecoder(stem, reader, target, writer, head)


def encoder(section: Family, width: int, longest: int) -> "Layer":
    """What reads the source; where there is none, the stem's vectors are the memory."""
    from seqloom.nn.layer import Identity

    own = encoder_of(section, longest)
    return Identity(width) if own is None else own.build(width, causal=False)


def memory_width(section: Family) -> int | None:
    """How wide the memory must be; None for any width. Some scores compare vectors of one width alone."""
    own = keys(section, EncoderDecoderKeys)
    compared = isinstance(own, AttentiveDecoderKeys) and own.attention in names.SAME_WIDTH
    return section.hidden_width if compared else None


def as_wide(reader: "Layer", width: int | None) -> "Layer":
    """The encoder, with a linear map at its end if that takes one to give vectors of this width."""
    from seqloom.nn.dense import DenseOverFeatures
    from seqloom.nn.stack import Stack

    if width in (None, reader.output_size):
        return reader
    return Stack({"read": reader, "widen": DenseOverFeatures(reader.output_size, width)})


def decoder(section: Family, reader: "Layer", width: int) -> "Layer":
    """What writes, and looks at what the encoder made: by itself, or any causal layers with a context."""
    from seqloom.nn.attention_decoder import AttentionDecoder
    from seqloom.nn.bridges import NoBridge, choose_bridge

    if section.cross_attends:
        return section.build_decoder(width, memory_size=reader.output_size)
    own = keys(section, AttentiveDecoderKeys)
    memory, fed = reader.output_size, fed_width(section, own, reader.output_size)
    context = context_size(own, memory) if own.feeds else 0
    changes = section.decoder_changes(begins_by_itself=begins_anyhow(own))
    writer = section.model_copy(update=changes).build(width + context + fed, causal=True)
    looking = looks(own, writer.output_size, memory)
    return AttentionDecoder(
        writer,
        looking,
        meets(section, own, looking.size, writer.output_size),
        NoBridge() if own.bridge == "none" else choose_bridge(reader, writer),
        context_input=own.context_input if looking.feeds_body else "every",
        input_feeding=own.input_feeding,
    )


def context_size(own: AttentiveDecoderKeys, memory: int) -> int:
    """How wide what is known of the source is."""
    return memory if own.knows_by_looking else 0


def fed_width(section: Family, own: AttentiveDecoderKeys, memory: int) -> int:
    """How wide the decoder's output is that its next step reads too, with input feeding."""
    if not own.input_feeding:
        return 0
    if own.combine == "tanh":
        return output_width(section, own)
    return context_size(own, memory) + section.hidden_width


def output_width(section: Family, own: AttentiveDecoderKeys) -> int:
    """Of what the output layer reads: where it shares the embedding's matrix, as wide as a token's vector."""
    return section.dim if own.tied else section.hidden_width


def looks(own: AttentiveDecoderKeys, hidden: int, memory: int) -> "Context":
    """What a step knows of the source."""
    from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore, NoContext, PooledContext

    if own.attention == "none":
        return NoContext() if own.context_pool == "none" else PooledContext(memory, own.context_pool)
    kind = AttentionBefore if own.attend == "before" else AttentionAfter
    return kind(hidden, memory, score(own.attention, hidden, memory))


def score(name: str, hidden: int, memory: int) -> "Score":
    """A score by name; the Gaussian one as wide as makes it no sharper in many dimensions, as √dim does for dots."""
    from seqloom.nn.scores import SCORES, Gaussian

    if name == "gaussian":
        return Gaussian(hidden, memory, width=hidden**0.25)
    return SCORES[name](hidden, memory)


def meets(section: Family, own: AttentiveDecoderKeys, context: int, hidden: int) -> "Combine":
    """How it joins the output of the decoder's layers."""
    from seqloom.nn.attention_decoder import ConcatCombine, TanhCombine

    if own.combine == "concatenation":
        return ConcatCombine(context, hidden)
    return TanhCombine(context, hidden, output_width(section, own))


# Words ---------------------------------------------------------------------------------------------------------


def describe(section: Family) -> str:
    """The decoder and its size, what reads the source, and how the decoder looks at it, for a person."""
    own = keys(section, EncoderDecoderKeys)
    words = [section.arch, section.size_words()]
    if own.encoder != section.arch:
        words.append(f"encoder {own.encoder}")
    if section.reads_both_ways and is_of_its_kind(section, own.encoder):
        words.append("read in both directions")
    if isinstance(own, AttentiveDecoderKeys):
        words.append("no attention" if own.attention == "none" else f"{own.attention} attention")
    return ", ".join(words)
