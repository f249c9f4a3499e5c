"""`stream` yields each token as it is generated; a `Detokenizer` turns the tokens into text one by one."""

from codecs import getincrementaldecoder
from collections.abc import Collection, Iterator, Sequence

from seqloom.core.config.decode import DecodeSection
from seqloom.core.problem import ArgumentError
from seqloom.data.tokenizers import Tokenizer
from seqloom.data.tokenizers.byte_level import BYTES, ByteLevelTokenizer
from seqloom.decoding.search import Search
from seqloom.nn.model import Model


def stream(
    model: Model,
    prompts: Sequence[Sequence[int]],
    *,
    options: DecodeSection,
    seed: int,
    end: int | None = None,
    banned: Collection[int] = (),
    context: int | None = None,
    sample_numbers: Sequence[int] | None = None,
) -> Iterator[dict[int, int]]:
    """Continue each prompt, greedily or by sampling, and yield after each step the new token of each row in progress.

    sample_numbers: the sample number of each row, so that rows with the same prompt differ; default: 0, 1, ...

    The other arguments are those of `decode`. Beam search can't stream: its best hypothesis is known only at the end.

    >>> from seqloom.nn import GRU, PerToken, Recurrent, TokenEmbedding
    >>> model = Model(TokenEmbedding(10, 4), Recurrent(GRU(4, 8)), PerToken(8, 10)).eval()
    >>> [sorted(step) for step in stream(model, [[1, 2, 3], [4]], options=DecodeSection(max_length=2), seed=1)]
    [[0, 1], [0, 1]]
    """
    if options.beam_size > 1 or options.answers > 1:
        sizes = f"a beam of {options.beam_size} and n_best {options.answers}"
        raise ArgumentError("stream", "options", sizes, "1 of both; `decode` returns several texts")
    numbers = range(len(prompts)) if sample_numbers is None else sample_numbers
    search = Search(
        model, None, None, prompts, options, end=end, seed=seed, banned=banned, sample_numbers=numbers, context=context
    )
    return ({hypothesis.source: hypothesis.token for hypothesis in step} for step in search.steps() if step)


class Detokenizer:
    """The text of each new token, at a cost independent of the text's length.

    A byte-level tokenizer adds a character when its last byte is known. With another tokenizer, a token's text depends
    only on the token before it, which decides whether there is a space between them.

    >>> from seqloom.data.tokenizers.byte_level import Byte
    >>> tokenizer = Byte.train([], vocabulary_size=256, min_count=1, lowercase=False)
    >>> detokenizer = Detokenizer(tokenizer)
    >>> [detokenizer.add(token) for token in tokenizer.encode("né!").tolist()]
    ['n', '', 'é', '!']
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.utf8 = getincrementaldecoder("utf-8")("replace")
        self.previous: list[int] = []

    def add(self, token: int) -> str:
        """The text that one more token adds; nothing while a character is incomplete."""
        if isinstance(self.tokenizer, ByteLevelTokenizer):
            return self.utf8.decode(b"".join(BYTES[symbol] for symbol in self.tokenizer.parameters.tokens[token]))
        pair = self.tokenizer.decode([*self.previous, token])
        text = pair[len(self.tokenizer.decode(self.previous)) :]
        self.previous = [token]
        return text
