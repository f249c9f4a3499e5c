"""How well a language model predicts a text."""

import math

from torch import Tensor


class Likelihood:
    """The mean surprise of a text, in the units that people compare.

        nats = Σ_t −log p(token_t | tokens before)
        loss = nats / tokens
        perplexity = exp(nats / tokens)
        bits a character = nats / (characters · ln 2)

    Perplexity depends on what a token is. Bits a character do not: characters are counted from the text that the tokens
    stand for, not from the tokens, so models whose tokenisers lose nothing can be compared by them. Where text is lost,
    in words or lower case, less has to be predicted: don't count characters there, and they are not among the scores.

    exact: whether what is added is −log p: the loss of a user-defined head may be another, and then it is the one score

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
        """A batch: the sum of its −log p, and how many tokens and characters it was of.

        A head's loss in eval mode is just that: `add(loss.total, loss.count, characters=...)`.
        """
        self.nats += nats.item() if isinstance(nats, Tensor) else nats
        self.tokens += int(tokens)
        self.characters += characters

    def scores(self) -> dict[str, float]:
        """loss, perplexity, bits_per_character; nothing if nothing was counted."""
        if not self.tokens:
            return {}
        if not self.exact:
            return {"loss": self.nats / self.tokens}
        loss = self.nats / self.tokens
        scores = {"loss": loss, "perplexity": perplexity(loss)}
        if self.characters:
            scores["bits_per_character"] = self.nats / (self.characters * math.log(2))
        return scores


def perplexity(loss: float) -> float:
    """exp(loss), infinite where that is too large to write down."""
    try:
        return math.exp(loss)
    except OverflowError:
        return math.inf
