import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.kernels.masks import flip, last_step, mask_padding, sequence_mask

ragged = st.lists(st.integers(0, 5), min_size=1, max_size=4).map(torch.tensor)


@given(ragged)
def test_the_mask_covers_the_first_steps(lengths: torch.Tensor) -> None:
    mask = sequence_mask(lengths, 5)
    assert torch.equal(mask.sum(1), lengths)
    assert torch.equal(mask, mask.cummin(1).values)


@given(ragged)
def test_flip_reverses_each_row_within_its_length(lengths: torch.Tensor) -> None:
    x = torch.randn(len(lengths), 5, 2)
    flipped = flip(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        assert torch.equal(flipped[row, :length], x[row, :length].flip(0))
        assert torch.equal(flipped[row, length:], x[row, length:])
    assert torch.equal(flip(flipped, lengths), x)


def test_flip_without_lengths_reverses_all() -> None:
    x = torch.randn(2, 5, 3)
    assert torch.equal(flip(x, None), flip(x, torch.tensor([5, 5])))


def test_masked_padding_is_zero_and_passes_no_gradient() -> None:
    x = torch.full((2, 3, 2), torch.nan).requires_grad_()
    y = mask_padding(x, torch.tensor([1, 0]))
    assert y[0, 0].isnan().all()
    assert y[0, 1:].eq(0).all()
    assert y[1].eq(0).all()
    y.backward(torch.ones_like(y))
    assert x.grad[..., 0].tolist() == [[1, 0, 0], [0, 0, 0]]


def test_padding_is_masked_at_any_rank() -> None:
    lengths = torch.tensor([1, 2])
    assert mask_padding(torch.ones(2, 2), lengths).tolist() == [[1, 0], [1, 1]]
    assert mask_padding(torch.ones(2, 2, 3, 4), lengths).sum((2, 3)).tolist() == [[12, 0], [12, 12]]


@given(ragged)
def test_last_step_is_the_output_at_the_end_of_a_row(lengths: torch.Tensor) -> None:
    y, before = torch.randn(len(lengths), 5, 2), torch.randn(len(lengths), 2)
    end = last_step(y, lengths, default=before)
    for row, length in enumerate(lengths.tolist()):
        assert torch.equal(end[row], y[row, length - 1] if length else before[row])


def test_last_step_without_lengths_is_the_last_output() -> None:
    y, before = torch.randn(2, 5, 3), torch.randn(2, 3)
    assert torch.equal(last_step(y, None, before), y[:, -1])
    assert torch.equal(last_step(y[:, :0], None, before), before)
