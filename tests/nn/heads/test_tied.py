"""The embedding and the output share one matrix in memory, in files and after every kind of copy."""

from copy import deepcopy
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.nn.heads import PerToken
from seqloom.nn.initialization import initialize


class Model(nn.Module):
    """A bigram language model, the smallest with an embedding and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.head = PerToken(4, 7, tied=self.embedding)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.embedding(tokens))


TOKENS = torch.tensor([[1, 5, 2]])


def is_tied(model: Model) -> bool:
    scores = model.head.output(torch.eye(4, dtype=model.embedding.weight.dtype))
    return torch.allclose(scores, model.embedding.weight.T + model.head.output.bias)


def test_logits_are_products_with_the_embedding() -> None:
    model = Model()
    y = torch.randn(2, 3, 4)
    torch.testing.assert_close(model.head(y), y @ model.embedding.weight.T + model.head.output.bias)


def test_the_matrix_is_one_parameter_with_gradients_of_both_uses() -> None:
    model = Model()
    assert [name for name, _ in model.named_parameters()] == ["embedding.weight", "head.output.bias"]
    assert list(model.state_dict()) == ["embedding.weight", "head.output.bias"]
    vectors = model.embedding(TOKENS)
    from_both = torch.autograd.grad(model.head.loss(vectors, TOKENS).total, model.embedding.weight)[0]
    from_output = torch.autograd.grad(model.head.loss(vectors.detach(), TOKENS).total, model.embedding.weight)[0]
    assert from_output[0].abs().sum() > 0  # a word that is not in the input
    assert not torch.equal(from_both[1], from_output[1])


def test_safetensors_saves_and_loads_the_model(tmp_path: Path) -> None:
    model, other = Model(), Model()
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    other.load_state_dict(load_file(tmp_path / "model.safetensors"), strict=True)
    assert torch.equal(other(TOKENS), model(TOKENS))


@pytest.mark.parametrize("change", ["to", "copy", "assign", "empty", "initialize"])
def test_weights_stay_tied(change: str) -> None:
    model = Model()
    if change == "to":
        model = model.to(torch.bfloat16)
        assert model.head.loss(model.embedding(TOKENS), TOKENS).total.isfinite()
    elif change == "copy":
        model = deepcopy(original := model)
        assert model.head.output.weight is not original.embedding.weight
    elif change == "assign":
        model.load_state_dict({name: torch.randn_like(t) for name, t in model.state_dict().items()}, assign=True)
    elif change == "empty":
        with torch.device("meta"):
            model = Model()
        model = model.to_empty(device="cpu")
        model.load_state_dict(Model().state_dict())
    else:
        initialize(model, embeddings="uniform", scale=0.1)
        assert model.embedding.weight.abs().max() <= 0.1
    assert model.head.output.weight is model.embedding.weight
    assert is_tied(model)


def test_an_embedding_of_another_size_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"PerToken: tied has a matrix \[6, 4\]; expected \[7, 4\]"):
        PerToken(4, 7, tied=nn.Embedding(6, 4))
