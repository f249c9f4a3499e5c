"""The output layer of a new model of labels starts at their prior, whatever initializes its other weights."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import seqloom
from seqloom.nn.heads.head import ClassHead
from seqloom.nn.heads.per_token import PerToken
from seqloom.tasks.registry import experiment
from seqloom.training.session import Session
from tests.training.small import tiny_session

INITIALIZATIONS = pytest.mark.parametrize("init", [None, "normal"])


def output_head(session: Session) -> ClassHead:
    head = session.trainer([]).model.head
    return head.head if hasattr(head, "head") else head  # type: ignore[return-value, union-attr]


def output_bias(session: Session) -> Tensor:
    bias = output_head(session).output.bias
    assert bias is not None
    return bias.detach()


def training_labels(session: Session, column: str) -> Tensor:
    return torch.tensor([int(label) for label in session.task.data.splits["train"][column].flat])  # type: ignore[attr-defined]


@INITIALIZATIONS
@pytest.mark.parametrize(
    ("task", "column", "model"),
    [("classify", "labels", {}), ("tag", "tags", {}), ("tag", "tags", {"crf": True})],
)
def test_the_output_bias_is_the_log_prior(task: str, column: str, model: dict[str, Any], init: str | None) -> None:
    session = tiny_session(task, model={"init": init, **model})
    bias, counts = output_bias(session), training_labels(session, column).bincount()
    assert counts.min() > 0
    assert counts.min() < counts.max()
    torch.testing.assert_close(bias, (counts / counts.sum()).log())


@INITIALIZATIONS
def test_the_output_bias_of_several_labels_is_their_log_odds(init: str | None, tmp_path: Path) -> None:
    path = tmp_path / "moods.csv"
    rows = [f"a text number {i},{'glad' if i % 4 else 'glad|long'}" for i in range(1, 61)]
    rows += [f"a sour text {i},sour" for i in range(20)]
    path.write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    data = {"train": str(path), "label_separator": "|"}
    session = Session.prepare(
        experiment({"task": "classify", "model": {"arch": "gru", "size": "tiny", "init": init}, "data": data})
    )
    names, counts = session.task.labels.names, Counter(training_labels(session, "labels").tolist())  # type: ignore[attr-defined]
    share = torch.tensor([counts[i] for i in range(len(names))]) / len(session.task.data.splits["train"])  # type: ignore[attr-defined]
    assert 0 < share.min() < share.max() < 1
    torch.testing.assert_close(output_bias(session), (share / (1 - share)).log())


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_the_prior_can_be_turned_off(task: str) -> None:
    assert output_bias(tiny_session(task, model={"output_bias": "zero"})).eq(0).all()


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_the_prior_changes_no_other_weight(task: str) -> None:
    prior, zero = (
        tiny_session(task, model={"output_bias": bias}).trainer([]).model.state_dict() for bias in ("prior", "zero")
    )
    assert [name for name in zero if not torch.equal(prior[name], zero[name])] == [
        name for name in zero if name.endswith("output.bias")
    ]


@pytest.mark.usefixtures("forget_parts")
@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_user_defined_head_without_a_bias_needs_no_prior(task: str) -> None:
    @seqloom.register.head("unbiased")
    class Unbiased(PerToken):
        def __init__(self, size: int, classes: int, *, smoothing: float = 0.0) -> None:
            super().__init__(size, classes, bias=False, smoothing=smoothing)

    assert output_head(tiny_session(task, model={"head": "unbiased"})).output.bias is None


@pytest.mark.usefixtures("forget_parts")
@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_user_defined_output_layer_needs_no_bias(task: str) -> None:
    class Cosine(nn.Module):
        def __init__(self, size: int, classes: int) -> None:
            super().__init__()
            self.in_features, self.out_features = size, classes
            self.weight = nn.Parameter(torch.randn(classes, size))

        def forward(self, y: Tensor) -> Tensor:
            return F.linear(F.normalize(y, dim=-1), F.normalize(self.weight, dim=-1))

    @seqloom.register.head("cosine-classes")
    class CosineClasses(PerToken):
        def __init__(self, size: int, classes: int, *, smoothing: float = 0.0) -> None:
            super().__init__(size, classes, smoothing=smoothing)
            self.output = Cosine(size, classes)  # type: ignore[assignment]

    assert not hasattr(output_head(tiny_session(task, model={"head": "cosine-classes"})).output, "bias")
