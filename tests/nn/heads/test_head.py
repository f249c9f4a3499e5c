"""Tests of every head: padding, splitting, gradients, saving, loading and bf16."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.nn.heads import Head, Loss
from seqloom.nn.initialization import initialize
from tests.nn.heads.cases import CASES, CLASSES, SIZE, Case

every_head = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
owning_its_weights = (
    pytest.mark.parametrize(  # a tied head's embedding is moved and saved with the model: see test_tied
        "case",
        [case for name, case in CASES.items() if "tied" not in name],
        ids=[name for name in CASES if "tied" not in name],
    )
)
having_classes = pytest.mark.parametrize(
    "case", [case for case in CASES.values() if hasattr(case.make(), "probabilities")]
)
LENGTHS = torch.tensor([4, 2, 0, 1])


def random(rows: int = 4, time: int = 4) -> Tensor:
    return torch.randn(rows, time, SIZE, dtype=torch.float64)


@every_head
@pytest.mark.parametrize("fill", [1e4, float("nan"), "random"])
def test_padding_changes_nothing(case: Case, fill: float | str) -> None:
    head, y, target = case.head(), random(), case.target(4, 4)
    beyond = torch.arange(4) >= LENGTHS.unsqueeze(1)

    def filled(tensor: Tensor) -> Tensor:
        noise = torch.randn_like(tensor) if fill == "random" else torch.full_like(tensor, float(fill))
        return torch.where(beyond.reshape(4, 4, *[1] * (tensor.dim() - 2)), noise, tensor)

    def run(x: Tensor, answer: Tensor) -> list[Tensor]:
        head.zero_grad()
        x = x.requires_grad_()
        loss = head.loss(x, answer, LENGTHS)
        loss.mean.backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()
        gradients = [p.grad.clone() for p in head.parameters() if p.grad is not None]
        return [*loss, x.grad, *gradients, head(x, LENGTHS), head.predict(x, LENGTHS)]

    wrong = target
    if not case.pooled:
        wrong = filled(target) if target.is_floating_point() else target.int().masked_fill(beyond_like(target), -100)
    for plain, changed in zip(run(y.clone(), target), run(filled(y), wrong), strict=True):
        assert torch.equal(plain, changed)


def beyond_like(target: Tensor) -> Tensor:
    beyond = torch.arange(4) >= LENGTHS.unsqueeze(1)
    return beyond.reshape(4, 4, *[1] * (target.dim() - 2)).expand_as(target)


@every_head
@given(data=st.data(), rows=st.integers(1, 4), time=st.integers(1, 4))
def test_splitting_a_batch_changes_nothing(case: Case, data: st.DataObject, rows: int, time: int) -> None:
    lengths = torch.tensor(data.draw(st.lists(st.integers(0, time), min_size=rows, max_size=rows)))
    head, y, target = case.head(), random(rows, time), case.target(rows, time)
    whole = head.loss(y, target, lengths)
    parts = [head.loss(y[i : i + 1], target[i : i + 1], lengths[i : i + 1]) for i in range(rows)]
    sum_of_parts = Loss(y.new_zeros(()), lengths.new_zeros(()))
    for part in parts:
        sum_of_parts = sum_of_parts + part
    assert sum_of_parts.count == whole.count
    torch.testing.assert_close(sum_of_parts.total, whole.total)
    alone = torch.cat([head.predict(y[i : i + 1], lengths[i : i + 1]) for i in range(rows)])
    torch.testing.assert_close(alone, head.predict(y, lengths))


@every_head
def test_full_lengths_equal_no_lengths(case: Case) -> None:
    head, y, target = case.head(), random(), case.target(4, 4)
    full = torch.full((4,), 4)
    torch.testing.assert_close(tuple(head.loss(y, target)), tuple(head.loss(y, target, full)))
    torch.testing.assert_close(head.predict(y), head.predict(y, full))
    torch.testing.assert_close(head(y), head(y, full))


@every_head
def test_gradients_equal_finite_differences(case: Case) -> None:
    head, target = case.head(), case.target(4, 4)
    names, tensors = zip(*head.named_parameters(), strict=True)

    def total(y: Tensor, *parameters: Tensor) -> Tensor:
        wrapped = {f"head.{name}": parameter for name, parameter in zip(names, parameters, strict=True)}
        return torch.func.functional_call(Total(head), wrapped, (y, target))

    assert torch.autograd.gradcheck(total, (random().requires_grad_(), *tensors))


class Total(torch.nn.Module):
    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head

    def forward(self, y: Tensor, target: Tensor) -> Tensor:
        return self.head.loss(y, target, LENGTHS).total


@every_head
@pytest.mark.parametrize(("rows", "time"), [(2, 0), (0, 3), (3, 1)])
def test_heads_accept_few_rows_and_steps(case: Case, rows: int, time: int) -> None:
    head, y, target = case.head(), random(rows, time).requires_grad_(), case.target(rows, time)
    for lengths in (None, torch.full((rows,), time)):
        loss = head.loss(y, target, lengths)
        loss.mean.backward()
        assert loss.total.isfinite()
        assert loss.count.dtype == torch.int64
        assert bool(loss.count) == bool(target.numel())
        assert head.predict(y, lengths).shape == target.shape


@every_head
def test_a_prediction_has_the_shape_and_type_of_a_target(case: Case) -> None:
    head, y, target = case.head(), random(), case.target(4, 4)
    prediction = head.predict(y, LENGTHS)
    assert (prediction.shape, prediction.dtype) == (target.shape, target.dtype)


@owning_its_weights
def test_heads_save_and_load(case: Case, tmp_path: Path) -> None:
    head, other, y, target = case.head(), case.head(), random(), case.target(4, 4)
    save_file(head.state_dict(), tmp_path / "head.safetensors")
    other.load_state_dict(load_file(tmp_path / "head.safetensors"))
    assert torch.equal(head.loss(y, target).total, other.loss(y, target).total)


@owning_its_weights
def test_heads_run_in_bfloat16_and_sum_in_float32(case: Case) -> None:
    head, y, target = case.head(), random(), case.target(4, 4)
    exact = head.loss(y, target, LENGTHS)
    loss = head.bfloat16().loss(y.bfloat16(), target, LENGTHS)
    loss.mean.backward()
    assert loss.total.dtype == torch.float32
    assert head(y.bfloat16(), LENGTHS).dtype == torch.bfloat16
    torch.testing.assert_close(loss.total.double(), exact.total, atol=0.3, rtol=0.05)
    head.predict(y.bfloat16(), LENGTHS)


@having_classes
def test_probabilities_are_between_0_and_1_and_zero_on_padding(case: Case) -> None:
    head, y = case.head(), random()
    p = head.probabilities(y, LENGTHS)
    assert p.shape == head(y, LENGTHS).shape
    assert p.min() >= 0
    assert p.max() <= 1
    if not case.pooled:
        assert p.masked_select(torch.arange(4).unsqueeze(1) >= LENGTHS.reshape(4, 1, 1)).eq(0).all()


@having_classes
def test_an_initialized_head_predicts_the_prior(case: Case) -> None:
    """With y = 0 and targets as frequent as in the prior, the initial loss is the entropy of the classes."""
    head = case.make().double()
    counts = torch.tensor([1, 2, 3, 0, 4], dtype=torch.float64)
    several = case.target(1, 1).dtype == torch.bool
    prior = counts / 10 if several else counts
    if "bias" not in " ".join(head.state_dict()):
        with pytest.raises(ArgumentError, match="bias is False"):
            initialize(head, prior=prior)
        return
    initialize(head, prior=prior)
    if several:
        share = prior.clamp(1e-3)
        entropy = -(share * share.log() + (1 - share) * (1 - share).log()).sum()
        target = share.repeat(100, 1)
    else:
        share = torch.tensor([2, 4, 6, 1, 8], dtype=torch.float64) / 21  # a class without examples counts as half
        entropy = -(share * share.log()).sum()
        target = torch.arange(CLASSES).repeat_interleave((share * 21).round().long())
    if not case.pooled:
        target = target.unsqueeze(1)
    loss = head.eval().loss(torch.zeros(len(target), 1, SIZE, dtype=torch.float64), target)
    torch.testing.assert_close(loss.mean, entropy)


@having_classes
@pytest.mark.usefixtures("unchecked")
def test_a_prior_of_other_classes_is_refused(case: Case) -> None:
    head = case.make()
    if "bias" in " ".join(head.state_dict()):
        with pytest.raises(ArgumentError, match=r"prior has shape \[3\]; expected \[5\]"):
            initialize(head, prior=torch.ones(3))


@every_head
@pytest.mark.usefixtures("unchecked")
def test_invalid_vectors_and_lengths_are_errors(case: Case) -> None:
    head, target = case.make().double(), case.target(2, 3)
    with pytest.raises(ArgumentError, match=r"y has 7 features per step \(its last dimension\); expected 4"):
        head.loss(torch.zeros(2, 3, 7), target)
    with pytest.raises(ArgumentError, match="y has shape"):
        head.predict(torch.zeros(2, 4))
    with pytest.raises(ArgumentError, match="lengths has the value 4; expected at most 3"):
        head(torch.zeros(2, 3, SIZE, dtype=torch.float64), torch.tensor([4, 1]))
    with pytest.raises(ArgumentError, match=r"lengths has type torch\.float32"):
        head(torch.zeros(2, 3, SIZE, dtype=torch.float64), torch.tensor([3.0, 1.0]))


@every_head
@pytest.mark.usefixtures("unchecked")
def test_invalid_targets_are_errors(case: Case) -> None:
    head, target = case.make().double(), case.target(2, 3)
    where, y = type(head).__name__, torch.zeros(2, 3, SIZE, dtype=torch.float64)
    shape = str(list(target.shape)).replace("[", r"\[").replace("]", r"\]")
    with pytest.raises(ArgumentError, match=rf"^{where}: target has shape .*; expected {shape}"):
        head.loss(y, target.unsqueeze(1))
    with pytest.raises(ArgumentError, match=rf"^{where}: target is a list; expected a tensor {shape}"):
        head.loss(y, target.tolist())
    with pytest.raises(ArgumentError, match=rf"^{where}: target is on meta; expected cpu"):
        head.loss(y, target.to("meta"))
    if target.dtype == torch.int64:
        with pytest.raises(ArgumentError, match=rf"^{where}: target has type torch.float32; expected whole numbers"):
            head.loss(y, target.float())
        for wrong in (-1, CLASSES):
            with pytest.raises(ArgumentError, match=rf"^{where}: target has the value {wrong}; expected 0 to 4"):
                head.loss(y, torch.full_like(target, wrong))
    elif target.dtype == torch.bool:
        for wrong in (-0.5, 2.0, float("nan")):
            with pytest.raises(ArgumentError, match=rf"^{where}: target has the value {wrong}; expected 0 to 1"):
                head.loss(y, torch.full(target.shape, wrong))
    else:
        with pytest.raises(ArgumentError, match=rf"^{where}: target has type torch.int64; expected real values"):
            head.loss(y, target.long())
        with pytest.raises(ArgumentError, match=rf"^{where}: target has a value that is not finite"):
            head.loss(y, torch.full_like(target, float("nan")))


def test_a_loss_is_a_sum_and_a_count() -> None:
    total, count = loss = Loss(torch.tensor(6.0), torch.tensor(4))
    assert (total, count, loss.mean) == (6, 4, 1.5)


def test_an_empty_loss_has_a_mean_of_zero_and_a_finite_gradient() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    Loss(x[:0].sum(), torch.tensor(0)).mean.backward()
    assert x.grad.tolist() == [0.0]


def test_losses_add_up() -> None:
    total = Loss(torch.tensor(6.0), torch.tensor(4)) + Loss(torch.tensor(2.0), torch.tensor(1))
    assert total == Loss(torch.tensor(8.0), torch.tensor(5))
