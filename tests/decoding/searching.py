"""Helpers that run `decode` on the test models and compare the results."""

from collections.abc import Iterable

import pytest

from seqloom.core.config.decode import Decode
from seqloom.decoding.decode import decode
from seqloom.decoding.hypothesis import Hypothesis
from seqloom.nn.model import EncoderDecoder, GenerativeModel
from tests.decoding.models import END, LENGTHS, SOURCE, prompts_of

ROWS = range(4)
KINDS = {"greedy": {}, "beam": {"beam_size": 3, "n_best": 3}, "samples": {"temperature": 1.5, "n_best": 3}}
many_steps = pytest.mark.usefixtures("unchecked")  # hundreds of similar steps
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)


def search(model: GenerativeModel, *, end: int | None = END, rows=ROWS, **options) -> list[list[Hypothesis]]:
    """Decode all or some sources, by default at temperature 0."""
    rows = list(rows)
    steps = int(LENGTHS[rows].max()) if rows else 0
    arguments = {name: options.pop(name) for name in list(options) if name not in Decode.model_fields or name == "seed"}
    device = next(model.parameters()).device
    inputs = (SOURCE[rows, :steps].to(device), LENGTHS[rows].to(device))
    source = inputs if isinstance(model, EncoderDecoder) else (None, None)
    prompts = [prompts_of(model)[row] for row in rows]
    options = Decode(**{"temperature": 0.0, "max_length": 6, **options})
    return decode(model, *source, prompts=prompts, end=end, options=options, **arguments)


def collect(steps: Iterable[dict[int, int]], rows: int) -> list[list[int]]:
    """The tokens of each row that `stream` yields."""
    texts: list[list[int]] = [[] for _ in range(rows)]
    for step in steps:
        for row, token in step.items():
            texts[row].append(token)
    return texts


def with_end(hypothesis: Hypothesis) -> list[int]:
    """The tokens of a hypothesis, with the end token if it ended."""
    return [*hypothesis.tokens, END] if hypothesis.ended else hypothesis.tokens


def assert_same(actual: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    actual_tokens, expected_tokens = ([list(map(with_end, row)) for row in rows] for rows in (actual, expected))
    assert actual_tokens == expected_tokens
    for row, expected_row in zip(actual, expected, strict=True):
        scores = [hypothesis.score for hypothesis in expected_row]
        assert [hypothesis.score for hypothesis in row] == pytest.approx(scores, abs=1e-9)


def calls(model: GenerativeModel, run) -> list[tuple[int, int]]:
    """The shape (rows, tokens) of every call of `next_token_logits`."""
    shapes = []
    plain = model.next_token_logits
    model.next_token_logits = lambda tokens, *rest: shapes.append(tuple(tokens.shape)) or plain(tokens, *rest)  # type: ignore[method-assign]
    run()
    del model.next_token_logits
    return shapes
