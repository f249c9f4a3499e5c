import torch

from seqloom.nn.heads import Loss


def test_a_sum_and_its_number() -> None:
    total, count = loss = Loss(torch.tensor(6.0), torch.tensor(4))
    assert (total, count, loss.mean) == (6, 4, 1.5)


def test_nothing_has_a_mean_of_zero_and_a_finite_gradient() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    Loss(x[:0].sum(), torch.tensor(0)).mean.backward()
    assert x.grad.tolist() == [0.0]


def test_losses_add_up() -> None:
    both = Loss(torch.tensor(6.0), torch.tensor(4)) + Loss(torch.tensor(2.0), torch.tensor(1))
    assert both == Loss(torch.tensor(8.0), torch.tensor(5))
