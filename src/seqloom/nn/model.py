"""Models: a stem, a body and a head; or an encoder and a decoder with a memory between them."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError, CannotStep
from seqloom.kernels.masks import last_step
from seqloom.nn.heads.head import Head, Lengths, Loss, Vectors
from seqloom.nn.heads.pooled import Pooled
from seqloom.nn.layer import Layer, Traits
from seqloom.nn.record import offer_tokens, scope, step
from seqloom.nn.recording import SOURCE_TOKENS
from seqloom.nn.stack import Composite
from seqloom.nn.state import State
from seqloom.nn.vision import ImageStem

Source = Shaped[Tensor, "batch *rest"]  # tokens, frames or images
TokenIds = Int[Tensor, "batch time"]


class GenerativeModel(nn.Module, ABC):
    """A model that generates tokens one after another: the interface that `decoding` uses.

    state = start(source)                              the state before the first token
    logits, state = step(tokens, state)                scores of the next token after each token
    logits, state = next_token_logits(tokens, state)   scores of the next token after the last
    """

    head: Head

    @property
    @abstractmethod
    def max_length(self) -> int | None:
        """The most tokens that it can read; None for any number."""

    @abstractmethod
    def start(self, source: Source, lengths: Lengths = None) -> State:
        """The state before the first token, for a source of these `lengths`."""

    @abstractmethod
    def outputs(self, tokens: TokenIds, state: State, lengths: Lengths = None) -> tuple[Vectors, State]:
        """The body's output for each token, before the head; rows may have unequal `lengths`."""

    def step(
        self, tokens: TokenIds, state: State, lengths: Lengths = None
    ) -> tuple[Float[Tensor, "batch time vocabulary"], State]:
        """Scores of the next token after each token; rows may have unequal `lengths`."""
        y, new_state = self.outputs(tokens, state, lengths)
        return self.head(y, lengths), new_state

    def next_token_logits(
        self, tokens: TokenIds, state: State, lengths: Lengths = None
    ) -> tuple[Float[Tensor, "batch vocabulary"], State]:
        """Scores of the next token after each row's last one; the head, often the largest part, runs only there.

        Each row has at least one token.
        """
        y, new_state = self.outputs(tokens, state, lengths)
        lengths = None if lengths is None else lengths.to(y.device)
        final = last_step(y, lengths, default=y.new_zeros(y.shape[0], y.shape[2]))
        return self.head(final.unsqueeze(1)).squeeze(1), new_state


class Model(GenerativeModel):
    """y = body(stem(source)); the head turns y into a prediction and a loss.

    With a causal body and a head over the vocabulary it is a language model: `start`, then `step` after `step`.

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

    @property
    def max_length(self) -> int | None:
        return Traits.combine(part for part in (self.stem, self.body) if isinstance(part, Layer)).max_length

    def forward(self, source: Source, lengths: Lengths = None, state: State | None = None) -> tuple[Vectors, State]:
        """The body's outputs, before the head."""
        with step(source, state), scope("body"):
            offer_tokens(source, lengths)
            return run_stem_and_body(self.stem, self.body, source, lengths, state)

    def loss(self, source: Source, target: Tensor, lengths: Lengths = None) -> Loss:
        with step(source, None):
            y, _ = self(source, lengths)
            with scope("head"):
                return self.head.loss(y, target, lengths)

    def predict(self, source: Source, lengths: Lengths = None) -> Tensor:
        with step(source, None):
            y, _ = self(source, lengths)
            with scope("head"):
                return self.head.predict(y, lengths)

    def probabilities(self, source: Source, lengths: Lengths = None) -> Tensor:
        """The probability of each class, if the head has classes."""
        with step(source, None):
            y, _ = self(source, lengths)
            with scope("head"):
                return self.head.probabilities(y, lengths)  # type: ignore[no-any-return, operator]

    def start(self, source: Source, lengths: Lengths = None) -> State:
        """The initial state. A language model has no source: only the number of rows is used."""
        if isinstance(self.stem, ImageStem):
            raise ArgumentError("Model", "stem", "images", "tokens, for a generative model", verb="takes")
        if isinstance(self.head, Pooled):
            raise ArgumentError("Model", "head", "one prediction per row", "one per step, for a generative model")
        if not (self.stem.traits.causal and self.body.traits.causal):
            raise CannotStep(
                "it can't generate one token after another, because its body reads the whole sequence at once",
                "Build it with a causal body",
                location="Model",
            )
        rows, like = source.shape[0], next(self.parameters())
        return State.join({"stem": self.stem.initial(rows, like), "body": self.body.initial(rows, like)})

    def outputs(self, tokens: TokenIds, state: State, lengths: Lengths = None) -> tuple[Vectors, State]:
        return self(tokens, lengths, state)  # type: ignore[no-any-return]


