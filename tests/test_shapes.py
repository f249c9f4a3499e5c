from typing import Protocol, Self

import pytest
import torch
from jaxtyping import Float, TypeCheckError, jaxtyped
from torch import Tensor

import seqloom
from seqloom.nn.activations import Lambda
from tests.shapes import check


class Named(Protocol):
    name: str


@jaxtyped(typechecker=check)
def weighted_sum(
    weights: Float[Tensor, "batch time"],
    value: Float[Tensor, "batch time dim"],
    scale: float = 1,
    of: Named | None = None,
) -> Float[Tensor, "batch dim"]:
    return scale * torch.einsum("bt,btd->bd", weights, value)


class Chain:
    @jaxtyped(typechecker=check)
    def then(self, x: Float[Tensor, " dim"]) -> Self:
        return self


def test_a_wrong_shape_is_caught() -> None:
    assert weighted_sum(torch.ones(2, 3), torch.ones(2, 3, 4), scale=2).shape == (2, 4)
    with pytest.raises(TypeCheckError, match="value"):
        weighted_sum(torch.ones(2, 3), torch.ones(2, 5, 4))


@jaxtyped(typechecker=check)
def split(
    projected: Float[Tensor, "batch 2*hidden"], hidden: Float[Tensor, "batch hidden"]
) -> tuple[Float[Tensor, "batch 2*hidden"], Tensor | None]:
    return projected, None


def test_a_computed_axis_is_checked_once_its_names_are_known() -> None:
    split(torch.ones(3, 8), torch.ones(3, 4))
    with pytest.raises(TypeCheckError, match="return value"):
        split(torch.ones(3, 7), torch.ones(3, 4))


def test_a_type_that_cannot_be_checked_does_not_disable_the_others() -> None:
    assert isinstance(Chain().then(torch.ones(3)), Chain)
    with pytest.raises(TypeCheckError, match="x"):
        Chain().then(torch.ones(3, 3))


@pytest.mark.usefixtures("unchecked")
def test_a_test_of_invalid_input_can_disable_the_checks() -> None:
    with pytest.raises(RuntimeError, match="einsum"):
        weighted_sum(torch.ones(2, 3), torch.ones(2, 5, 4))


def test_functions_of_the_package_that_have_shapes_are_checked() -> None:
    assert hasattr(Lambda.forward, "__wrapped__")
    assert not hasattr(seqloom.__dir__, "__wrapped__")  # functions without shapes are not wrapped
