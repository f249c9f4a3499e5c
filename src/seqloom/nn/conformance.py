"""Checks of user-defined parts on a small batch, before training. Each returns the `Violation` that it finds, or None.

The conformance suite (`tests/nn/test_contract.py`) runs the same checks on every built-in layer.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from seqloom.nn.heads.head import PADDING, ClassHead, Loss
from seqloom.nn.layer import Layer
from seqloom.nn.scores import Score
from seqloom.nn.state import State

ROWS, STEPS, MORE_STEPS = 4, 6, 3
LENGTHS = (4, 6, 0, 1)
ATOL = 1e-11  # in float64
ATOL_FLOAT32 = 1e-4


class Violation(NamedTuple):
    """A promise that a part breaks: a message to follow its name, and advice.

    declare: the trait with which a layer would declare it; the layers around a cell have traits of their own
    """

    message: str
    advice: str
    declare: str = ""


NOT_CAUSAL = "causal=False"
MASK = "Mask what lies beyond `lengths`, or set needs_zeros = True on the class for zeros there"
NOT_FINITE = "Look for a division by zero, a logarithm or an overflow"
TWO_RESULTS = Violation(
    "gave two results for one input in eval mode",
    "Draw random numbers only where self.training holds, and keep nothing on self between calls",
)


class Result(NamedTuple):
    """Outputs and state of one call, and the gradients of a weighted sum of both."""

    y: Tensor
    state: State
    x_grad: Tensor
    weight_grads: dict[str, Tensor]


@dataclass(frozen=True)
class Trial:
    """A layer in eval mode and float64, and a batch for it.

    x, lengths: a batch with random values at padding too
    initial_state: the state to start with for a number of rows, of a layer with cross-attention; the same each time
    atol: the largest difference between results that should be equal
    """

    layer: Layer
    x: Shaped[Tensor, "batch time *dim"]
    lengths: Int[Tensor, " batch"]
    initial_state: Callable[[Layer, int], State | None] = lambda layer, rows: None
    atol: float = ATOL

    @staticmethod
    def of(layer: Layer) -> "Trial":
        """A layer over vectors. Its weights are perturbed, because many start at zero or all alike."""
        layer = layer.double().eval()
        perturb(layer)
        steps = min(STEPS, layer.traits.max_length or STEPS)
        x = torch.randn(ROWS, steps, layer.input_size, dtype=torch.float64)
        trial = Trial(layer, x, torch.tensor(LENGTHS).clamp(max=steps))
        y, _ = trial.run(lengths=trial.lengths)
        is_float32 = isinstance(y, Tensor) and torch.equal(y, y.float().double())  # inside, whatever the type of x
        return replace(trial, atol=ATOL_FLOAT32) if is_float32 else trial

    @property
    def padding(self) -> Tensor:
        return torch.arange(self.x.shape[1]) >= self.lengths.unsqueeze(1)

    def run(
        self, x: Tensor | None = None, lengths: Tensor | None = None, state: State | None = None
    ) -> tuple[Tensor, State]:
        """One call; by default on the batch and from the initial state."""
        x = self.x if x is None else x
        state = self.initial_state(self.layer, x.shape[0]) if state is None else state
        return self.layer(x, lengths, state)  # type: ignore[no-any-return]

    def forward_backward(self, x: Tensor, lengths: Tensor | None = None, seed: int = 0) -> Result:
        layer = deepcopy(self.layer) if self.layer.training else self.layer  # with its own batch statistics
        return forward_backward(layer, x, lengths, self.initial_state(layer, x.shape[0]), seed)


Check = Callable[[Trial], Violation | None]


@torch.no_grad()
def perturb(module: nn.Module) -> None:
    """Add noise to each weight and to batch statistics."""
    for weight in module.parameters():
        weight.add_(torch.randn_like(weight), alpha=0.3)
    for name, statistic in module.named_buffers():
        if name.rsplit(".")[-1].startswith("running_"):
            statistic.add_(torch.rand_like(statistic), alpha=0.3)


def forward_backward(
    layer: Layer, x: Tensor, lengths: Tensor | None = None, state: State | None = None, seed: int = 0
) -> Result:
    """One call, and the gradients of a sum that weights every output, padding included, and every value carried."""
    x = x.detach().requires_grad_(x.is_floating_point())
    layer.zero_grad()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # the same dropout, if any
        y, after = layer(x, lengths, state)
    total = weighted_sum(y)
    for name in fixed_names(layer):
        total = total + weighted_sum(after[name]) if after[name].is_floating_point() else total
    if total.requires_grad:
        total.backward()
    weight_grads = {name: gradient(weight) for name, weight in layer.named_parameters()}
    return Result(y.detach(), after.detach(), gradient(x), weight_grads)


def weighted_sum(values: Tensor) -> Tensor:
    """Σ w ⊙ values, where w depends on the step and the feature, not on the numbers of steps and rows."""
    generator = torch.Generator().manual_seed(5)
    dims = torch.randn(values.shape[-1], generator=generator, dtype=torch.float64)
    steps = torch.arange(values.shape[1], dtype=torch.float64).mul(1.7).cos() if values.dim() > 2 else None
    weights = dims if steps is None else steps.reshape(-1, *[1] * (values.dim() - 3), 1) * dims
    return (values * weights.to(values)).sum()


def gradient(tensor: Tensor) -> Tensor:
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad.clone()


def fixed_names(layer: Layer) -> list[str]:
    """The tensors of the state that don't grow. The storage of the others may differ between equal states."""
    return [name for name, shape in layer.state_shapes().items() if None not in shape]


