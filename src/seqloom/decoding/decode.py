"""`decode` runs greedy search, sampling or beam search to its end."""

from collections.abc import Collection, Sequence

from jaxtyping import Int, Shaped
from torch import Tensor

from seqloom.core.config.decode import DecodeSection
from seqloom.decoding.hypothesis import Hypothesis, SearchTree
from seqloom.decoding.search import Search
from seqloom.nn.model import GenerativeModel


def decode(
    model: GenerativeModel,
    source: Shaped[Tensor, "batch *rest"] | None,
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    prompts: Sequence[Sequence[int]],
    end: int | None,
    options: DecodeSection,
    seed: int = 0,
    prefixes: Sequence[Sequence[int]] | None = None,
    banned: Collection[int] = (),
    sample_numbers: Sequence[int] | None = None,
    context: int | None = None,
    attention: bool = False,
    trees: list[SearchTree] | None = None,
) -> list[list[Hypothesis]]:
    """The options.answers best hypotheses for each source, the best first.

    With options.temperature above 0 they are samples, otherwise the results of beam search, which is greedy search with
    a beam size of 1. A hypothesis has at most options.max_length steps, the end included, and with a source no more
    than the model can read.

    source, lengths: the arguments of the model's `start`; None for a language model
    prompts: the tokens that the model reads first, a row for each source: the start token, or a text to continue
    end: the token that ends a hypothesis; None if only the length does
    seed: sampling depends on it and on the sample's number only, not on the other rows of the batch
    prefixes: for each source, tokens that its hypotheses start with; they are scored, and included in the tokens
    banned: tokens that are never generated
    sample_numbers: the number of the first sample of each source, the others following; default: 0
    context: the most tokens that a language model reads in one sequence; default: as many as it can. A longer
        hypothesis continues from a fresh state that has read the last half of its tokens.
    attention: whether to record the weights over the source
    trees: a list to which the search tree of each source is appended

    The source and the prompts are read once, in one call; after that a step reads one token of each live hypothesis.
    The model should be in eval mode.

    >>> from seqloom.nn import GRU, Model, PerToken, Recurrent, TokenEmbedding
    >>> from seqloom.core.config.decode import Decode
    >>> model = Model(TokenEmbedding(10, 4), Recurrent(GRU(4, 8)), PerToken(8, 10)).eval()
    >>> options = Decode(temperature=0, beam_size=3, n_best=2, max_length=5)
    >>> first, second = decode(model, None, prompts=[[1, 2, 3]], end=9, options=options)[0]
    >>> first.score >= second.score
    True
    """
    numbers = [0] * len(prompts) if sample_numbers is None else sample_numbers
    search = Search(
        model,
        source,
        lengths,
        prompts,
        options,
        end=end,
        seed=seed,
        prefixes=prefixes,
        banned=banned,
        sample_numbers=numbers,
        context=context,
        attention=attention,
        record_trees=trees is not None,
    )
    for _ in search.steps():
        pass
    if trees is not None:
        trees.extend(search.trees)
    return search.results()
