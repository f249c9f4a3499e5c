"""Models: a stem, a body and a head; an encoder-decoder is two of those with a memory between."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError, CannotStep
from seqloom.kernels.masks import last_step
from seqloom.nn.heads.head import Head, Loss
from seqloom.nn.heads.pooled import Pooled
from seqloom.nn.layer import Layer, Traits
from seqloom.nn.record import scope
from seqloom.nn.stack import Composite
from seqloom.nn.state import State
from seqloom.nn.vision import ImageStem

Source = Shaped[Tensor, "batch *rest"]  # tokens, frames or images


class GenerativeModel(nn.Module, ABC):
    """A model that writes, one token after another, whatever it is made of: all that `decoding` knows of it.

    state = start(source)                   what it knows before the first token
    logits, state = step(tokens, state)     scores of what comes after each token
    logits, state = next_token_logits(tokens, state)     scores of what comes after the last
    """

    head: Head

    @abstractmethod
    def start(self, source: Source, lengths: Int[Tensor, " batch"] | None = None) -> State:
        """The state before the first token, from a source of these `lengths`."""

    @abstractmethod
    def outputs(
        self, tokens: Int[Tensor, "batch time"], state: State, lengths: Int[Tensor, " batch"] | None = None
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        """y for each token, before the head: one token or many a row, rows of unequal `lengths` in one call."""

    @property
    @abstractmethod
    def max_length(self) -> int | None:
        """The most tokens that it can read, None for any number."""

    def step(
        self, tokens: Int[Tensor, "batch time"], state: State, lengths: Int[Tensor, " batch"] | None = None
    ) -> tuple[Float[Tensor, "batch time vocabulary"], State]:
        """Scores of what comes after each token: one token or many a row, rows of unequal `lengths` in one call."""
        y, after = self.outputs(tokens, state, lengths)
        return self.head(y, lengths), after

    def next_token_logits(
        self, tokens: Int[Tensor, "batch time"], state: State, lengths: Int[Tensor, " batch"] | None = None
    ) -> tuple[Float[Tensor, "batch vocabulary"], State]:
        """Scores of what comes after each row's last token: the head, often the largest part, runs there alone.

        Each row has a token at least.
        """
        y, after = self.outputs(tokens, state, lengths)
        ends = None if lengths is None else lengths.to(y.device)
        final = last_step(y, ends, default=y.new_zeros(y.shape[0], y.shape[2]))
        return self.head(final.unsqueeze(1)).squeeze(1), after


class Model(GenerativeModel):
    """y = body(stem(source)); the head makes of y an answer, and its loss.

    With a causal body and a head over the vocabulary it is a language model, and writes: `start`, then `step` after
    `step`.

    >>> import torch
    >>> from seqloom.nn import GRU, PerToken, Recurrent, TokenEmbedding
    >>> model = Model(TokenEmbedding(10, 4), Recurrent(GRU(4, 8)), PerToken(8, 10))
    >>> tokens = torch.tensor([[1, 2, 3]])
    >>> logits, state = model.step(tokens, model.start(tokens))
    >>> logits.shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, stem: Layer | ImageStem, body: Layer, head: Head) -> None:
        super().__init__()
        check_widths("Model", stem, body, "stem")
        check_widths("Model", body, head, "body")
        self.stem, self.body, self.head = stem, body, head

    def forward(
        self, source: Source, lengths: Int[Tensor, " batch"] | None = None, state: State | None = None
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        """The body's outputs, before the head."""
        with scope("body"):
            return through(self.stem, self.body, source, lengths, state)

    def loss(self, source: Source, target: Tensor, lengths: Int[Tensor, " batch"] | None = None) -> Loss:
        """The head's loss."""
        y, _ = self(source, lengths)
        with scope("head"):
            return self.head.loss(y, target, lengths)

    def predict(self, source: Source, lengths: Int[Tensor, " batch"] | None = None) -> Tensor:
        """The head's answer."""
        y, _ = self(source, lengths)
        with scope("head"):
            return self.head.predict(y, lengths)

    def start(self, source: Source, lengths: Int[Tensor, " batch"] | None = None) -> State:
        """The state before the first token. A language model has no source: of what is given, only the rows count."""
        if isinstance(self.stem, ImageStem):
            raise ArgumentError("Model", "stem", "images", "tokens, for a model that writes", verb="takes")
        if isinstance(self.head, Pooled):
            raise ArgumentError("Model", "head", "one answer a row", "one a step, for a model that writes")
        if not (self.stem.traits.causal and self.body.traits.causal):
            raise CannotStep(
                "it can't write one token after another, because its body reads the whole sequence at once",
                "Build it with a causal body",
                location="Model",
            )
        rows, like = source.shape[0], next(self.parameters())
        return State.join({"stem": self.stem.initial(rows, like), "body": self.body.initial(rows, like)})

    def outputs(
        self, tokens: Int[Tensor, "batch time"], state: State, lengths: Int[Tensor, " batch"] | None = None
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        y, after = self(tokens, lengths, state)
        return y, after

    @property
    def max_length(self) -> int | None:
        return Traits.combine(part for part in (self.stem, self.body) if isinstance(part, Layer)).max_length


class EncoderDecoder(GenerativeModel):
    """memory = encoder(stem(source));   y = decoder(stem(target), memory);   the head makes of y the next token.

    The decoder is any layer with a `start`: an `AttentionDecoder`, or the Transformer's.

    >>> import torch
    >>> from seqloom.nn import PerToken, TokenEmbedding
    >>> from seqloom.nn.transformer import TransformerConfig, cross_decoder, encoder
    >>> parts = TransformerConfig(depth=1, size=8, heads=2, hidden_size=16)
    >>> model = EncoderDecoder(
    ...     TokenEmbedding(9, 8), encoder(parts), TokenEmbedding(7, 8), cross_decoder(parts), PerToken(8, 7)
    ... )
    >>> state = model.start(torch.tensor([[1, 2, 3]]))
    >>> logits, state = model.step(torch.tensor([[0]]), state)
    >>> logits.shape
    torch.Size([1, 1, 7])
    """

    def __init__(
        self, source_stem: Layer | ImageStem, encoder: Layer, target_stem: Layer, decoder: Layer, head: Head
    ) -> None:
        super().__init__()
        check_widths("EncoderDecoder", source_stem, encoder, "stem")
        check_widths("EncoderDecoder", target_stem, decoder, "stem")
        check_widths("EncoderDecoder", decoder, head, "decoder")
        check_decoder(decoder)
        self.source_stem, self.encoder = source_stem, encoder
        self.target_stem, self.decoder, self.head = target_stem, decoder, head

    def start(self, source: Source, lengths: Int[Tensor, " batch"] | None = None) -> State:
        """The memory, prepared once, and the state before the first token."""
        with scope("encoder"):
            memory, final = through(self.source_stem, self.encoder, source, lengths, None)
        stem = self.target_stem.initial(memory.shape[0], memory)
        return State.join({"stem": stem, "body": self.decoder.start(memory, lengths, final.substate("body"))})

    def outputs(
        self, tokens: Int[Tensor, "batch time"], state: State, lengths: Int[Tensor, " batch"] | None = None
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        with scope("decoder"):
            return through(self.target_stem, self.decoder, tokens, lengths, state)

    @property
    def max_length(self) -> int | None:
        return Traits.combine([self.target_stem, self.decoder]).max_length

    def forward(
        self,
        source: Source,
        tokens: Int[Tensor, "batch time"],
        source_lengths: Int[Tensor, " batch"] | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        """The decoder's outputs, before the head, with the right tokens given (teacher forcing)."""
        return self.outputs(tokens, self.start(source, source_lengths), lengths)

    def loss(
        self,
        source: Source,
        tokens: Int[Tensor, "batch time"],
        target: Int[Tensor, "batch time"],
        source_lengths: Int[Tensor, " batch"] | None = None,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> Loss:
        """The head's loss with the right tokens given: target_t comes after tokens_1 .. tokens_t."""
        return self.head.loss(self(source, tokens, source_lengths, lengths)[0], target, lengths)


def through(
    stem: Layer | ImageStem, body: Layer, source: Source, lengths: Tensor | None, state: State | None
) -> tuple[Float[Tensor, "batch time dim"], State]:
    """A stem and a body, each with its part of the state; `lengths` are for sequences, not for images."""
    if state is not None and not isinstance(state, State):
        raise ArgumentError(
            "Model", "state", type(state).__name__, "a State, as the last step returned it", verb="is a"
        )
    if isinstance(stem, ImageStem):
        if lengths is not None:
            raise ArgumentError("Model", "lengths", "given", "None, since all regions of an image are real", verb="is")
        x, seen = stem(source), None
    else:
        x, seen = stem(source, lengths, None if state is None else state.substate("stem"))
    y, after = body(x, lengths, None if state is None else state.substate("body"))
    return y, State.join({"body": after} if seen is None else {"stem": seen, "body": after})


def check_widths(where: str, below: Layer | ImageStem, above: Layer | Head, name: str) -> None:
    """What stands above reads what comes from below."""
    if below.output_size != above.input_size:
        came, expected = f"input_size {above.input_size}", f"{below.output_size}, the output_size of its {name}"
        raise ArgumentError(where, type(above).__name__, came, expected)


def check_decoder(decoder: Layer) -> None:
    """It writes one step after another, and some part of it looks at the memory."""
    if not decoder.traits.causal:
        raise ArgumentError("EncoderDecoder", "decoder", "later steps", "a causal layer", verb="sees")
    begins = {type(part).start for part in decoder.modules() if isinstance(part, Layer)}
    if begins <= {Layer.start, Composite.start}:
        expected = "one that does, such as AttentionDecoder (with this as its body) or cross_decoder"
        raise ArgumentError("EncoderDecoder", "decoder", "no part that looks at the source", expected)