def is_close(actual: Tensor, expected: Tensor, atol: float = ATOL) -> bool:
    """Whether two tensors are equal up to rounding; NaN equals nothing."""
    return actual.shape == expected.shape and torch.allclose(actual, expected, rtol=0, atol=atol)


def states_close(actual: State, expected: State, layer: Layer, atol: float = ATOL) -> bool:
    return set(actual) == set(expected) and all(
        is_close(actual[name], expected[name], atol) for name in fixed_names(layer)
    )


# Layers ------------------------------------------------------------------------------------------------------------


def check_declarations(trial: Trial) -> Violation | None:
    """y and the state have the shapes and types that the layer declares."""
    layer = trial.layer
    y, state = trial.run(lengths=trial.lengths)
    if tuple(y.shape) != (*trial.x.shape[:2], layer.output_size):
        actual = f"gave y of shape {list(y.shape)} for x {list(trial.x.shape)}"
        message = f"declares output_size {layer.output_size}, but {actual}"
        return Violation(message, "Set output_size to the width of y, and give an output for each step")
    if y.dtype != torch.float64:
        message = f"gave y in {y.dtype} for x in torch.float64"
        return Violation(message, "Make new tensors of the type of x, as x.new_zeros")
    if not y.isfinite().all():
        return Violation("gave values of y that are not finite", NOT_FINITE)
    shapes = layer.state_shapes()
    if set(state) != set(shapes):
        message = f"declares the states {sorted(shapes)} in state_shapes, but returned {sorted(state)}"
        return Violation(message, "Return a State with those tensors")
    for name, shape in shapes.items():
        rows, *sizes = state[name].shape
        fits = rows == trial.x.shape[0] and len(sizes) == len(shape)
        if not fits or any(want not in (None, size) for size, want in zip(sizes, shape, strict=True)):
            declared = ["rows", *("any" if size is None else size for size in shape)]
            message = f"declares state {name!r} of shape {declared}, but returned {[rows, *sizes]}"
            return Violation(message, "Correct one of them")
    return None


def check_dtype(trial: Trial) -> Violation | None:
    """A layer whose weights are in float32 computes in float32."""
    layer = deepcopy(trial.layer).float()
    initial = trial.initial_state(layer, trial.x.shape[0])
    y, state = layer(trial.x.float() if trial.x.is_floating_point() else trial.x, trial.lengths, initial)
    for name, tensor in {"y": y, **{f"state {name!r}": state[name] for name in fixed_names(layer)}}.items():
        if tensor.dtype == torch.float64:
            message = f"gave {name} in torch.float64 for x in torch.float32"
            return Violation(message, "Make new tensors of the type of x")
    return None


def check_deterministic(trial: Trial) -> Violation | None:
    """Random numbers are drawn in training mode only."""
    first, second = (trial.forward_backward(trial.x, trial.lengths, seed) for seed in (1, 2))
    if torch.equal(first.y, second.y) and torch.equal(first.x_grad, second.x_grad):
        return None
    return TWO_RESULTS


def check_padding(trial: Trial) -> Violation | None:
    """The values of padding change no output, no state and no gradient."""
    padding = trial.padding
    expected = trial.forward_backward(trial.x, trial.lengths)
    for fill in (0, 10_000, float("nan")) if trial.x.is_floating_point() else (0, 10_000):
        filled = trial.x.clone()
        filled[padding] = fill
        if changed := difference(trial.forward_backward(filled, trial.lengths), expected, trial.layer, atol=0):
            return Violation(f"must ignore padding, but {changed} changed when padding was {fill:,}", MASK)
    if bool(expected.x_grad[padding].ne(0).any()):
        return Violation("must ignore padding, but has a gradient there", MASK)
    return None


