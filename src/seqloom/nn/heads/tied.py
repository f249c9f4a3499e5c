"""An output layer that shares the embedding's matrix."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.kernels.linear import linear


class TiedLinear(nn.Module):
    """scores = E y + b, where E [vocabulary, dim] is the embedding's matrix (Press & Wolf 2017; Inan et al. 2017).

    This module refers to the embedding and does not own it: a model's `parameters()` and `state_dict()` contain E once,
    under the embedding's name, as safetensors requires; saved alone, this module is its bias. E is read at each call,
    so the tie outlives `to`, `load_state_dict(assign=True)` and a deep copy of the model.

    >>> embedding = nn.Embedding(7, 4)
    >>> output = TiedLinear(embedding)
    >>> output(embedding(torch.tensor([2, 3]))).shape, list(output.state_dict())
    (torch.Size([2, 7]), ['bias'])
    """

    roles: ClassVar = {"bias": "bias"}
    bias: Float[Tensor, " vocabulary"] | None

    def __init__(self, embedding: nn.Embedding, *, bias: bool = True) -> None:
        super().__init__()
        self._embedding = (embedding,)  # in a tuple, where nn.Module does not register it
        self.in_features, self.out_features = embedding.embedding_dim, embedding.num_embeddings
        self.bias = nn.Parameter(torch.zeros(self.out_features)) if bias else None

    @property
    def weight(self) -> Float[Tensor, "vocabulary dim"]:
        return self._embedding[0].weight

    def forward(self, y: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocabulary"]:
        return linear(y, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}" + ("" if self.bias is not None else ", bias=False")
