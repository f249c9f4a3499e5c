"""The error messages of all layers for invalid arguments, which come before those of torch."""

from typing import Any

import pytest
import torch

from seqloom.core.problem import ArgumentError
from seqloom.nn.layer import Layer
from seqloom.nn.state import State
from tests.nn.catalogue import Case
from tests.nn.suite import causal, every_class, fixed_names, limited, random_batch, reads_tokens

pytestmark = pytest.mark.usefixtures("unchecked")
ROWS = 4


def complaint(layer: Layer, *arguments: Any) -> str:
    """The error message of a layer, which is one line and begins with the name of the layer."""
    with pytest.raises(ArgumentError) as caught:
        layer(*arguments)
    message = str(caught.value)
    assert message.startswith(f"{type(layer).__name__}: ")
    assert message[-1] in ".?"
    assert "\n" not in message
    return message.removeprefix(f"{type(layer).__name__}: ")


def ready(case: Case) -> tuple[Layer, torch.Tensor, torch.Tensor, State]:
    """A layer, x, its lengths, and the initial state."""
    layer = case.layer()
    x, lengths = random_batch(layer)
    begin = case.initial_state(layer, ROWS) or layer.initial(ROWS, torch.zeros((), dtype=torch.float64))
    return layer, x, lengths, begin


@every_class(where=lambda case: not reads_tokens(case.make()))
def test_an_invalid_x_is_an_error(case: Case) -> None:
    layer, x, _, begin = ready(case)
    width, steps = layer.input_size, x.shape[1]
    wider = torch.cat([x, x], dim=2)
    assert complaint(layer, wider) == f"x has {2 * width} features per step (its last dimension); expected {width}."
    assert (
        complaint(layer, x[0]) == f"x has shape [{steps}, {width}]; expected three dimensions, [batch, time, {width}]."
    )
    assert complaint(layer, x.long()).startswith("x has type torch.int64; expected real values")
    assert complaint(layer, x.tolist()) == "x is a list; expected a tensor [batch, time, dim]."
    if next(layer.parameters(), None) is not None:
        assert complaint(layer, x.to("meta"), None, begin).startswith(
            "x is on meta; expected cpu, where the weights are"
        )
        assert complaint(layer, x.float(), None, begin) == (
            "x has type torch.float32; expected torch.float64, as the weights have; "
            "convert it with .to(dtype=torch.float64)."
        )


@every_class()
def test_invalid_lengths_are_an_error(case: Case) -> None:
    layer, x, lengths, begin = ready(case)
    steps = x.shape[1]

    def about(lengths: object) -> str:
        return complaint(layer, x, lengths, begin)

    assert about(lengths + 1) == f"lengths has the value {steps + 1}; expected at most {steps}, the number of steps."
    assert about(lengths - 1) == "lengths has the value -1; expected 0 or more."
    assert about(lengths[:3]) == "lengths has shape [3]; expected [4], one number per row."
    assert about(lengths.unsqueeze(1)) == "lengths has shape [4, 1]; expected [4], one number per row."
    assert about(lengths.double()) == "lengths has type torch.float64; expected whole numbers, torch.int64."
    assert about([4, 6, 0, 1]) == "lengths is a list; expected a tensor of whole numbers."


@every_class()
def test_a_state_of_another_layer_is_an_error(case: Case) -> None:
    layer, x, _, begin = ready(case)
    names = sorted(layer.state_shapes())
    message = complaint(layer, x, None, State(stranger=torch.zeros(ROWS, 3)))
    expected = f"{names or 'none'}: is it the state of another layer?"
    assert message == f"state has the tensors ['stranger']; expected {expected}"
    for name in fixed_names(layer):
        tensor = begin[name]
        wider = State({**begin, name: tensor.unsqueeze(1)}, position=begin.position)
        shape = [ROWS, 1, *tensor.shape[1:]]
        assert f"state[{name!r}] has shape {shape}; expected {list(tensor.shape)}" in complaint(layer, x, None, wider)


@every_class()
def test_a_state_of_another_shape_is_an_error(case: Case) -> None:
    layer, x, _, begin = ready(case)
    two = complaint(layer, x, None, begin.select(torch.tensor([0, 1])))
    assert two.startswith("state[")
    assert two.endswith("] has 2 rows; expected 4, the rows of x.")
    assert complaint(layer, x, None, dict(begin)) == "state is a dict; expected a State, as the last call returned it."
    elsewhere = complaint(layer, x, None, begin.to("meta"))
    assert elsewhere.startswith("state[")
    assert elsewhere.endswith("] is on meta; expected cpu, where x is.")


@every_class(having=limited)
def test_more_steps_than_the_maximum_are_an_error(case: Case) -> None:
    layer, x, _, begin = ready(case)
    most = layer.traits.max_length
    long = x[:, :1].expand(-1, most + 1, *x.shape[2:])
    argument = "tokens" if reads_tokens(layer) else "x"
    assert complaint(layer, long, None, begin) == f"{argument} has {most + 1} steps; expected at most {most} in all."
    layer(long[:, :most], None, begin)


@every_class(having=lambda traits: limited(traits) and causal(traits))
def test_more_steps_than_the_maximum_after_earlier_ones_are_an_error(case: Case) -> None:
    layer, x, _, begin = ready(case)
    most = layer.traits.max_length
    long = x[:, :1].expand(-1, most, *x.shape[2:])
    _, state = layer(long[:, :2], None, begin)
    message = complaint(layer, long, None, state)
    assert message.endswith(f" has {most} steps after 2 earlier ones; expected at most {most} in all.")
