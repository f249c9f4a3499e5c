"""From a model's scores of the next token to texts: greedy search, sampling, beam search; whole, or as they come."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from jaxtyping import Int, Shaped
from torch import Tensor

from seqloom.core.config.decode import DecodeSection
from seqloom.core.problem import ArgumentError
from seqloom.decoding.hypothesis import Hypothesis, Tree
from seqloom.decoding.search import Search
from seqloom.decoding.stepper import Reader, check_prompts
from seqloom.nn.model import GenerativeModel, Model


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
    never: Collection[int] = (),
    numbers: Sequence[int] | None = None,
    context: int | None = None,
    attention: bool = False,
    trees: list[Tree] | None = None,
) -> list[list[Hypothesis]]:
    """What a model writes about each source, the best first, options.wanted of them.

    With options.temperature above 0, samples; else the likeliest that a beam finds, which is greedy search with a beam
    of 1. A text has at most options.length steps, the end among them, and about a source no more than the model can
    read.

    source, lengths: as the model's `start` takes them; None for a language model
    prompts: what the model reads first, a row for each source: the token that begins a text, or a text to continue
    end: the token that ends a text; None if only the length does
    seed: with a sample's number, all that its draws depend on: batch-mates change nothing
    prefixes: for each source, tokens that its texts begin with; they are scored, and part of the tokens
    never: tokens that are not to be written
    numbers: of the first sample of each source, the others following; 0 unless said
    context: the most tokens that a language model reads in one go; as many as it can, unless said. A text that has read
        as many begins again from a fresh state with the last half of them, so it may be longer than that.
    attention: hypotheses know where they looked
    trees: a list that gains for each source all that was kept and pruned

    The source and the prompts are read once, in one call; after that a step reads one token of each text that goes on.
    The model should be in eval mode.

    >>> from seqloom.nn import GRU, Model, PerToken, Recurrent, TokenEmbedding
    >>> from seqloom.core.config.decode import Decode
    >>> model = Model(TokenEmbedding(10, 4), Recurrent(GRU(4, 8)), PerToken(8, 10)).eval()
    >>> options = Decode(temperature=0, beam_size=3, n_best=2, max_length=5)
    >>> first, second = decode(model, None, prompts=[[1, 2, 3]], end=9, options=options)[0]
    >>> first.score >= second.score
    True
    """
    numbers = [0] * len(prompts) if numbers is None else numbers
    prefixes = [()] * len(prompts) if prefixes is None else prefixes
    check(prompts, prefixes, numbers, context, options)
    if not prompts:
        return []
    window, limits = reach(model, source is None, context, prompts, options)
    reader = Reader(model, prompts, window, attention=attention)
    search = Search(reader, options, end=end, seed=seed, limits=limits, prefixes=prefixes, numbers=numbers, never=never)
    search.trees = None if trees is None else [Tree() for _ in prompts]
    for _ in search.steps(source, lengths):
        pass
    if trees is not None and search.trees is not None:
        trees.extend(search.trees)
    real = [None] * len(prompts) if lengths is None else lengths.tolist()
    return [
        [search.hypothesis(branch, length) for branch in places.best()]
        for places, length in zip(search.places, real, strict=True)
    ]


def reach(
    model: GenerativeModel,
    language: bool,
    context: int | None,
    prompts: Sequence[Sequence[int]],
    options: DecodeSection,
) -> tuple[int | None, list[int]]:
    """How much a model reads in one go (None: there is no bound), and the most steps after each prompt.

    A language model can begin again; about a source, positions are used up. The last token written is not read.
    """
    if language:
        bounds = [bound for bound in (context, model.max_length) if bound is not None]
        return min(bounds, default=None), [options.max_length] * len(prompts)
    if model.max_length is None:
        return None, [options.max_length] * len(prompts)
    return None, [min(options.max_length, model.max_length - len(prompt) + 1) for prompt in prompts]


def check(
    prompts: Sequence[Sequence[int]],
    prefixes: Sequence[Sequence[int]],
    numbers: Sequence[int],
    context: int | None,
    options: DecodeSection,
) -> None:
    """Arguments that fit each other."""
    check_prompts("decode", prompts)
    if context is not None and context < 1:
        raise ArgumentError("decode", "context", str(context), "at least 1", verb="is")
    for name, came in (("prefixes", prefixes), ("numbers", numbers)):
        if len(came) != len(prompts):
            raise ArgumentError("decode", name, f"{len(came)} of them", f"{len(prompts)}, one a prompt")
    if options.beam_size > 1 and options.temperature > 0:
        both = f"a beam of {options.beam_size} and a temperature of {options.temperature:g}"
        raise ArgumentError("decode", "options", both, "temperature 0, since a beam looks for the likeliest; or beam 1")
    if options.temperature == 0 and options.wanted > options.beam_size:
        both = f"n_best {options.wanted} and a beam of {options.beam_size}"
        raise ArgumentError("decode", "options", both, f"n_best up to the beam: raise the beam to {options.wanted}")


def write(
    model: Model,
    prompts: Sequence[Sequence[int]],
    *,
    options: DecodeSection,
    seed: int,
    end: int | None = None,
    never: Collection[int] = (),
    context: int | None = None,
    numbers: Sequence[int] | None = None,
) -> Iterator[dict[int, int]]:
    """What `decode` would write after each prompt, greedily or drawn, as it comes: after each step, the new token of
    each row that is still writing, by its place. (Which text of a beam is the best shows at its end, not before.)

    numbers: of the samples, which tell rows with one prompt apart; their places, 0, 1, ..., unless said

    The other arguments are those of `decode`.

    >>> from seqloom.nn import GRU, PerToken, Recurrent, TokenEmbedding
    >>> model = Model(TokenEmbedding(10, 4), Recurrent(GRU(4, 8)), PerToken(8, 10)).eval()
    >>> [sorted(step) for step in write(model, [[1, 2, 3], [4]], options=DecodeSection(max_length=2), seed=1)]
    [[0, 1], [0, 1]]
    """
    if options.beam_size > 1 or options.wanted > 1:
        several = f"a beam of {options.beam_size} and n_best {options.wanted}"
        raise ArgumentError("write", "options", several, "1 of both; `decode` has several texts at once")
    prefixes: list[tuple[int, ...]] = [()] * len(prompts)
    numbers = range(len(prompts)) if numbers is None else numbers
    check(prompts, prefixes, numbers, context, options)
    window, limits = reach(model, True, context, prompts, options)
    reader = Reader(model, prompts, window)
    search = Search(reader, options, end=end, seed=seed, limits=limits, prefixes=prefixes, numbers=numbers, never=never)
    return tokens_of(search) if prompts else iter(())


def tokens_of(search: Search) -> Iterator[dict[int, int]]:
    """The newest token of each text, step by step."""
    for grown in search.steps(None, None):
        if grown:
            yield {text.source: text.token for text in grown}


def collect(written: Iterable[dict[int, int]], rows: int) -> list[list[int]]:
    """What `write` yields, as one list of tokens a row.

    >>> collect([{0: 7, 1: 8}, {1: 9}], rows=2)
    [[7], [8, 9]]
    """
    texts: list[list[int]] = [[] for _ in range(rows)]
    for step in written:
        for place, token in step.items():
            texts[place].append(token)
    return texts
