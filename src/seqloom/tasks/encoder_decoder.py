"""From a model's config to an encoder-decoder: any stem and encoder, any decoder, a memory between."""

from seqloom.nn.attentive import AttentiveDecoder, Concatenation, Meeting, TanhMeeting
from seqloom.nn.bridges import Fresh, bridge
from seqloom.nn.contexts import AttentionAfter, AttentionBefore, Context, NoContext, PooledContext
from seqloom.nn.dense import DenseOverFeatures
from seqloom.nn.heads.positions import PerPosition
from seqloom.nn.layer import Layer
from seqloom.nn.models import EncoderDecoder
from seqloom.nn.scores import SCORES, Gaussian, Score
from seqloom.nn.stack import Stack
from seqloom.nn.stems import Tokens
from seqloom.nn.transformer import cross_decoder
from seqloom.nn.unchanged import Unchanged
from seqloom.nn.vision import ImageStem
from seqloom.spec import names
from seqloom.spec.config.encoder import encoder_of
from seqloom.spec.config.model import AnyModel, Attentive, Recurrent, Transformer
from seqloom.tasks.bodies import body, transformer_parts


def encoder_decoder(
    part: AnyModel, stem: Layer | ImageStem, target: Tokens, *, longest: int, smoothing: float
) -> EncoderDecoder:
    """The model that this part of the config describes, over a source's stem and the target's.

    longest: the most positions of a source
    smoothing: of labels, in training
    """
    reader = as_wide(encoder(part, stem.output_size, longest), memory_width(part))
    writer = decoder(part, reader, target.output_size)
    tied = target.embedding if part.tied else None
    vocabulary = target.vocabulary
    # With a tied matrix the output has no bias either: all of it is the embedding (Vaswani et al. 2017).
    head = PerPosition(writer.output_size, vocabulary, tied=tied, bias=tied is None, smoothing=smoothing)
    return EncoderDecoder(stem, reader, target, writer, head)


def encoder(part: AnyModel, width: int, longest: int) -> Layer:
    """What reads the source; where there is none, the stem's vectors are the memory."""
    own = encoder_of(part, longest)
    return Unchanged(width) if own is None else body(own, width, causal=False)


def memory_width(part: AnyModel) -> int | None:
    """How wide the memory must be; None for any width. Some scores compare vectors of one width alone."""
    if not isinstance(part, Attentive) or part.attention not in names.SAME_WIDTH:
        return None
    return int(getattr(part, "hidden", part.width))


def as_wide(reader: Layer, width: int | None) -> Layer:
    """The encoder, with a linear map at its end if that takes one to give vectors of this width."""
    if width in (None, reader.output_size):
        return reader
    return Stack({"read": reader, "widen": DenseOverFeatures(reader.output_size, width)})


def decoder(part: AnyModel, reader: Layer, width: int) -> Layer:
    """What writes, and looks at what the encoder made: the Transformer's, or any causal body with a context."""
    if isinstance(part, Transformer):
        return cross_decoder(transformer_parts(part, width), memory_size=reader.output_size)
    assert isinstance(part, Attentive)  # a mixer can't write: the config has said so
    memory, fed = reader.output_size, fed_width(part, reader.output_size)
    context = context_size(part, memory) if feeds(part) else 0
    writer = body(writing(part), width + context + fed, causal=True)
    looking = looks(part, writer.output_size, memory)
    return AttentiveDecoder(
        writer,
        looking,
        meets(part, looking.size, writer.output_size),
        Fresh() if part.bridge == "none" else bridge(reader, writer),
        feed=part.feed or "every" if looking.feeds else "every",
        input_feeding=bool(part.input_feeding),
    )


def writing(part: Attentive) -> Attentive:
    """The decoder's body: it reads in one direction, and has no first state of its own where the bridge gives one."""
    if not isinstance(part, Recurrent):
        return part
    initial = part.initial if part.bridge == "none" else "zero"
    return part.model_copy(update={"bidirectional": False, "initial": initial})


def feeds(part: Attentive) -> bool:
    """Whether what is known of the source goes into the body's input."""
    return part.summary != "none" if part.attention == "none" else part.attend == "before"


def context_size(part: Attentive, memory: int) -> int:
    """How wide that is."""
    return 0 if part.attention == "none" and part.summary == "none" else memory


def fed_width(part: Attentive, memory: int) -> int:
    """How wide the decoder's output is that its next step reads too, with input feeding."""
    if not part.input_feeding:
        return 0
    if part.meeting == "tanh":
        return output_width(part)
    assert isinstance(part, Recurrent)  # the config has said so
    return context_size(part, memory) + part.hidden


def output_width(part: Attentive) -> int:
    """Of what the output layer reads: where it shares the embedding's matrix, as wide as a token's vector."""
    return part.width if part.tied else int(getattr(part, "hidden", part.width))


def looks(part: Attentive, hidden: int, memory: int) -> Context:
    """What a step knows of the source."""
    if part.attention in (None, "none"):
        return NoContext() if part.summary in (None, "none") else PooledContext(memory, part.summary)
    kind = AttentionBefore if part.attend == "before" else AttentionAfter
    return kind(hidden, memory, score(part.attention, hidden, memory))


def score(name: str, hidden: int, memory: int) -> Score:
    """A score by name; the Gaussian one as wide as makes it no sharper in many dimensions, as √dim does for dots."""
    if name == "gaussian":
        return Gaussian(hidden, memory, width=hidden**0.25)
    return SCORES[name](hidden, memory)


def meets(part: Attentive, context: int, hidden: int) -> Meeting:
    """How it joins the body's output."""
    if part.meeting == "concatenation":
        return Concatenation(context, hidden)
    return TanhMeeting(context, hidden, output_width(part))
