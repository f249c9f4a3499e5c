"""Weights from a file must have the shapes and types of the model and be finite."""

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from seqloom.core.problem import RunError
from seqloom.nn import GRU, PerToken, Recurrent, TokenEmbedding
from seqloom.nn.model import Model
from seqloom.runs.weights import load_weights

CPU = torch.device("cpu")


def model() -> Model:
    return Model(TokenEmbedding(7, 4), Recurrent(GRU(4, 5)), PerToken(5, 7))


@pytest.fixture
def weights() -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    return {name: tensor.clone() for name, tensor in model().state_dict().items()}


def test_a_model_on_the_meta_device_gets_the_weights_of_the_file(
    weights: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    save_file(weights, tmp_path / "model.safetensors")
    with torch.device("meta"):
        empty = model()
    load_weights(empty, tmp_path / "model.safetensors", CPU)
    assert all(tensor.equal(weights[name]) for name, tensor in empty.state_dict().items())
    assert all(parameter.requires_grad for parameter in empty.parameters())


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16, torch.int32])
def test_another_dtype_is_refused(kind: torch.dtype, weights: dict[str, torch.Tensor], tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({**weights, "head.output.bias": weights["head.output.bias"].to(kind)}, path)
    expected = r"model\.safetensors: does not fit experiment\.toml \(.*head\.output\.bias.*float32.*\)\. Restore"
    with pytest.raises(RunError, match=expected) as wrong:
        load_weights(model(), path, CPU)
    assert str(kind).removeprefix("torch.") in str(wrong.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_refused(value: float, weights: dict[str, torch.Tensor], tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    weights["head.output.bias"][3] = value
    save_file(weights, path)
    with pytest.raises(RunError, match=r"model\.safetensors: head\.output\.bias has non-finite values, so "):
        load_weights(model(), path, CPU)


def test_for_missing_weights_the_error_says_try_again(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(RunError, match=rf"^{path}: no longer there: the run is still training .*\. Try again\.$"):
        load_weights(model(), path, CPU)


def test_weights_that_can_not_be_read_are_refused(tmp_path: Path) -> None:
    (path := tmp_path / "model.safetensors").mkdir()
    with pytest.raises(RunError, match=rf"^{path}: (not a plain file|can't be read)"):
        load_weights(model(), path, CPU)


def test_another_shape_is_refused(weights: dict[str, torch.Tensor], tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({**weights, "head.output.bias": torch.zeros(8)}, path)
    with pytest.raises(RunError, match=r"does not fit experiment\.toml \(size mismatch for head\.output\.bias"):
        load_weights(model(), path, CPU)