def check_more_padding(trial: Trial) -> Violation | None:
    """The amount of padding changes nothing."""
    layer, steps = trial.layer, trial.x.shape[1]
    if (layer.traits.max_length or steps + MORE_STEPS) < steps + MORE_STEPS:
        return None
    padded_x = torch.cat([trial.x, trial.x[:, :1].expand(-1, MORE_STEPS, *trial.x.shape[2:])], dim=1)
    padded = trial.forward_backward(padded_x, trial.lengths)
    padded = padded._replace(y=padded.y[:, :steps], x_grad=padded.x_grad[:, :steps])
    if changed := difference(padded, trial.forward_backward(trial.x, trial.lengths), layer, 10 * trial.atol):
        return Violation(f"must ignore padding, but {changed} changed when there was more of it", MASK)
    return None


def check_rows_independent(trial: Trial) -> Violation | None:
    """A row alone gives the same result as in a batch."""
    if not trial.layer.traits.rows_independent:
        return None
    batch = trial.forward_backward(trial.x, trial.lengths)
    for row, length in enumerate(trial.lengths.tolist()):
        initial, index = trial.initial_state(trial.layer, trial.x.shape[0]), torch.tensor([row])
        alone = forward_backward(trial.layer, trial.x[row : row + 1, :length], None, initial and initial.select(index))
        if not (
            is_close(alone.y[0], batch.y[row, :length], trial.atol)
            and is_close(alone.x_grad[0], batch.x_grad[row, :length], trial.atol)
            and states_close(alone.state, batch.state.select(index), trial.layer, trial.atol)
        ):
            message = f"must compute each row by itself, but row {row + 1} gave other values when it was alone"
            advice = "Let rows not see each other, and steps beyond `lengths` not be seen"
            return Violation(message, advice, "rows_independent=False")
    return None


