"""Word vectors from a table and from the word's characters, so that a word out of vocabulary has a vector too."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.core.registry import Registry
from seqloom.kernels.masks import mask_padding
from seqloom.nn.cells.lstm import LSTM
from seqloom.nn.convolution import CenteredConvolution
from seqloom.nn.layer import Layer
from seqloom.nn.pooling import MaxPool
from seqloom.nn.record import scope, step
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.stems import TokenEmbedding, output_layers
from seqloom.nn.validation import check_count, check_lengths, check_tokens

NO_CHARACTER = 0  # pads a word's row of characters

Characters = Float[Tensor, "words longest width"]
WordVectors = Float[Tensor, "words dim"]
Lengths = Int[Tensor, " words"]


class CharacterEncoder(nn.Module, ABC):
    """A vector for each word from its characters: [words, longest] to [words, size]; NO_CHARACTER is padding."""

    def __init__(self, characters: int, width: int, size: int) -> None:
        super().__init__()
        check_count(type(self).__name__, "characters", characters)
        self.embedding = nn.Embedding(characters, width)
        nn.init.normal_(self.embedding.weight, 0.0, width**-0.5)
        self.output_size = size

    def forward(self, characters: Int[Tensor, "words longest"]) -> WordVectors:
        lengths = (characters != NO_CHARACTER).sum(dim=1)
        with step(characters, None, apart=True), scope("spelling"):  # its rows are words
            return self.encode(self.embedding(characters), lengths)

    @abstractmethod
    def encode(self, x: Characters, lengths: Lengths) -> WordVectors:
        """The word's vector from the vectors of its characters."""


class CharacterLSTM(CharacterEncoder):
    """[→h_n; ←h_1], the final states of a bidirectional LSTM (Ling et al. 2015; Lample et al. 2016).

    >>> CharacterLSTM(characters=30, width=4, size=6)(torch.tensor([[3, 1, 2], [5, 0, 0]])).shape
    torch.Size([2, 6])
    """

    def __init__(self, characters: int, width: int, size: int) -> None:
        super().__init__(characters, width, size)
        if size % 2:
            raise ArgumentError("CharacterLSTM", "size", str(size), "an even number, half per direction", verb="is")
        half = size // 2
        self.recurrent = Bidirectional(Recurrent(LSTM(width, half)), Recurrent(LSTM(width, half)))

    def encode(self, x: Characters, lengths: Lengths) -> WordVectors:
        _, state = self.recurrent(x, lengths)
        return torch.cat([state["forwards.hidden"], state["backwards.reversed.hidden"]], dim=1)


class CharacterCNN(CharacterEncoder):
    """max_t relu(W [x_{t−1}; x_t; x_{t+1}] + b), with `size` filters (Santos & Zadrozny 2014; Ma & Hovy 2016).

    >>> CharacterCNN(characters=30, width=4, size=5)(torch.tensor([[3, 1, 2], [5, 0, 0]])).shape
    torch.Size([2, 5])
    """

    def __init__(self, characters: int, width: int, size: int) -> None:
        super().__init__(characters, width, size)
        self.convolution = CenteredConvolution(width, size, kernel_size=3, activation="relu")
        self.pool = MaxPool(size)

    def encode(self, x: Characters, lengths: Lengths) -> WordVectors:
        y, _ = self.convolution(x, lengths)
        pooled: Tensor = self.pool(y, lengths)
        return pooled


CHARACTER_ENCODERS: Registry[type[CharacterEncoder]] = Registry(
    "character encoder", {"lstm": CharacterLSTM, "conv": CharacterCNN}
)


class WordEmbedding(Stack):
    """A vector for each word from a table and from its characters: x_t = D([E[word_t]; spelling(characters_t)] + P_t)

    tokens[b, t] is a word's number followed by those of its characters, padded with NO_CHARACTER: [batch, time,
    1 + longest]. A word that occurs several times in a batch is encoded once.

    >>> stem = WordEmbedding(vocabulary=10, size=4, spelling=CharacterCNN(characters=30, width=3, size=5))
    >>> x, state = stem(torch.tensor([[[7, 3, 1, 2], [1, 5, 0, 0]]]))
    >>> x.shape
    torch.Size([1, 2, 9])
    """

    def __init__(
        self,
        vocabulary: int,
        size: int,
        spelling: CharacterEncoder,
        *,
        scaled: bool = False,
        positions: Layer | None = None,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__(output_layers("WordEmbedding", size + spelling.output_size, positions, "none", dropout))
        self.words = TokenEmbedding(vocabulary, size, scaled=scaled, word_dropout=word_dropout)
        self.spelling = spelling

    @property
    def vocabulary(self) -> int:
        return self.words.vocabulary

    def forward(
        self,
        tokens: Int[Tensor, "batch time 1+longest"],
        lengths: Int[Tensor, " batch"] | None = None,
        state: State | None = None,
    ) -> tuple[Float[Tensor, "batch time dim"], State]:
        location = "WordEmbedding"
        if not isinstance(tokens, Tensor) or tokens.dim() != 3 or tokens.shape[2] < 2:
            expected, is_tensor = "[batch, time, 1 + characters], a word and its characters", isinstance(tokens, Tensor)
            actual = f"shape {list(tokens.shape)}" if is_tensor else type(tokens).__name__
            raise ArgumentError(location, "tokens", actual, expected, verb="has" if is_tensor else "is a")
        if lengths is not None:
            rows, time, _ = tokens.shape
            tokens = mask_padding(tokens, check_lengths(location, lengths, rows, time, tokens.device))
        words = check_tokens(location, tokens[:, :, 0], None, self.vocabulary, self.words.embedding.weight)
        embedding = self.spelling.embedding
        check_tokens(location, tokens[:, :, 1:].flatten(1), None, embedding.num_embeddings, embedding.weight)
        distinct, index = tokens[:, :, 1:].flatten(0, 1).unique(dim=0, return_inverse=True)
        character_vectors = self.spelling(distinct)[index].unflatten(0, words.shape)
        return self.run(
            location, torch.cat([self.words.embed(words), character_vectors], dim=2), lengths, state, argument="tokens"
        )
