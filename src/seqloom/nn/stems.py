"""Stems: tokens and frames (a series of feature vectors) to vectors. Images: see `vision`."""

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.core.problem import ArgumentError
from seqloom.nn.dense import DenseOverFeatures
from seqloom.nn.dropout import Dropout
from seqloom.nn.layer import Identity, Layer
from seqloom.nn.normalization import NORMS
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.validation import check_count, check_probability, check_tokens


class TokenEmbedding(Stack):
    """A vector for each token and its position: x_t = D(norm(c E[token_t] + P_t))

    scaled: c = √size (Vaswani et al. 2017), otherwise 1
    positions: a layer that adds P, such as `Sinusoidal` or `LearnedPositions`; default: none
    norm, dropout: of the output
    word_dropout: in training, all occurrences of a token in the batch are zero with this probability
        (Gal & Ghahramani 2016; Merity et al. 2017)
    tied: another stem whose E this one refers to and does not own: a model with both has E once in `parameters()` and
        `state_dict()`, under the other's name

    A head may share E: `PerToken(size, vocabulary, tied=stem.embedding)`.

    >>> stem = TokenEmbedding(vocabulary=10, size=4)
    >>> x, state = stem(torch.tensor([[1, 2, 3]]))
    >>> x.shape
    torch.Size([1, 3, 4])
    """

    embedding: nn.Embedding

    def __init__(
        self,
        vocabulary: int,
        size: int,
        *,
        scaled: bool = False,
        positions: Layer | None = None,
        norm: str | Layer = "none",
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        tied: "TokenEmbedding | None" = None,
    ) -> None:
        check_count("TokenEmbedding", "vocabulary", vocabulary)
        check_count("TokenEmbedding", "size", size)
        check_probability("TokenEmbedding", "word_dropout", word_dropout)
        super().__init__(output_layers("TokenEmbedding", size, positions, norm, dropout))
        self.vocabulary, self.word_dropout = vocabulary, word_dropout
        self.scale = size**0.5 if scaled else 1.0
        self.tied = tied is not None
        if tied is None:
            self.embedding = nn.Embedding(vocabulary, size)
            nn.init.normal_(self.embedding.weight, 0.0, size**-0.5)
            return
        if tied.embedding.weight.shape != (vocabulary, size):
            shape = f"a matrix {list(tied.embedding.weight.shape)}"
            raise ArgumentError("TokenEmbedding", "tied", shape, f"[{vocabulary}, {size}], vocabulary and size")
        # Bypasses nn.Module, which would register it. The module is held, not its weight, so that the tie outlives
        # `to`, `load_state_dict(assign=True)` and a deep copy of the model.
        object.__setattr__(self, "embedding", tied.embedding)

    def forward(
        self,
        tokens: Int[Tensor, "batch time"],
        lengths: Int[Tensor, " batch"] | None = None,
        state: State | None = None,
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        tokens = check_tokens("TokenEmbedding", tokens, lengths, self.vocabulary, self.embedding.weight)
        return self.run("TokenEmbedding", self.embed(tokens), lengths, state, argument="tokens")

    def embed(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time dim"]:
        """c E[token], with word dropout."""
        x: Tensor = self.embedding(tokens)
        if self.scale != 1:
            x = x * self.scale
        if self.training and self.word_dropout:
            mask = F.dropout(x.new_ones(self.vocabulary, 1), self.word_dropout)
            x = x * F.embedding(tokens, mask)
        return x

    def extra_repr(self) -> str:
        settings = {"scaled": self.scale != 1, "word_dropout": self.word_dropout, "tied": self.tied}
        return ", ".join([f"{self.vocabulary}", *(f"{name}={value}" for name, value in settings.items() if value)])


def frame_embedding(
    features: int, size: int, *, positions: Layer | None = None, norm: str | Layer = "none", dropout: float = 0.0
) -> Stack:
    """A vector for each frame of a series: x_t = D(norm(W f_t + b + P_t))

    >>> x, state = frame_embedding(features=3, size=8)(torch.randn(2, 5, 3))
    >>> x.shape
    torch.Size([2, 5, 8])
    """
    check_count("frame_embedding", "features", features)
    check_count("frame_embedding", "size", size)
    layers = output_layers("frame_embedding", size, positions, norm, dropout)
    return Stack({"project": DenseOverFeatures(features, size), **layers})


def output_layers(
    location: str, size: int, positions: Layer | None, norm: str | Layer, dropout: float
) -> dict[str, Layer]:
    """D(norm(x + P)), the last layers of a stem."""
    return {
        "positions": position_layer(location, size, positions),
        "norm": NORMS[norm](size) if isinstance(norm, str) else norm,
        "dropout": Dropout(size, dropout),
    }


def position_layer(location: str, size: int, positions: Layer | None) -> Layer:
    """The layer that adds P to a stem's vectors, checked for their size; the identity for None."""
    if positions is None:
        return Identity(size)
    if (positions.input_size, positions.output_size) != (size, size):
        raise ArgumentError(location, "positions", f"width {positions.input_size}", f"{size}, the stem's size")
    return positions
