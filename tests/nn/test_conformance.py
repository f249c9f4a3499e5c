"""The check of user-defined parts: each violation has its message, and a correct part has none."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from seqloom import register
from seqloom.core.problem import PartError
from seqloom.nn import GRU, Cell, Recurrent
from seqloom.nn.activations import ACTIVATIONS, activation
from seqloom.nn.cells import CELLS
from seqloom.nn.conformance import Violation, check_activation, check_head, check_layer, check_score
from seqloom.nn.heads import CRF, Loss, PerToken
from seqloom.nn.layer import Layer, Shapes, Traits
from seqloom.nn.normalization import NORMS
from seqloom.nn.scores import SCORES, Dot, Score
from seqloom.nn.state import State
from seqloom.tasks.part_conformance import check_parts
from seqloom.tasks.registry import experiment
from tests.temporary_parts import temporary_parts

SIZE = 5


class Sound(Layer):
    """The sum of all steps so far."""

    def __init__(self, size: int = SIZE) -> None:
        super().__init__()
        self.input_size = self.output_size = size

    @property
    def traits(self) -> Traits:
        return Traits(causal=True)

    def state_shapes(self) -> Shapes:
        return {"sum": (self.input_size,)}

    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        y = state["sum"].unsqueeze(1) + x.cumsum(dim=1)
        return y, State(sum=y[:, -1])


class Mean(Sound):
    """Not causal."""

    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return x.mean(dim=1, keepdim=True).expand_as(x), State(sum=state["sum"])


class Wide(Sound):
    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        y, after = super().mix(x, lengths, state)
        return torch.cat([y, y], dim=2), after


class Noisy(Sound):
    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return super().mix(x + torch.rand_like(x), lengths, state)


class Forgetful(Sound):
    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return x.cumsum(dim=1), State(sum=state["sum"])


class OtherState(Sound):
    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        y, after = super().mix(x, lengths, state)
        return y, State(total=after["sum"])


class OtherShape(Sound):
    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        y, after = super().mix(x, lengths, state)
        return y, State(sum=after["sum"][:, :2])


class AcrossRows(Sound):
    def state_shapes(self) -> Shapes:
        return {}

    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return x + x.sum(dim=0, keepdim=True), State()


class CountsPadding(Sound):
    @property
    def traits(self) -> Traits:
        return Traits(causal=False)

    def state_shapes(self) -> Shapes:
        return {}

    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return x + x.shape[1], State()


class Waits(Sound):
    """Changes waiting rows too: its state counts every call."""

    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        y, _ = super().mix(x, lengths, state)
        return y * 0, State(sum=state["sum"] + x.shape[1])


class Rough(Sound):
    """The square root of values that may be 0."""

    def state_shapes(self) -> Shapes:
        return {}

    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return (x - x).sqrt(), State()


class Infinite(Rough):
    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return x / 0, State()


class Single(Rough):
    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return x.float(), State()


class Doubled(Rough):
    def mix(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return x.double(), State()


BROKEN: dict[type[Layer], str] = {
    Mean: "is causal, but y at step 1 changed when steps 4 to 6 did",
    Wide: "declares output_size 5, but gave y of shape [4, 6, 10] for x [4, 6, 5]",
    Noisy: "gave two results for one input in eval mode",
    Forgetful: "is causal, but y at step 2 differs between one call and single steps",
    OtherState: "declares the states ['sum'] in state_shapes, but returned ['total']",
    OtherShape: "declares state 'sum' of shape ['rows', 5], but returned [4, 2]",
    AcrossRows: "must compute each row by itself, but row 1 gave other values when it was alone",
    CountsPadding: "must ignore padding, but y at step 1 changed when there was more of it",
    Waits: "must ignore padding, but the state changed when there was more of it",
    Rough: "has a gradient to x that is not finite",
    Infinite: "gave values of y that are not finite",
    Single: "gave y in torch.float32 for x in torch.float64",
    Doubled: "gave y in torch.float64 for x in torch.float32",
}


def message_of(check: Callable[..., None], *args: object, **options: object) -> str:
    """The violations that the check finds."""
    with pytest.raises(Violation) as caught:
        check(*args, **options)
    return caught.value.problem.message


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_violations_of_layers(kind: type[Layer]) -> None:
    assert BROKEN[kind] in message_of(check_layer, kind())


def test_a_correct_layer_has_no_violation() -> None:
    check_layer(Recurrent(GRU(SIZE, 4)), causal=True)
    message = "is not causal by its traits, and was built with causal=True"
    assert message_of(check_layer, CountsPadding(), causal=True) == message


@pytest.mark.parametrize("name", list(NORMS))
def test_built_in_norms_pass(name: str) -> None:
    check_layer(NORMS[name](8))


@pytest.mark.parametrize("name", list(CELLS))
def test_built_in_cells_pass(name: str) -> None:
    check_layer(Recurrent(CELLS[name](8, 12)))


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_built_in_activations_pass(name: str) -> None:
    check_activation(activation(name))


@pytest.mark.parametrize("name", list(SCORES))
def test_built_in_scores_pass(name: str) -> None:
    check_score(SCORES[name](8, 8))
    check_score(SCORES[name](8, 8, heads=2, key_heads=1))


def test_built_in_heads_pass() -> None:
    check_head(PerToken(8, 5, smoothing=0.1), 8, 5)
    check_head(CRF(8, 5), 8, 5)


# Other kinds ------------------------------------------------------------------------------------------------------


class Softmax(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(dim=-1)


class Halves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.chunk(2, dim=-1)[0]


class Logarithm(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.log()


class Detached(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.detach()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Softmax, "must map each value by itself, but one value changed the result of others"),
        (Halves, "gave shape [2, 3, 2] for x of shape [2, 3, 4]"),
        (Logarithm, "gave values that are not finite"),
        (Detached, "has no finite gradient to x"),
        (lambda: nn.RReLU().train(), None),
    ],
)
def test_violations_of_activations(kind: type[nn.Module], sentence: str | None) -> None:
    if sentence is None:
        check_activation(kind())
    else:
        assert sentence in message_of(check_activation, kind())


class Squared(Dot):
    """Differs from the kernels."""

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        return super().scores(query, key) ** 2


class Mapped(Score):
    def query(self, q: Tensor) -> Tensor:
        return q.mean(dim=3, keepdim=True)

    def key(self, k: Tensor) -> Tensor:
        return k.mean(dim=3, keepdim=True)


class OverKeys(Dot):
    kind = "over-keys"

    def key(self, k: Tensor) -> Tensor:
        return k - k.mean(dim=2, keepdim=True)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Squared, "is of kind 'dot', so that kernels compute scale · query(q) · key(k), but `scores` gives another"),
        (Mapped, "declares mapped_size 8, but `key` gave vectors of 1"),
        (OverKeys, "must score each key by itself, but a key changed the score of another"),
    ],
)
def test_violations_of_scores(kind: type[Score], sentence: str) -> None:
    assert sentence in message_of(check_score, kind(8, 8))


class SumsPadding(PerToken):
    def loss_from_scores(self, scores: Tensor, target: Tensor, lengths: Tensor | None) -> Loss:
        return Loss(
            super().loss_from_scores(scores, target, None).total,
            super().loss_from_scores(scores, target, lengths).count,
        )


class Counts(PerToken):
    def loss_from_scores(self, scores: Tensor, target: Tensor, lengths: Tensor | None) -> Loss:
        return super().loss_from_scores(scores, target, None)


class NoPadding(PerToken):
    def predict_from_scores(self, scores: Tensor, lengths: Tensor | None) -> Tensor:
        return scores.argmax(dim=2)


class Unweighed(PerToken):
    def probabilities_from_scores(self, scores: Tensor, lengths: Tensor | None) -> Tensor:
        return scores.sigmoid()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (SumsPadding, "must ignore padding and other rows, but its loss was not the sum of the rows' own"),
        (Counts, "for 11 valid steps"),
        (NoPadding, "predicted no class for each valid step, and -1 beyond"),
        (Unweighed, "gave probabilities that do not sum to one"),
    ],
)
def test_violations_of_heads(kind: type[PerToken], sentence: str) -> None:
    assert sentence in message_of(check_head, kind(8, 5), 8, 5)


# Before training --------------------------------------------------------------------------------------------------


class Unsteady(Cell):
    """Its step is random."""

    parts = ("candidate",)

    def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        hidden = torch.tanh(projected + self.recur(state["hidden"]) + torch.rand_like(projected))
        return hidden, State(hidden=hidden)


class Raises(Unsteady):
    def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        return projected.frobnicate(), state  # type: ignore[operator]


def test_a_violation_is_one_error_with_its_location() -> None:
    with temporary_parts():
        register.cell("mine", Unsteady)
        register.cell("raises", Raises)
        register.cell("forgets", GRU)
        with pytest.raises(PartError) as caught:
            check_parts(experiment({"task": "translate", "model": {"arch": "gru", "encoder": "mine"}}))
        message = str(caught.value)
        assert "test_conformance.py:" in message
        assert "the cell 'mine' gave two results for one input in eval mode. Draw random numbers only where" in message
        with pytest.raises(PartError, match=r"the cell 'raises' raised AttributeError: .* no attribute 'frobnicate'"):
            check_parts(experiment({"task": "tag", "model": {"arch": "raises"}}))
        before = torch.random.get_rng_state()
        check_parts(experiment({"task": "tag", "model": {"arch": "forgets"}}))
        assert torch.equal(before, torch.random.get_rng_state())


def test_layers_are_checked_as_the_task_uses_them() -> None:
    def build(size: int, *, causal: bool) -> Layer:
        return Forgetful(size) if causal else Sound(size)

    check_parts(experiment({"task": "classify", "model": {"arch": build}}))
    for task in ("language", "translate"):
        with pytest.raises(
            PartError, match=r"test_conformance\.py:\d+: the layer of .*build is causal, but y at step 2"
        ):
            check_parts(experiment({"task": task, "model": {"arch": build}}))