class EncoderDecoder(GenerativeModel):
    """memory = encoder(stem(source));   y = decoder(stem(target), memory);   the head predicts the next token from y.

    The decoder is any layer with a `start`: an `AttentionDecoder`, or the Transformer's.

    >>> import torch
    >>> from seqloom.nn import PerToken, TokenEmbedding
    >>> from seqloom.nn.transformer import TransformerConfig, cross_decoder, encoder
    >>> config = TransformerConfig(depth=1, size=8, heads=2, hidden_size=16)
    >>> source, target = TokenEmbedding(9, 8), TokenEmbedding(7, 8)
    >>> model = EncoderDecoder(source, encoder(config), target, cross_decoder(config), PerToken(8, 7))
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
        if not decoder.traits.causal:
            raise ArgumentError("EncoderDecoder", "decoder", "later steps", "a causal layer", verb="sees")
        starts = {type(part).start for part in decoder.modules() if isinstance(part, Layer)}
        if starts <= {Layer.start, Composite.start}:
            expected = "one that does, such as AttentionDecoder (with this as its body) or cross_decoder"
            raise ArgumentError("EncoderDecoder", "decoder", "no part that reads the source", expected)
        self.source_stem, self.encoder = source_stem, encoder
        self.target_stem, self.decoder, self.head = target_stem, decoder, head

    @property
    def max_length(self) -> int | None:
        return Traits.combine([self.target_stem, self.decoder]).max_length

    def start(self, source: Source, lengths: Lengths = None) -> State:
        """The memory, prepared once, and the state before the first token."""
        with step(source, None) as recorded:
            offer_tokens(source, lengths, SOURCE_TOKENS)
            with scope("encoder"):
                memory, final = run_stem_and_body(self.source_stem, self.encoder, source, lengths, None)
            stem = self.target_stem.initial(memory.shape[0], memory)
            state = State.join({"stem": stem, "body": self.decoder.start(memory, lengths, final.substate("body"))})
        if recorded is not None:
            state.recorded = recorded.step_rows
        return state

    def outputs(self, tokens: TokenIds, state: State, lengths: Lengths = None) -> tuple[Vectors, State]:
        with step(tokens, state):
            offer_tokens(tokens, lengths)
            with scope("decoder"):
                return run_stem_and_body(self.target_stem, self.decoder, tokens, lengths, state)

    def forward(
        self, source: Source, tokens: TokenIds, source_lengths: Lengths = None, lengths: Lengths = None
    ) -> tuple[Vectors, State]:
        """The decoder's outputs, before the head, with the correct tokens as input (teacher forcing)."""
        return self.outputs(tokens, self.start(source, source_lengths), lengths)

    def loss(
        self,
        source: Source,
        tokens: TokenIds,
        target: TokenIds,
        source_lengths: Lengths = None,
        lengths: Lengths = None,
    ) -> Loss:
        """The head's loss with the correct tokens as input: target_t follows tokens_1 .. tokens_t."""
        return self.head.loss(self(source, tokens, source_lengths, lengths)[0], target, lengths)


def run_stem_and_body(
    stem: Layer | ImageStem, body: Layer, source: Source, lengths: Lengths, state: State | None
) -> tuple[Vectors, State]:
    """body(stem(source)) and the new state of both; `lengths` are for sequences, not for images."""
    if state is not None and not isinstance(state, State):
        raise ArgumentError(
            "Model", "state", type(state).__name__, "a State, as the last step returned it", verb="is a"
        )
    body_state = None if state is None else state.substate("body")
    if isinstance(stem, ImageStem):
        if lengths is not None:
            raise ArgumentError("Model", "lengths", "given", "None, since an image has no padding", verb="is")
        y, body_state = body(stem(source), None, body_state)
        return y, State.join({"body": body_state})
    x, stem_state = stem(source, lengths, None if state is None else state.substate("stem"))
    y, body_state = body(x, lengths, body_state)
    return y, State.join({"stem": stem_state, "body": body_state})


def check_widths(location: str, below: Layer | ImageStem, above: Layer | Head, name: str) -> None:
    if below.output_size != above.input_size:
        expected = f"{below.output_size}, the output_size of its {name}"
        raise ArgumentError(location, type(above).__name__, f"input_size {above.input_size}", expected)
