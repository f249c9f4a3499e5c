"""Loss, perplexity and bits per character of a text."""

import math

from torch import Tensor


class Likelihood:
    """How well a language model predicts a text.

        nats = Σ_t −log p(token_t | tokens before)
        loss = nats / tokens
        perplexity = exp(nats / tokens)
        bits per character = nats / (characters · ln 2)

    Perplexity depends on the tokenizer. Bits per character do not: characters are counted in the text, not in the
    tokens, so models with lossless tokenizers can be compared. A lossy tokenizer (words, lower case) leaves less to
    predict: add no characters then, and the scores have no bits per character.

    exact: whether the added loss is −log p; the loss of a user-defined head may not be, and is then the only score

    >>> text = Likelihood()
    >>> text.add(nats=4 * math.log(2), tokens=4, characters=8)
    >>> text.scores()
    {'loss': 0.693..., 'perplexity': 2.0, 'bits_per_character': 0.5}
    """

    def __init__(self, *, exact: bool = True) -> None:
        self.exact = exact
        self.nats = 0.0
        self.tokens = self.characters = 0

    def add(self, nats: float | Tensor, tokens: int | Tensor, *, characters: int = 0) -> None:
        """Add a batch: the sum of its −log p, its tokens and its characters.

        A head's loss in eval mode is that sum: `add(loss.total, loss.count, characters=...)`.
        """
        self.nats += nats.item() if isinstance(nats, Tensor) else nats
        self.tokens += int(tokens)
        self.characters += characters

    def scores(self) -> dict[str, float]:
        """`loss`, `perplexity`, `bits_per_character`; nothing if nothing was counted."""
        if not self.tokens:
            return {}
        loss = self.nats / self.tokens
        scores = {"loss": loss}
        if self.exact:
            try:
                scores["perplexity"] = math.exp(loss)
            except OverflowError:
                scores["perplexity"] = math.inf
            if self.characters:
                scores["bits_per_character"] = self.nats / (self.characters * math.log(2))
        return scores