def check_splits(trial: Trial, cuts: tuple[int, ...] | None = None) -> Violation | None:
    """A causal layer gives the same result in one call, step by step, and in chunks.

    cuts: where x is cut; by default into single steps, and then in two
    """
    if not trial.layer.traits.causal:
        return None
    expected, end = trial.run()
    steps = trial.x.shape[1]
    advice = "Carry in the state all that later steps need"
    for splits in (tuple(range(1, steps)), (steps // 2,)) if cuts is None else (cuts,):
        ys, state = [], trial.initial_state(trial.layer, trial.x.shape[0])
        for chunk in trial.x.tensor_split(splits, dim=1):
            y, state = trial.layer(chunk, None, state)
            ys.append(y)
        sizes = " and ".join(str(stop - start) for start, stop in pairwise((0, *splits, steps)))
        calls = "single steps" if len(splits) == steps - 1 else f"calls of {sizes} steps"
        if not is_close(torch.cat(ys, dim=1), expected, trial.atol):
            step = first_difference(torch.cat(ys, dim=1), expected, trial.atol)
            message = f"is causal, but y at step {step} differs between one call and {calls}"
            return Violation(message, advice, NOT_CAUSAL)
        if state is not None and not states_close(state, end, trial.layer, trial.atol):
            return Violation(f"is causal, but its state differs between one call and {calls}", advice, NOT_CAUSAL)
    return None


def check_causal(trial: Trial) -> Violation | None:
    """A later input changes no output of a causal layer."""
    steps = trial.x.shape[1]
    if not trial.layer.traits.causal:
        return None
    expected, _ = trial.run()
    now = steps // 2
    actual, _ = trial.run(torch.cat([trial.x[:, :now], trial.x.roll(1, dims=0)[:, now:]], dim=1))
    if is_close(actual[:, :now], expected[:, :now], trial.atol):
        return None
    step = first_difference(actual[:, :now], expected[:, :now], trial.atol)
    message = f"is causal, but y at step {step} changed when steps {now + 1} to {steps} did"
    return Violation(message, "Let each step see only itself and earlier ones", NOT_CAUSAL)


def check_empty_rows(trial: Trial) -> Violation | None:
    """A row of length 0 keeps its state."""
    rows = trial.x.shape[0]
    initial = trial.initial_state(trial.layer, rows)
    initial = initial or trial.layer.initial(rows, torch.zeros((), dtype=torch.float64))
    before = State({name: tensor.clone() for name, tensor in initial.items()}, position=initial.position)
    _, after = trial.layer(trial.x, torch.zeros_like(trial.lengths), initial)
    if states_close(after, before, trial.layer, atol=0):
        return None
    return Violation("changed the state of a row of length 0", "Keep the state of rows that have ended: see `lengths`")


def check_gradients(trial: Trial) -> Violation | None:
    """The gradients of x and of the weights are finite, in training mode too."""
    copy = replace(trial, layer=deepcopy(trial.layer))
    for training in (False, True):
        copy.layer.train(training)
        result = copy.forward_backward(trial.x, trial.lengths)
        for name, value in {"x": result.x_grad, **result.weight_grads}.items():
            if not value.isfinite().all():
                advice = "Look for a square root or a norm at zero, or a division by zero"
                return Violation(f"has a gradient to {name} that is not finite", advice)
    return None


LAYER_CHECKS: tuple[Check, ...] = (
    check_declarations,
    check_dtype,
    check_gradients,
    check_deterministic,
    check_causal,
    check_splits,
    check_padding,
    check_more_padding,
    check_rows_independent,
    check_empty_rows,
)


def difference(actual: Result, expected: Result, layer: Layer, atol: float) -> str:
    """What differs between two results; empty if they are equal."""
    if not is_close(actual.y, expected.y, atol):
        return f"y at step {first_difference(actual.y, expected.y, atol)}"
    if not states_close(actual.state, expected.state, layer, atol):
        return "the state"
    if not is_close(actual.x_grad, expected.x_grad, atol):
        return "the gradient to x"
    for name, value in expected.weight_grads.items():
        if not is_close(actual.weight_grads[name], value, atol):
            return f"the gradient to {name}"
    return ""


def first_difference(
    actual: Float[Tensor, "batch time dim"], expected: Float[Tensor, "batch time dim"], atol: float
) -> int:
    """The first step, from 1, at which two outputs differ."""
    close = torch.isclose(actual, expected, rtol=0, atol=atol).all(dim=2).all(dim=0)
    return int(close.int().argmin()) + 1


def layer_violations(layer: Layer, *, causal: bool = False) -> Iterator[Violation]:
    """Those of a new layer; `causal` if it must be causal."""
    if causal and not layer.traits.causal:
        message = "is not causal by its traits, and was built to be"
        yield Violation(message, "Return a causal layer where causal is True")
    try:
        trial = Trial.of(layer)
    except RuntimeError:
        layer = layer.float()
        layer(torch.randn(ROWS, 1, layer.input_size))  # an error here is the layer's own
        advice = "Keep constants as buffers (self.register_buffer): they have the type and device of the weights"
        yield Violation("computes in float32 alone: it failed with weights and input in float64", advice)
        return
    yield from (violation for check in LAYER_CHECKS if (violation := check(trial)) is not None)


# Other parts -------------------------------------------------------------------------------------------------------


def activation_violations(activation: nn.Module) -> Iterator[Violation]:
    """An activation maps each value by itself: some layers have time as the last dimension."""
    activation = activation.double().eval()
    x = torch.randn(2, 3, 4, dtype=torch.float64).mul_(3).requires_grad_()
    y = activation(x)
    if not isinstance(y, Tensor) or y.shape != x.shape:
        actual = f"shape {list(y.shape)}" if isinstance(y, Tensor) else f"type {type(y).__name__}"
        message = f"gave {actual} for x of shape {list(x.shape)}"
        yield Violation(message, "Return a tensor with a value for each value of x")
        return
    if y.dtype != x.dtype or not y.isfinite().all():
        message = "gave values that are not finite, or of another type than x"
        yield Violation(message, "Return finite values of x's type")
        return
    if not torch.equal(activation(x), y):
        yield TWO_RESULTS
    moved = x.detach().clone()
    moved[0, 1, 2] += 1
    if activation(moved).ne(y).sum() > 1:
        message = "must map each value by itself, but one value changed the result of others"
        yield Violation(message, "Leave sums and means out")
    if y.requires_grad:
        y.sum().backward()
    if not y.requires_grad or not gradient(x).isfinite().all():
        advice = "Use torch's functions on x itself, not on x.data or numpy arrays"
        yield Violation("has no finite gradient to x", advice)


def score_violations(score: Score) -> Iterator[Violation]:
    """A score of each query with each key, which the fused kernels can compute."""
    score = score.double().eval()
    perturb(score)
    q = torch.randn(2, score.heads, 3, score.query_size, dtype=torch.float64).requires_grad_()
    k = torch.randn(2, score.key_heads, 5, score.key_size, dtype=torch.float64).requires_grad_()
    mapped_q, mapped_k = score.query(q), score.key(k)
    if mapped_k.shape[-1] != score.mapped_size:
        message = f"declares mapped_size {score.mapped_size}, but `key` gave vectors of {mapped_k.shape[-1]}"
        yield Violation(message, "Set self.mapped_size to the width of what `key` gives")
        return
    scores = score.scores(mapped_q, mapped_k)
    if scores.shape != (2, score.heads, 3, 5):
        message = f"gave scores of shape {list(scores.shape)}, not {[2, score.heads, 3, 5]}"
        yield Violation(message, "Give one for each query and key: [batch, heads, queries, keys]")
        return
    if not scores.isfinite().all():
        yield Violation("gave scores that are not finite", NOT_FINITE)
        return
    if score.kind == "dot":
        product = score.scale * mapped_q @ mapped_k.repeat_interleave(score.heads // score.key_heads, 1).transpose(2, 3)
        if not is_close(product.softmax(dim=3), scores.softmax(dim=3), atol=1e-9):
            message = "is of kind 'dot', so that kernels compute scale · query(q) · key(k), but `scores` gives another"
            yield Violation(message, "Leave `scores` out, or set kind on the class to a name of its own")
            return
    moved = k.detach().clone()
    moved[:, :, 3] += 1
    moved_scores = score.scores(mapped_q, score.key(moved))
    if not is_close(moved_scores[..., :3], scores[..., :3]):
        message = "must score each key by itself, but a key changed the score of another"
        yield Violation(message, "Leave sums over keys out")
    scores.sum().backward()
    if not all(gradient(tensor).isfinite().all() for tensor in (q, k, *score.parameters())):
        yield Violation("has a gradient that is not finite", "Look for a square root or a norm at zero")


def head_violations(head: ClassHead, size: int, classes: int) -> Iterator[Violation]:
    """A loss without padding, a class for each step, and probabilities that sum to one."""
    if (head.input_size, head.classes) != (size, classes):
        expected = f"was built for vectors of {size} and {classes} classes"
        message = f"{expected}, and has {head.input_size} and {head.classes}"
        yield Violation(message, "Pass an output layer nn.Linear(size, classes) to super().__init__")
        return
    head = head.double().eval()
    perturb(head)
    y = torch.randn(ROWS, STEPS, size, dtype=torch.float64).requires_grad_()
    target, lengths = torch.randint(classes, (ROWS, STEPS)), torch.tensor(LENGTHS)
    padding = torch.arange(STEPS) >= lengths.unsqueeze(1)
    loss = head.loss(y, target, lengths)
    if not isinstance(loss, Loss) or loss.total.dim() or int(loss.count) != int(lengths.sum()):
        message = f"gave the loss {loss!r:.60} for {int(lengths.sum())} real steps"
        yield Violation(
            message, "Return Loss(total, count): the sum over real steps, and `count_steps(scores, lengths)`"
        )
        return
    rows = [(row, length) for row, length in enumerate(LENGTHS) if length]
    row_losses = [head.loss(y[[row], :length], target[[row], :length]).total for row, length in rows]
    if not is_close(torch.stack(row_losses).sum(), loss.total, atol=1e-9):
        message = "must ignore padding and other rows, but its loss was not the sum of the rows' own"
        yield Violation(message, "Sum over the steps of each row within `lengths` alone")
    if not loss.total.isfinite():
        yield Violation("gave a loss that is not finite", "Look for a logarithm of zero; log_softmax is exact")
        return
    if loss.total.requires_grad:
        loss.total.backward()
    gradients = [gradient(tensor) for tensor in (y, *head.parameters())]
    if not all(value.isfinite().all() for value in gradients) or not gradients[0].any():
        message = "has a loss without a finite gradient to y"
        yield Violation(message, "Compute it from the scores, by functions of torch")
    predicted = head.predict(y, lengths)
    fits = predicted.shape == target.shape and bool((predicted[padding] == PADDING).all())
    if not (fits and bool(((predicted[~padding] >= 0) & (predicted[~padding] < classes)).all())):
        message = "predicted no class for each real step, and -1 beyond"
        yield Violation(message, "Return pad_predictions(classes, lengths)")
    p = head.probabilities(y, lengths)
    sums_to_one = p.shape == (ROWS, STEPS, classes) and is_close(p.sum(dim=2), (~padding).to(p), atol=1e-6)
    if not sums_to_one or bool((p < 0).any()):
        message = "gave probabilities that do not sum to one"
        yield Violation(message, "Return what sums to one over the classes of each step")
