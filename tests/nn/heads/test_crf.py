"""The CRF is compared with the enumeration of all K^n tag sequences."""

from itertools import pairwise, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.core.problem import ArgumentError
from seqloom.nn.heads import CRF, PADDING, Chain, PerToken


def random_chain(tags: int) -> Chain:
    chain = Chain(tags).double()
    with torch.no_grad():
        for parameter in chain.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return chain


def score(chain: Chain, emissions: Tensor, tags: tuple[int, ...]) -> Tensor:
    """start + Σ emission + Σ transition + end of one row [time, tags]"""
    if not tags:
        return emissions.new_zeros(())
    total = chain.start[tags[0]] + chain.end[tags[-1]]
    for t, tag in enumerate(tags):
        total = total + emissions[t, tag]
    for before, after in pairwise(tags):
        total = total + chain.transition[before, after]
    return total


def all_scores(chain: Chain, emissions: Tensor, length: int) -> dict[tuple[int, ...], Tensor]:
    tags = range(emissions.shape[1])
    return {path: score(chain, emissions, path) for path in product(tags, repeat=length)}


@st.composite
def problems(draw: st.DrawFn) -> tuple[Chain, Tensor, Tensor]:
    tags, time, rows = draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(0, time), min_size=rows, max_size=rows))
    scale = draw(st.sampled_from([0.1, 1.0, 30.0]))
    return random_chain(tags), scale * torch.randn(rows, time, tags, dtype=torch.float64), torch.tensor(lengths)


@given(problem=problems())
def test_log_partition_is_the_sum_over_all_sequences(problem: tuple[Chain, Tensor, Tensor]) -> None:
    chain, emissions, lengths = problem
    actual = chain.log_partition(emissions, lengths)
    for row, length, log_z in zip(emissions, lengths.tolist(), actual, strict=True):
        every = torch.stack(list(all_scores(chain, row, length).values()))
        torch.testing.assert_close(log_z, every.logsumexp(0))


@given(problem=problems())
def test_viterbi_is_the_best_of_all_sequences(problem: tuple[Chain, Tensor, Tensor]) -> None:
    chain, emissions, lengths = problem
    actual = chain.best(emissions, lengths)
    for row, length, path in zip(emissions, lengths.tolist(), actual.tolist(), strict=True):
        every = all_scores(chain, row, length)
        assert tuple(path[:length]) == max(every, key=lambda tags: every[tags].item())


@given(problem=problems())
def test_the_score_of_a_sequence_equals_its_formula(problem: tuple[Chain, Tensor, Tensor]) -> None:
    chain, emissions, lengths = problem
    tags = torch.randint(emissions.shape[2], emissions.shape[:2])
    actual = chain.score(emissions, tags, lengths)
    for row, length, path, actual_row in zip(emissions, lengths.tolist(), tags.tolist(), actual, strict=True):
        torch.testing.assert_close(actual_row, score(chain, row, tuple(path[:length])))


@given(problem=problems())
def test_marginals_are_sums_over_sequences_and_the_gradient_of_log_z(problem: tuple[Chain, Tensor, Tensor]) -> None:
    chain, emissions, lengths = problem
    emissions.requires_grad_()
    actual = chain.marginals(emissions, lengths)
    gradient = torch.autograd.grad(chain.log_partition(emissions, lengths).sum(), emissions)[0]
    torch.testing.assert_close(actual, gradient)
    for row, length, actual_row in zip(emissions, lengths.tolist(), actual, strict=True):
        every = all_scores(chain, row, length)
        p = torch.stack(list(every.values())).softmax(0)
        expected = torch.zeros_like(actual_row)
        for path, share in zip(every, p, strict=True):
            for t, tag in enumerate(path):
                expected[t, tag] += share
        torch.testing.assert_close(actual_row, expected)


def test_gradients_check_for_every_parameter() -> None:
    chain = random_chain(3)
    names, parameters = zip(*chain.named_parameters(), strict=True)
    emissions, lengths = torch.randn(3, 4, 3, dtype=torch.float64, requires_grad=True), torch.tensor([4, 0, 1])
    tags = torch.randint(3, (3, 4))

    class LogP(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.chain = chain

        def forward(self, emissions: Tensor) -> Tensor:
            return self.chain.score(emissions, tags, lengths) - self.chain.log_partition(emissions, lengths)

    def log_p(emissions: Tensor, *tensors: Tensor) -> Tensor:
        named = {f"chain.{name}": tensor for name, tensor in zip(names, tensors, strict=True)}
        return torch.func.functional_call(LogP(), named, (emissions,))

    assert torch.autograd.gradcheck(log_p, (emissions, *parameters))


def test_the_loss_is_minus_log_p_per_token() -> None:
    head = CRF(4, 3).double()
    head.chain.load_state_dict(random_chain(3).state_dict())
    y, lengths = torch.randn(3, 4, 4, dtype=torch.float64), torch.tensor([4, 0, 2])
    target = torch.randint(3, (3, 4))
    expected = torch.zeros((), dtype=torch.float64)
    for row, length, path in zip(head(y), lengths.tolist(), target.tolist(), strict=True):
        every = all_scores(head.chain, row, length)
        expected = expected - every[tuple(path[:length])] + torch.stack(list(every.values())).logsumexp(0)
    loss = head.loss(y, target, lengths)
    torch.testing.assert_close(loss.total, expected)
    assert loss.count == 6


def test_an_initialized_crf_is_a_softmax_at_each_step() -> None:
    crf, softmax = CRF(4, 3), PerToken(4, 3)
    softmax.output.load_state_dict(crf.output.state_dict())
    y, target, lengths = torch.randn(3, 5, 4), torch.randint(3, (3, 5)), torch.tensor([5, 0, 2])
    torch.testing.assert_close(crf.loss(y, target, lengths), softmax.loss(y, target, lengths))
    torch.testing.assert_close(crf.probabilities(y, lengths), softmax.probabilities(y, lengths))
    assert torch.equal(crf.predict(y, lengths), softmax.predict(y, lengths))


def test_transitions_forbid_what_emissions_prefer() -> None:
    head = CRF(2, 2)
    with torch.no_grad():
        head.output.weight.copy_(torch.eye(2))
        head.chain.transition[0, 1] = -1e4
    y = torch.tensor([[[3.0, 0.0], [0.0, 1.0], [5.0, 5.0]]])
    assert head.predict(y, torch.tensor([2])).tolist() == [[0, 0, PADDING]]
    loss = head.loss(y, torch.tensor([[0, 0, 0]]), torch.tensor([2]))
    loss.total.backward()
    assert loss.total.isfinite()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_long_sequences_are_finite_in_float32(scale: float) -> None:
    head = CRF(4, 6)
    head.chain.load_state_dict(random_chain(6).state_dict())
    y, target = scale * torch.randn(2, 500, 4), torch.randint(6, (2, 500))
    y.requires_grad_()
    loss = head.loss(y, target)
    loss.mean.backward()
    assert y.grad.isfinite().all()
    exact = CRF(4, 6).double()
    exact.load_state_dict(head.state_dict())
    torch.testing.assert_close(loss.total.double(), exact.loss(y.double(), target).total, rtol=1e-5, atol=1e-3)


def test_marginals_need_no_autograd() -> None:
    head, y = CRF(4, 3), torch.randn(2, 3, 4)
    with torch.inference_mode():
        p = head.probabilities(y, torch.tensor([3, 1]))
    torch.testing.assert_close(p.sum(2), torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))


def test_no_tags_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="CRF: tags is 0; expected a whole number, at least 1"):
        CRF(4, 0)
