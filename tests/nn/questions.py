"""What the conformance suite asks with: which layers, what input, what came out."""

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


def every(
    having: Callable[[Traits], bool] = lambda traits: True, where: Callable[[Case], bool] = lambda case: True
) -> pytest.MarkDecorator:
    """The test is asked of every layer in the catalogue that has these traits."""
    return pytest.mark.parametrize("case", [case for case in cases if having(case.traits) and where(case)], ids=str)


def causal(traits: Traits) -> bool:
    return traits.causal


def not_causal(traits: Traits) -> bool:
    return not traits.causal


def limited(traits: Traits) -> bool:
    return traits.max_length is not None


def rows_independent(traits: Traits) -> bool:
    return traits.rows_independent


def every_class(
    having: Callable[[Traits], bool] = lambda traits: True, where: Callable[[Case], bool] = lambda case: True
) -> pytest.MarkDecorator:
    """The test is asked of one layer of each class: it is about the door, which all layers of a class share."""
    chosen = [case for case in cases if having(case.traits) and where(case)]
    classes = {type(case.make()): case for case in reversed(chosen)}
    return pytest.mark.parametrize("case", classes.values(), ids=str)


def room_for(steps: int) -> Callable[[Traits], bool]:
    """Takes so many steps."""
    return lambda traits: traits.max_length is None or traits.max_length >= steps


def random_x(layer: Layer, rows: int, steps: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Vectors, or tokens for a layer that takes those, with letters for one that spells them."""
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
    """x with random values on padding too, and lengths; no more steps than the layer takes."""
    steps = min(STEPS, layer.traits.max_length or STEPS)
    return random_x(layer, len(lengths), steps, dtype), torch.tensor([min(length, steps) for length in lengths])


def reads_tokens(layer: Layer) -> bool:
    return hasattr(layer, "vocabulary")


def trial_of(case: Case, lengths: Sequence[int] = RAGGED, *, training: bool = False) -> Trial:
    """A layer of the catalogue as the quick check of user-defined parts asks one."""
    layer = case.layer()
    return Trial(layer.train(training), *random_batch(layer, lengths), case.initial_state)


def assert_equal(came: Result, expected: Result, layer: Layer) -> None:
    """Bit for bit: outputs, state and every gradient."""
    exact = {"rtol": 0, "atol": 0}
    torch.testing.assert_close(came.y, expected.y, **exact)
    torch.testing.assert_close(came.x_grad, expected.x_grad, **exact)
    torch.testing.assert_close(came.weight_grads, expected.weight_grads, **exact)
    assert_state_close(came.state, expected.state, layer, atol=0)


def assert_close(came: Tensor, expected: Tensor, atol: float = 1e-11) -> None:
    torch.testing.assert_close(came, expected, rtol=0, atol=atol)


def assert_state_close(came: State, expected: State, layer: Layer, atol: float = 1e-11) -> None:
    assert set(came) == set(expected)
    assert torch.equal(came.position, expected.position)
    for name in fixed_names(layer):
        torch.testing.assert_close(came[name], expected[name], rtol=0, atol=atol, msg=lambda m, n=name: f"{n}: {m}")
