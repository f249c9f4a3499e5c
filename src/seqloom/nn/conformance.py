"""Checks of user-defined parts on a small batch, before training. Each raises the `Violation` that it finds.

The conformance suite (`tests/nn/test_contract.py`) runs the same checks on every built-in layer.
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from seqloom.core.problem import SeqloomError
from seqloom.nn.heads.head import PADDING, ClassHead, Loss
from seqloom.nn.layer import Layer
from seqloom.nn.scores import Score
from seqloom.nn.state import State
from seqloom.nn.validation import matches

ROWS, STEPS, MORE_STEPS = 4, 6, 3
LENGTHS = (4, 6, 0, 1)
ATOL = 1e-11  # in float64
ATOL_FLOAT32 = 1e-4


class Violation(SeqloomError):
    """A promise that a part breaks. The message continues a sentence that starts with the part's name.

    declare: the trait that a layer may declare instead, if there is one
    """

    default_code = "part-breach"

    def __init__(self, message: str, advice: str, declare: str = "") -> None:
        super().__init__(message, advice)
        self.declare = declare


def require(condition: object, message: str, advice: str, declare: str = "") -> None:
    if not condition:
        raise Violation(message, advice, declare)


NOT_CAUSAL = "causal=False"
MASK = "Mask what lies beyond `lengths`, or set needs_zeros = True on the class for zeros there"
NOT_FINITE = "Look for a division by zero, a logarithm or an overflow"
TWO_RESULTS = (
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
    initial_state: returns the initial state of a layer with cross-attention for a number of rows; the same at each call
    atol: the largest difference between results that should be equal
    """

    layer: Layer
    x: Shaped[Tensor, "batch time *dim"]
    lengths: Int[Tensor, " batch"]
    initial_state: Callable[[Layer, int], State | None] = lambda layer, rows: None
    atol: float = ATOL

    @staticmethod
    def of(layer: Layer) -> "Trial":
        """A trial of a layer over vectors. Its weights are perturbed, because many start at zero or are all equal."""
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

    def run(self, x: Tensor | None = None, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """One call from the initial state; by default on the batch."""
        x = self.x if x is None else x
        return self.layer(x, lengths, self.initial_state(self.layer, x.shape[0]))  # type: ignore[no-any-return]

    def forward_backward(self, x: Tensor, lengths: Tensor | None = None, seed: int = 0) -> Result:
        layer = deepcopy(self.layer) if self.layer.training else self.layer  # with its own batch statistics
        return forward_backward(layer, x, lengths, self.initial_state(layer, x.shape[0]), seed)


Check = Callable[[Trial], None]


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
    """One call, and the gradients of a weighted sum of the outputs, padding included, and the state."""
    x = x.detach().requires_grad_(x.is_floating_point())
    layer.zero_grad()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # the same dropout, if any
        y, new_state = layer(x, lengths, state)
    total = weighted_sum(y)
    for name in fixed_names(layer):
        total = total + weighted_sum(new_state[name]) if new_state[name].is_floating_point() else total
    if total.requires_grad:
        total.backward()
    weight_grads = {name: gradient(weight) for name, weight in layer.named_parameters()}
    return Result(y.detach(), new_state.detach(), gradient(x), weight_grads)


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
    """The names of the state's tensors that don't grow. The storage of the others may differ between equal states."""
    return [name for name, shape in layer.state_shapes().items() if None not in shape]


def is_close(actual: Tensor, expected: Tensor, atol: float = ATOL) -> bool:
    """Whether two tensors are equal up to rounding; NaN equals nothing."""
    return actual.shape == expected.shape and torch.allclose(actual, expected, rtol=0, atol=atol)


def states_close(actual: State, expected: State, layer: Layer, atol: float = ATOL) -> bool:
    return set(actual) == set(expected) and all(
        is_close(actual[name], expected[name], atol) for name in fixed_names(layer)
    )


# Layers ------------------------------------------------------------------------------------------------------------


def check_declarations(trial: Trial) -> None:
    """y and the state have the shapes and types that the layer declares."""
    layer = trial.layer
    y, state = trial.run(lengths=trial.lengths)
    actual = f"gave y of shape {list(y.shape)} for x {list(trial.x.shape)}"
    require(
        tuple(y.shape) == (*trial.x.shape[:2], layer.output_size),
        f"declares output_size {layer.output_size}, but {actual}",
        "Set output_size to the width of y, and give an output for each step",
    )
    message = f"gave y in {y.dtype} for x in torch.float64"
    require(y.dtype == torch.float64, message, "Make new tensors of the type of x, as x.new_zeros")
    require(y.isfinite().all(), "gave values of y that are not finite", NOT_FINITE)
    shapes = layer.state_shapes()
    message = f"declares the states {sorted(shapes)} in state_shapes, but returned {sorted(state)}"
    require(set(state) == set(shapes), message, "Return a State with those tensors")
    for name, shape in shapes.items():
        sizes = state[name].shape
        declared = ["rows", *("any" if size is None else size for size in shape)]
        message = f"declares state {name!r} of shape {declared}, but returned {list(sizes)}"
        require(matches(sizes, (trial.x.shape[0], *shape)), message, "Correct one of them")


def check_dtype(trial: Trial) -> None:
    """A layer whose weights are in float32 computes in float32."""
    layer = deepcopy(trial.layer).float()
    initial = trial.initial_state(layer, trial.x.shape[0])
    y, state = layer(trial.x.float() if trial.x.is_floating_point() else trial.x, trial.lengths, initial)
    for name, tensor in {"y": y, **{f"state {name!r}": state[name] for name in fixed_names(layer)}}.items():
        message = f"gave {name} in torch.float64 for x in torch.float32"
        require(tensor.dtype != torch.float64, message, "Make new tensors of the type of x")


def check_gradients(trial: Trial) -> None:
    """The gradients of x and of the weights are finite, in training mode too."""
    copy = replace(trial, layer=deepcopy(trial.layer))
    for training in (False, True):
        copy.layer.train(training)
        result = copy.forward_backward(trial.x, trial.lengths)
        for name, value in {"x": result.x_grad, **result.weight_grads}.items():
            advice = "Look for a square root or a norm at zero, or a division by zero"
            require(value.isfinite().all(), f"has a gradient to {name} that is not finite", advice)


def check_deterministic(trial: Trial) -> None:
    """Random numbers are drawn in training mode only."""
    first, second = (trial.forward_backward(trial.x, trial.lengths, seed) for seed in (1, 2))
    require(torch.equal(first.y, second.y) and torch.equal(first.x_grad, second.x_grad), *TWO_RESULTS)


def check_causal(trial: Trial) -> None:
    """A later input changes no output of a causal layer."""
    if not trial.layer.traits.causal:
        return
    steps = trial.x.shape[1]
    cut = steps // 2
    expected, _ = trial.run()
    actual, _ = trial.run(torch.cat([trial.x[:, :cut], trial.x.roll(1, dims=0)[:, cut:]], dim=1))
    if not is_close(actual[:, :cut], expected[:, :cut], trial.atol):
        step = first_difference(actual[:, :cut], expected[:, :cut], trial.atol)
        message = f"is causal, but y at step {step} changed when steps {cut + 1} to {steps} did"
        raise Violation(message, "Let each step see only itself and earlier ones", NOT_CAUSAL)


def check_splits(trial: Trial, cuts: tuple[int, ...] | None = None) -> None:
    """A causal layer gives the same result in one call, step by step, and in chunks.

    cuts: where x is cut; by default into single steps, and then in two
    """
    if not trial.layer.traits.causal:
        return
    expected, final_state = trial.run()
    steps = trial.x.shape[1]
    for splits in (tuple(range(1, steps)), (steps // 2,)) if cuts is None else (cuts,):
        ys, state = [], trial.initial_state(trial.layer, trial.x.shape[0])
        for chunk in trial.x.tensor_split(splits, dim=1):
            y, state = trial.layer(chunk, None, state)
            ys.append(y)
        sizes = " and ".join(str(stop - start) for start, stop in pairwise((0, *splits, steps)))
        calls = "single steps" if len(splits) == steps - 1 else f"calls of {sizes} steps"
        different = ""
        if not is_close(torch.cat(ys, dim=1), expected, trial.atol):
            different = f"y at step {first_difference(torch.cat(ys, dim=1), expected, trial.atol)}"
        elif state is not None and not states_close(state, final_state, trial.layer, trial.atol):
            different = "its state"
        message = f"is causal, but {different} differs between one call and {calls}"
        require(not different, message, "Carry in the state all that later steps need", NOT_CAUSAL)


def check_padding(trial: Trial) -> None:
    """The values of padding change no output, no state and no gradient."""
    padding = trial.padding
    expected = trial.forward_backward(trial.x, trial.lengths)
    for fill in (0, 10_000, float("nan")) if trial.x.is_floating_point() else (0, 10_000):
        filled = trial.x.clone()
        filled[padding] = fill
        changed = difference(trial.forward_backward(filled, trial.lengths), expected, trial.layer, atol=0)
        require(not changed, f"must ignore padding, but {changed} changed when padding was {fill:,}", MASK)
    require(not expected.x_grad[padding].any(), "must ignore padding, but has a gradient there", MASK)


def check_more_padding(trial: Trial) -> None:
    """The amount of padding changes nothing."""
    layer, steps = trial.layer, trial.x.shape[1]
    if (layer.traits.max_length or steps + MORE_STEPS) < steps + MORE_STEPS:
        return
    padded_x = torch.cat([trial.x, trial.x[:, :1].expand(-1, MORE_STEPS, *trial.x.shape[2:])], dim=1)
    padded = trial.forward_backward(padded_x, trial.lengths)
    padded = padded._replace(y=padded.y[:, :steps], x_grad=padded.x_grad[:, :steps])
    changed = difference(padded, trial.forward_backward(trial.x, trial.lengths), layer, 10 * trial.atol)
    require(not changed, f"must ignore padding, but {changed} changed when there was more of it", MASK)


def check_rows_independent(trial: Trial) -> None:
    """A row alone gives the same result as in a batch."""
    if not trial.layer.traits.rows_independent:
        return
    batch = trial.forward_backward(trial.x, trial.lengths)
    for row, length in enumerate(trial.lengths.tolist()):
        initial, index = trial.initial_state(trial.layer, trial.x.shape[0]), torch.tensor([row])
        alone = forward_backward(trial.layer, trial.x[row : row + 1, :length], None, initial and initial.select(index))
        require(
            is_close(alone.y[0], batch.y[row, :length], trial.atol)
            and is_close(alone.x_grad[0], batch.x_grad[row, :length], trial.atol)
            and states_close(alone.state, batch.state.select(index), trial.layer, trial.atol),
            f"must compute each row by itself, but row {row + 1} gave other values when it was alone",
            "Compute each row from its own steps within `lengths` alone",
            "rows_independent=False",
        )


def check_empty_rows(trial: Trial) -> None:
    """A row of length 0 keeps its state."""
    rows = trial.x.shape[0]
    initial = trial.initial_state(trial.layer, rows)
    initial = initial or trial.layer.initial(rows, torch.zeros((), dtype=torch.float64))
    before = State({name: tensor.clone() for name, tensor in initial.items()}, position=initial.position)
    _, after = trial.layer(trial.x, torch.zeros_like(trial.lengths), initial)
    advice = "Keep the state of rows that have ended: see `lengths`"
    require(states_close(after, before, trial.layer, atol=0), "changed the state of a row of length 0", advice)


LAYER_CHECKS: tuple[Check, ...] = (
    check_declarations, check_dtype, check_gradients, check_deterministic, check_causal, check_splits, check_padding,
    check_more_padding, check_rows_independent, check_empty_rows,
)  # fmt: skip


def difference(actual: Result, expected: Result, layer: Layer, atol: float) -> str:
    """What differs between two results; empty if they are equal."""
    if not is_close(actual.y, expected.y, atol):
        return f"y at step {first_difference(actual.y, expected.y, atol)}"
    if not states_close(actual.state, expected.state, layer, atol):
        return "the state"
    gradients = {"x": (actual.x_grad, expected.x_grad)}
    gradients |= {name: (actual.weight_grads[name], value) for name, value in expected.weight_grads.items()}
    return next((f"the gradient to {name}" for name, pair in gradients.items() if not is_close(*pair, atol)), "")


def first_difference(
    actual: Float[Tensor, "batch time dim"], expected: Float[Tensor, "batch time dim"], atol: float
) -> int:
    """The first step, from 1, at which two outputs differ."""
    close = torch.isclose(actual, expected, rtol=0, atol=atol).all(dim=2).all(dim=0)
    return int(close.int().argmin()) + 1


def check_layer(layer: Layer, *, causal: bool = False) -> None:
    """Check a new layer, which must be causal if `causal` is true."""
    advice = "Return a causal layer where causal is True"
    require(layer.traits.causal or not causal, "is not causal by its traits, and was built with causal=True", advice)
    try:
        trial = Trial.of(layer)
    except RuntimeError:
        layer = layer.float()
        layer(torch.randn(ROWS, 1, layer.input_size))  # an error here is the layer's own
        message = "computes in float32 alone: it failed with weights and input in float64"
        advice = "Keep constants as buffers (self.register_buffer): they have the type and device of the weights"
        raise Violation(message, advice) from None
    for check in LAYER_CHECKS:
        check(trial)


# Other parts -------------------------------------------------------------------------------------------------------


def check_activation(activation: nn.Module) -> None:
    """An activation maps each value by itself: some layers have time as the last dimension."""
    activation = activation.double().eval()
    x = torch.randn(2, 3, 4, dtype=torch.float64).mul_(3).requires_grad_()
    y = activation(x)
    actual = f"shape {list(y.shape)}" if isinstance(y, Tensor) else f"type {type(y).__name__}"
    message = f"gave {actual} for x of shape {list(x.shape)}"
    require(isinstance(y, Tensor) and y.shape == x.shape, message, "Return a tensor with a value for each value of x")
    message = "gave values that are not finite, or of another type than x"
    require(y.dtype == x.dtype and y.isfinite().all(), message, "Return finite values of x's type")
    require(torch.equal(activation(x), y), *TWO_RESULTS)
    moved = x.detach().clone()
    moved[0, 1, 2] += 1
    message = "must map each value by itself, but one value changed the result of others"
    require(activation(moved).ne(y).sum() <= 1, message, "Leave sums and means out")
    if y.requires_grad:
        y.sum().backward()
    advice = "Use torch's functions on x itself, not on x.data or numpy arrays"
    require(y.requires_grad and gradient(x).isfinite().all(), "has no finite gradient to x", advice)


def check_scores(scores: Iterable[Score]) -> None:
    for score in scores:
        check_score(score)


def check_score(score: Score) -> None:
    """A score of each query with each key, which the fused kernels can compute."""
    score = score.double().eval()
    perturb(score)
    q = torch.randn(2, score.heads, 3, score.query_size, dtype=torch.float64).requires_grad_()
    k = torch.randn(2, score.key_heads, 5, score.key_size, dtype=torch.float64).requires_grad_()
    mapped_q, mapped_k = score.query(q), score.key(k)
    message = f"declares mapped_size {score.mapped_size}, but `key` gave vectors of {mapped_k.shape[-1]}"
    advice = "Set self.mapped_size to the width of what `key` gives"
    require(mapped_k.shape[-1] == score.mapped_size, message, advice)
    scores, shape = score.scores(mapped_q, mapped_k), [2, score.heads, 3, 5]
    message = f"gave scores of shape {list(scores.shape)}, not {shape}"
    require(list(scores.shape) == shape, message, "Give one for each query and key: [batch, heads, queries, keys]")
    require(scores.isfinite().all(), "gave scores that are not finite", NOT_FINITE)
    if score.kind == "dot":
        product = score.scale * mapped_q @ mapped_k.repeat_interleave(score.heads // score.key_heads, 1).transpose(2, 3)
        message = "is of kind 'dot', so that kernels compute scale · query(q) · key(k), but `scores` gives another"
        advice = "Leave `scores` out, or set kind on the class to a name of its own"
        require(is_close(product.softmax(dim=3), scores.softmax(dim=3), atol=1e-9), message, advice)
    moved = k.detach().clone()
    moved[:, :, 3] += 1
    moved_scores = score.scores(mapped_q, score.key(moved))
    message = "must score each key by itself, but a key changed the score of another"
    require(is_close(moved_scores[..., :3], scores[..., :3]), message, "Leave sums over keys out")
    scores.sum().backward()
    is_finite = all(gradient(tensor).isfinite().all() for tensor in (q, k, *score.parameters()))
    require(is_finite, "has a gradient that is not finite", "Look for a square root or a norm at zero")


def check_head(head: ClassHead, size: int, classes: int) -> None:
    """A loss without padding, a class for each step, and probabilities that sum to one."""
    expected = f"was built for vectors of {size} and {classes} classes"
    message = f"{expected}, and has {head.input_size} and {head.classes}"
    advice = "Pass an output layer nn.Linear(size, classes) to super().__init__"
    require((head.input_size, head.classes) == (size, classes), message, advice)
    head = head.double().eval()
    perturb(head)
    y = torch.randn(ROWS, STEPS, size, dtype=torch.float64).requires_grad_()
    target, lengths = torch.randint(classes, (ROWS, STEPS)), torch.tensor(LENGTHS)
    padding = torch.arange(STEPS) >= lengths.unsqueeze(1)
    loss, steps = head.loss(y, target, lengths), sum(LENGTHS)
    message = f"gave the loss {loss!r:.60} for {steps} valid steps"
    advice = "Return Loss(total, count): the sum over valid steps, and `count_steps(scores, lengths)`"
    require(isinstance(loss, Loss) and not loss.total.dim() and int(loss.count) == steps, message, advice)
    rows = [(row, length) for row, length in enumerate(LENGTHS) if length]
    row_losses = [head.loss(y[[row], :length], target[[row], :length]).total for row, length in rows]
    message = "must ignore padding and other rows, but its loss was not the sum of the rows' own"
    advice = "Sum over the steps of each row within `lengths` alone"
    require(is_close(torch.stack(row_losses).sum(), loss.total, atol=1e-9), message, advice)
    advice = "Look for a logarithm of zero; log_softmax is exact"
    require(loss.total.isfinite(), "gave a loss that is not finite", advice)
    if loss.total.requires_grad:
        loss.total.backward()
    gradients = [gradient(tensor) for tensor in (y, *head.parameters())]
    are_finite = all(value.isfinite().all() for value in gradients)
    message, advice = "has a loss without a finite gradient to y", "Compute it from the scores, by functions of torch"
    require(are_finite and gradients[0].any(), message, advice)
    predicted = head.predict(y, lengths)
    fits = predicted.shape == target.shape and bool((predicted[padding] == PADDING).all())
    fits = fits and bool(((predicted[~padding] >= 0) & (predicted[~padding] < classes)).all())
    advice = "Return pad_predictions(classes, lengths)"
    require(fits, "predicted no class for each valid step, and -1 beyond", advice)
    p = head.probabilities(y, lengths)
    sums_to_one = p.shape == (ROWS, STEPS, classes) and is_close(p.sum(dim=2), (~padding).to(p), atol=1e-6)
    advice = "Return what sums to one over the classes of each step"
    require(sums_to_one and not (p < 0).any(), "gave probabilities that do not sum to one", advice)
