"""`decode` runs greedy search, sampling or beam search to its end; `stream` yields each token as it is generated."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from jaxtyping import Int, Shaped
from torch import Tensor

from seqloom.core.config.decode import DecodeSection
from seqloom.core.problem import ArgumentError
from seqloom.decoding.hypothesis import Hypothesis, SearchTree
from seqloom.decoding.search import Search
from seqloom.decoding.stepper import Stepper
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
    sample_numbers = [0] * len(prompts) if sample_numbers is None else sample_numbers
    prefixes = [()] * len(prompts) if prefixes is None else prefixes
    check_arguments(prompts, prefixes, sample_numbers, context, options)
    if not prompts:
        return []
    window, limits = step_limits(model, source is None, context, prompts, options)
    search = Search(
        Stepper(model, prompts, window, attention=attention),
        options,
        end=end,
        seed=seed,
        limits=limits,
        prefixes=prefixes,
        sample_numbers=sample_numbers,
        banned=banned,
        trees=trees is not None,
    )
    for _ in search.steps(source, lengths):
        pass
    if trees is not None:
        trees.extend(search.trees or [])
    return search.results([None] * len(prompts) if lengths is None else lengths.tolist())


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
    prefixes: list[tuple[int, ...]] = [()] * len(prompts)
    sample_numbers = range(len(prompts)) if sample_numbers is None else sample_numbers
    check_arguments(prompts, prefixes, sample_numbers, context, options)
    window, limits = step_limits(model, True, context, prompts, options)
    search = Search(
        Stepper(model, prompts, window),
        options,
        end=end,
        seed=seed,
        limits=limits,
        prefixes=prefixes,
        sample_numbers=sample_numbers,
        banned=banned,
    )
    steps = search.steps(None, None) if prompts else iter(())
    return ({hypothesis.source: hypothesis.token for hypothesis in extended} for extended in steps if extended)


def collect(steps: Iterable[dict[int, int]], rows: int) -> list[list[int]]:
    """The tokens of each row that `stream` yields.

    >>> collect([{0: 7, 1: 8}, {1: 9}], rows=2)
    [[7], [8, 9]]
    """
    texts: list[list[int]] = [[] for _ in range(rows)]
    for step in steps:
        for row, token in step.items():
            texts[row].append(token)
    return texts


def step_limits(
    model: GenerativeModel,
    is_language_model: bool,
    context: int | None,
    prompts: Sequence[Sequence[int]],
    options: DecodeSection,
) -> tuple[int | None, list[int]]:
    """The most tokens that the model reads in one sequence (None: any number), and the most steps after each prompt.

    A language model can continue from a fresh state; a model with a source can't read more than `max_length` tokens. It
    does not read the last token that it generates.
    """
    if is_language_model:
        bounds = [bound for bound in (context, model.max_length) if bound is not None]
        return min(bounds, default=None), [options.max_length] * len(prompts)
    if model.max_length is None:
        return None, [options.max_length] * len(prompts)
    return None, [min(options.max_length, model.max_length - len(prompt) + 1) for prompt in prompts]


def check_arguments(
    prompts: Sequence[Sequence[int]],
    prefixes: Sequence[Sequence[int]],
    sample_numbers: Sequence[int],
    context: int | None,
    options: DecodeSection,
) -> None:
    for i, prompt in enumerate(prompts):
        if not len(prompt):
            expected = "at least one: begin with the token that begins a text"
            raise ArgumentError("decode", f"prompts[{i}]", "no tokens", expected)
    if context is not None and context < 1:
        raise ArgumentError("decode", "context", str(context), "at least 1", verb="is")
    for name, values in (("prefixes", prefixes), ("sample_numbers", sample_numbers)):
        if len(values) != len(prompts):
            raise ArgumentError("decode", name, f"length {len(values)}", f"{len(prompts)}, one per prompt")
    size, n_best, temperature = options.beam_size, options.answers, options.temperature
    if size > 1 and temperature > 0:
        actual = f"a beam of {size} and a temperature of {temperature:g}"
        expected = "temperature 0, since a beam finds the most likely; or a beam of 1"
        raise ArgumentError("decode", "options", actual, expected)
    if temperature == 0 and n_best > size:
        actual = f"n_best {n_best} and a beam of {size}"
        raise ArgumentError("decode", "options", actual, f"n_best up to the beam: raise the beam to {n_best}")
