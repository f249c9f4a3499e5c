"""Helpers of the conformance suite: selections of layers, random input, assertions."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from seqloom.nn.conformance import Result, Trial, fixed_names
from seqloom.nn.layer import Layer, Traits
from seqloom.nn.state import State
from seqloom.nn.word_embedding import NO_CHARACTER, WordEmbedding
from tests.nn.catalogue import Case, cases

ROWS, STEPS = 4, 6
RAGGED = (4, 6, 0, 1)
LETTERS = 3

# For properties of `Layer.run` alone: causal and not, with every kind of state and without, over vectors and tokens.
REPRESENTATIVES = (
    "recurrent: lstm",
    "recurrent: lstm, both directions",
    "deep: dense stack",
    "mixing: dense over tokens",
    "mixing: causal convolution",
    "mixing: centered convolution",
    "attention: causal scaled-dot attention",
    "attention: scaled-dot attention to a memory",
    "attention: learned positions",
    "decoders: luong",
    "stems: tokens",
)


def parametrize(selected: Sequence[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", selected, ids=str)


def every(
    having: Callable[[Traits], bool] = lambda traits: True, where: Callable[[Case], bool] = lambda case: True
) -> pytest.MarkDecorator:
    """Parametrize a test over all layers of the catalogue with these traits."""
    return parametrize([case for case in cases if having(case.traits) and where(case)])


def every_class(
    having: Callable[[Traits], bool] = lambda traits: True, where: Callable[[Case], bool] = lambda case: True
) -> pytest.MarkDecorator:
    """Parametrize a test over one layer of each class."""
    selected = [case for case in cases if having(case.traits) and where(case)]
    return parametrize(list({type(case.make()): case for case in reversed(selected)}.values()))


def representatives(having: Callable[[Traits], bool] = lambda traits: True) -> pytest.MarkDecorator:
    by_name = {case.name: case for case in cases}
    return parametrize([by_name[name] for name in REPRESENTATIVES if having(by_name[name].traits)])


def causal(traits: Traits) -> bool:
    return traits.causal


def not_causal(traits: Traits) -> bool:
    return not traits.causal


def limited(traits: Traits) -> bool:
    return traits.max_length is not None


def rows_independent(traits: Traits) -> bool:
    return traits.rows_independent


def random_x(layer: Layer, rows: int, steps: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Random vectors, or tokens, or words with letters, as the layer needs."""
    if isinstance(layer, WordEmbedding):
        letters = 1 + torch.randint(layer.spelling.embedding.num_embeddings - 1, (rows, steps, LETTERS))
        beyond = torch.arange(LETTERS) >= torch.randint(LETTERS + 1, (rows, steps, 1))  # a word may have none
        words = torch.randint(layer.vocabulary, (rows, steps, 1))
        return torch.cat([words, letters.masked_fill(beyond, NO_CHARACTER)], dim=2)
    if reads_tokens(layer):
        return torch.randint(layer.vocabulary, (rows, steps))
    return torch.randn(rows, steps, layer.input_size, dtype=torch.float64).to(dtype)


def random_batch(
    layer: Layer, lengths: Sequence[int] = RAGGED, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """x with random values on padding too, and lengths; at most the maximum length of the layer."""
    steps = min(STEPS, layer.traits.max_length or STEPS)
    return random_x(layer, len(lengths), steps, dtype), torch.tensor([min(length, steps) for length in lengths])


def reads_tokens(layer: Layer) -> bool:
    return hasattr(layer, "vocabulary")


def trial_of(case: Case, lengths: Sequence[int] = RAGGED, *, training: bool = False) -> Trial:
    """A layer of the catalogue as the checks of user-defined parts expect it."""
    layer = case.layer()
    return Trial(layer.train(training), *random_batch(layer, lengths), case.initial_state)


def assert_equal(actual: Result, expected: Result, layer: Layer) -> None:
    """Outputs, state and all gradients are equal bit for bit."""
    exact = {"rtol": 0, "atol": 0}
    torch.testing.assert_close(actual.y, expected.y, **exact)
    torch.testing.assert_close(actual.x_grad, expected.x_grad, **exact)
    torch.testing.assert_close(actual.weight_grads, expected.weight_grads, **exact)
    assert_state_close(actual.state, expected.state, layer, atol=0)


def assert_close(actual: Tensor, expected: Tensor, atol: float = 1e-11) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def assert_state_close(actual: State, expected: State, layer: Layer, atol: float = 1e-11) -> None:
    assert set(actual) == set(expected)
    assert torch.equal(actual.position, expected.position)
    for name in fixed_names(layer):
        torch.testing.assert_close(actual[name], expected[name], rtol=0, atol=atol, msg=lambda m, n=name: f"{n}: {m}")
