"""Texts of a language model as they are written, token by token."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from seqloom.decoding.decode import check, reach
from seqloom.decoding.reader import Reader
from seqloom.decoding.search import Search
from seqloom.nn.models import Model
from seqloom.spec.config.decode import DecodeSection
from seqloom.spec.errors import ArgumentError


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

    >>> from seqloom.nn import GRU, PerPosition, Recurrent, Tokens
    >>> model = Model(Tokens(10, 4), Recurrent(GRU(4, 8)), PerPosition(8, 10)).eval()
    >>> [sorted(step) for step in write(model, [[1, 2, 3], [4]], options=DecodeSection(length=2), seed=1)]
    [[0, 1], [0, 1]]
    """
    if options.beam > 1 or options.wanted > 1:
        several = f"a beam of {options.beam} and n_best {options.wanted}"
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
