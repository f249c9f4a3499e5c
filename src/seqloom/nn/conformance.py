"""What a user-defined part must keep to, asked on a small batch before it trains: the quick half of the conformance
suite (`tests/nn/test_contract.py`), which asks the same functions of every built-in layer.

A question returns the `Violation` that it finds, or None.
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

ROWS, STEPS, MORE = 4, 6, 3
LENGTHS = (4, 6, 0, 1)
NEAR = 1e-11  # in float64
NEAR_FLOAT32 = 1e-4


class Violation(NamedTuple):
    """What a part does that it must not do, after its name, and what to do about it.

    declare: the trait by which a layer says that it does so; the layers around a cell have traits of their own
    """

    message: str
    advice: str
    declare: str = ""


NOT_CAUSAL = "causal=False"
MASK = "Mask what lies beyond `lengths`, or set needs_zeros = True on the class for zeros there"
TWO_RESULTS = Violation(
    "gave two results for one input in eval mode",
    "Draw random numbers only where self.training holds, and keep nothing on self between calls",
)


class Result(NamedTuple):
    """What one call of a layer gave: outputs, the state after, the gradients of a weighted sum of both."""

    y: Tensor
    state: State
    to_x: Tensor
    to_weights: dict[str, Tensor]


@dataclass(frozen=True)
class Trial:
    """A layer in eval mode and float64, and what it is asked with.

    x, lengths: a batch with random values on padding too
    initial_state: the state to begin with for so many rows, of a layer that looks at a memory; the same each time
    atol: how far two results may be apart that should be equal
    """

    layer: Layer
    x: Shaped[Tensor, "batch time *dim"]
    lengths: Int[Tensor, " batch"]
    initial_state: Callable[[Layer, int], State | None] = lambda layer, rows: None
    atol: float = NEAR

    @staticmethod
    def of(layer: Layer) -> "Trial":
        """A layer over vectors, its weights moved off where they start: many start at zero, or all alike."""
        layer = layer.double().eval()
        perturb(layer)
        steps = min(STEPS, layer.traits.max_length or STEPS)
        x = torch.randn(ROWS, steps, layer.input_size, dtype=torch.float64)
        trial = Trial(layer, x, torch.tensor(LENGTHS).clamp(max=steps))
        y, _ = trial.run(lengths=trial.lengths)
        in_float32 = isinstance(y, Tensor) and torch.equal(y, y.float().double())  # inside, whatever x is
        return replace(trial, atol=NEAR_FLOAT32) if in_float32 else trial

    @property
    def padding(self) -> Tensor:
        """Where x is padding."""
        return torch.arange(self.x.shape[1]) >= self.lengths.unsqueeze(1)

    def run(
        self, x: Tensor | None = None, lengths: Tensor | None = None, state: State | None = None
    ) -> tuple[Tensor, State]:
        """One call, from the beginning unless a state is given; x is the batch unless given."""
        x = self.x if x is None else x
        return self.layer(x, lengths, self.initial_state(self.layer, x.shape[0]) if state is None else state)  # type: ignore[no-any-return]

    def forward_backward(self, x: Tensor, lengths: Tensor | None = None, seed: int = 0) -> Result:
        """Forwards and backwards."""
        layer = deepcopy(self.layer) if self.layer.training else self.layer  # with its own batch statistics
        return forward_backward(layer, x, lengths, self.initial_state(layer, x.shape[0]), seed)


Question = Callable[[Trial], Violation | None]


@torch.no_grad()
def perturb(module: nn.Module) -> None:
    """Each weight a little off where it starts."""
    for weight in module.parameters():
        weight.add_(torch.randn_like(weight), alpha=0.3)
    for name, statistic in module.named_buffers():
        if name.rsplit(".")[-1].startswith("running_"):  # batch statistics
            statistic.add_(torch.rand_like(statistic), alpha=0.3)


def forward_backward(
    layer: Layer, x: Tensor, lengths: Tensor | None = None, state: State | None = None, seed: int = 0
) -> Result:
    """Forwards and backwards. The sum weighs every output, padding included, and every value carried."""
    x = x.detach().requires_grad_(x.is_floating_point())
    layer.zero_grad()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # dropout, if any, draws the same
        y, after = layer(x, lengths, state)
    total = weigh(y)
    for name in fixed_names(layer):
        total = total + weigh(after[name]) if after[name].is_floating_point() else total
    if total.requires_grad:
        total.backward()
    to_weights = {name: zeros_if_none(weight) for name, weight in layer.named_parameters()}
    return Result(y.detach(), after.detach(), zeros_if_none(x), to_weights)


def weigh(values: Tensor) -> Tensor:
    """Σ w ⊙ values, with w the same for the same place in a row, however many steps or rows there are."""
    generator = torch.Generator().manual_seed(5)
    dims = torch.randn(values.shape[-1], generator=generator, dtype=torch.float64)
    steps = torch.arange(values.shape[1], dtype=torch.float64).mul(1.7).cos() if values.dim() > 2 else None
    weights = dims if steps is None else steps.reshape(-1, *[1] * (values.dim() - 3), 1) * dims
    return (values * weights.to(values)).sum()


def zeros_if_none(tensor: Tensor) -> Tensor:
    """Its gradient."""
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad.clone()


def fixed_names(layer: Layer) -> list[str]:
    """The tensors of the state that don't grow: their values are what the layer carries, and not how it is stored."""
    return [name for name, shape in layer.state_shapes().items() if None not in shape]


def near(came: Tensor, expected: Tensor, atol: float = NEAR) -> bool:
    """Whether two tensors are equal, up to rounding; NaN is equal to nothing."""
    return came.shape == expected.shape and torch.allclose(came, expected, rtol=0, atol=atol)


def states_near(came: State, expected: State, layer: Layer, atol: float = NEAR) -> bool:
    """The same of what a layer carries."""
    return set(came) == set(expected) and all(near(came[name], expected[name], atol) for name in fixed_names(layer))


# Layers ------------------------------------------------------------------------------------------------------------


def gives_what_it_declares(trial: Trial) -> Violation | None:
    """The shapes and types of y and of the state."""
    layer = trial.layer
    y, state = trial.run(lengths=trial.lengths)
    wanted = (*trial.x.shape[:2], layer.output_size)
    if tuple(y.shape) != wanted:
        what = (
            f"declares output_size {layer.output_size}, but gave y of shape {list(y.shape)} for x {list(trial.x.shape)}"
        )
        return Violation(what, "Set output_size to the width of y, and give an output for each step")
    if y.dtype != torch.float64:
        return Violation(
            f"gave y in {y.dtype} for x in torch.float64", "Make new tensors of the type of x, as x.new_zeros"
        )
    if not y.isfinite().all():
        return Violation(
            "gave values of y that are not finite", "Look for a division by zero, a logarithm or an overflow"
        )
    shapes = layer.state_shapes()
    if set(state) != set(shapes):
        what = f"declares the states {sorted(shapes)} in state_shapes, but returned {sorted(state)}"
        return Violation(what, "Return a State with those tensors")
    for name, shape in shapes.items():
        came = state[name].shape
        fits = came[0] == trial.x.shape[0] and len(came) == 1 + len(shape)
        if not fits or any(want is not None and have != want for have, want in zip(came[1:], shape, strict=True)):
            declared = ["rows", *("any" if size is None else size for size in shape)]
            return Violation(
                f"declares state {name!r} of shape {declared}, but returned {list(came)}", "Correct one of them"
            )
    return None


def keeps_its_type(trial: Trial) -> Violation | None:
    """A layer whose weights are in float32 computes in float32."""
    layer = deepcopy(trial.layer).float()
    begin = trial.initial_state(layer, trial.x.shape[0])
    y, state = layer(trial.x.float() if trial.x.is_floating_point() else trial.x, trial.lengths, begin)
    for name, came in {"y": y, **{f"state {each!r}": state[each] for each in fixed_names(layer)}}.items():
        if came.dtype == torch.float64:
            return Violation(
                f"gave {name} in torch.float64 for x in torch.float32", "Make new tensors of the type of x"
            )
    return None


def draws_nothing_in_eval(trial: Trial) -> Violation | None:
    """Random numbers are for training mode."""
    first, second = (trial.forward_backward(trial.x, trial.lengths, seed) for seed in (1, 2))
    if torch.equal(first.y, second.y) and torch.equal(first.to_x, second.to_x):
        return None
    return TWO_RESULTS


def ignores_padding(trial: Trial) -> Violation | None:
    """What lies beyond a row changes no output, no state and no gradient."""
    layer, padding = trial.layer, trial.padding
    clean = trial.forward_backward(trial.x, trial.lengths)
    for fill in (0, 10_000, float("nan")) if trial.x.is_floating_point() else (0, 10_000):
        filled = trial.x.clone()
        filled[padding] = fill
        if changed := difference(trial.forward_backward(filled, trial.lengths), clean, layer, atol=0):
            return Violation(f"must ignore padding, but {changed} changed when padding was {fill:,}", MASK)
    if bool(clean.to_x[padding].ne(0).any()):
        return Violation("must ignore padding, but has a gradient there", MASK)
    return None


def ignores_more_padding(trial: Trial) -> Violation | None:
    """How much lies beyond the rows changes nothing."""
    layer, steps = trial.layer, trial.x.shape[1]
    if (layer.traits.max_length or steps + MORE) < steps + MORE:
        return None
    longer = torch.cat([trial.x, trial.x[:, :1].expand(-1, MORE, *trial.x.shape[2:])], dim=1)
    long = trial.forward_backward(longer, trial.lengths)
    short = long._replace(y=long.y[:, :steps], to_x=long.to_x[:, :steps])
    if changed := difference(short, trial.forward_backward(trial.x, trial.lengths), layer, 10 * trial.atol):
        return Violation(f"must ignore padding, but {changed} changed when there was more of it", MASK)
    return None


def rows_apart(trial: Trial) -> Violation | None:
    """A row alone gives what it gives among others."""
    if not trial.layer.traits.rows_independent:
        return None
    together = trial.forward_backward(trial.x, trial.lengths)
    for row, length in enumerate(trial.lengths.tolist()):
        begin, mine = trial.initial_state(trial.layer, trial.x.shape[0]), torch.tensor([row])
        alone = forward_backward(trial.layer, trial.x[row : row + 1, :length], None, begin and begin.select(mine))
        same = near(alone.y[0], together.y[row, :length], trial.atol)
        same = same and near(alone.to_x[0], together.to_x[row, :length], trial.atol)
        if not (same and states_near(alone.state, together.state.select(mine), trial.layer, trial.atol)):
            what = f"must compute each row by itself, but row {row + 1} gave other values when it was alone"
            advice = "Let rows not see each other, and steps beyond `lengths` not be seen"
            return Violation(what, advice, "rows_independent=False")
    return None


def cut_anywhere(trial: Trial, cuts: tuple[int, ...] | None = None) -> Violation | None:
    """A causal layer gives the same in one call, step by step, and in pieces.

    cuts: where x is cut; into single steps, and in two, unless given
    """
    if not trial.layer.traits.causal:
        return None
    whole, end = trial.run()
    steps = trial.x.shape[1]
    for each in (tuple(range(1, steps)), (steps // 2,)) if cuts is None else (cuts,):
        ys, state = [], trial.initial_state(trial.layer, trial.x.shape[0])
        for piece in trial.x.tensor_split(each, dim=1):
            y, state = trial.layer(piece, None, state)
            ys.append(y)
        came = "step by step" if len(each) == steps - 1 else f"in calls of {lengths_of(each, steps)} steps"
        advice = "Carry in the state all that later steps need"
        if not near(torch.cat(ys, dim=1), whole, trial.atol):
            step = first_other(torch.cat(ys, dim=1), whole, trial.atol)
            return Violation(f"is causal, but y at step {step} was another {came} than in one call", advice, NOT_CAUSAL)
        if state is not None and not states_near(state, end, trial.layer, trial.atol):
            return Violation(
                f"is causal, but its state after {came} was another than after one call", advice, NOT_CAUSAL
            )
    return None


def lengths_of(cuts: tuple[int, ...], steps: int) -> str:
    """How long the pieces are, for a sentence."""
    return " and ".join(str(stop - start) for start, stop in pairwise((0, *cuts, steps)))


def sees_no_future(trial: Trial) -> Violation | None:
    """A later input changes no output of a causal layer."""
    steps = trial.x.shape[1]
    if not trial.layer.traits.causal:
        return None
    before, _ = trial.run()
    now = steps // 2
    after, _ = trial.run(torch.cat([trial.x[:, :now], trial.x.roll(1, dims=0)[:, now:]], dim=1))
    if near(after[:, :now], before[:, :now], trial.atol):
        return None
    step = first_other(after[:, :now], before[:, :now], trial.atol)
    advice = "Let each step see only itself and earlier ones"
    return Violation(f"is causal, but y at step {step} changed when steps {now + 1} to {steps} did", advice, NOT_CAUSAL)


def keeps_waiting_rows(trial: Trial) -> Violation | None:
    """A row of length 0 keeps its state."""
    rows = trial.x.shape[0]
    begin = trial.initial_state(trial.layer, rows) or trial.layer.initial(rows, torch.zeros((), dtype=torch.float64))
    before = State({name: tensor.clone() for name, tensor in begin.items()}, position=begin.position)
    _, after = trial.layer(trial.x, torch.zeros_like(trial.lengths), begin)
    if states_near(after, before, trial.layer, atol=0):
        return None
    return Violation("changed the state of a row of length 0", "Keep the state of rows that have ended: see `lengths`")


def gradients_are_finite(trial: Trial) -> Violation | None:
    """Those of x and of the weights, in training mode too."""
    twin = replace(trial, layer=deepcopy(trial.layer))
    for mode in (False, True):
        twin.layer.train(mode)
        result = twin.forward_backward(trial.x, trial.lengths)
        for name, gradient in {"x": result.to_x, **result.to_weights}.items():
            if not gradient.isfinite().all():
                advice = "Look for a square root or a norm at zero, or a division by zero"
                return Violation(f"has a gradient to {name} that is not finite", advice)
    return None


LAYER_QUESTIONS: tuple[Question, ...] = (
    gives_what_it_declares,
    keeps_its_type,
    gradients_are_finite,
    draws_nothing_in_eval,
    sees_no_future,
    cut_anywhere,
    ignores_padding,
    ignores_more_padding,
    rows_apart,
    keeps_waiting_rows,
)


def difference(came: Result, expected: Result, layer: Layer, atol: float) -> str:
    """What differs between two results; nothing if they are the same."""
    if not near(came.y, expected.y, atol):
        return f"y at step {first_other(came.y, expected.y, atol)}"
    if not states_near(came.state, expected.state, layer, atol):
        return "the state"
    if not near(came.to_x, expected.to_x, atol):
        return "the gradient to x"
    weights = (name for name, value in expected.to_weights.items() if not near(came.to_weights[name], value, atol))
    return next((f"the gradient to {name}" for name in weights), "")


def first_other(came: Float[Tensor, "batch time dim"], expected: Float[Tensor, "batch time dim"], atol: float) -> int:
    """The first step, from 1, at which two outputs differ."""
    close = torch.isclose(came, expected, rtol=0, atol=atol).all(dim=2).all(dim=0)
    return int(close.int().argmin()) + 1


def layer_violations(layer: Layer, *, causal: bool = False) -> Iterator[Violation]:
    """Of a fresh layer; `causal` if it must be."""
    if causal and not layer.traits.causal:
        yield Violation(
            "is not causal by its traits, and was built to be", "Return a causal layer where causal is True"
        )
    try:
        trial = Trial.of(layer)
    except RuntimeError:
        layer = layer.float()
        layer(torch.randn(ROWS, 1, layer.input_size))  # an error of this is its own
        advice = "Keep constants as buffers (self.register_buffer): they have the type and device of the weights"
        yield Violation("computes in float32 alone: it failed with weights and input in float64", advice)
        return
    yield from (breach for question in LAYER_QUESTIONS if (breach := question(trial)) is not None)


# Other parts -------------------------------------------------------------------------------------------------------


def activation_violations(activation: nn.Module) -> Iterator[Violation]:
    """An activation maps each value by itself: some layers have time as the last dimension."""
    activation = activation.double().eval()
    x = torch.randn(2, 3, 4, dtype=torch.float64).mul_(3).requires_grad_()
    y = activation(x)
    if not isinstance(y, Tensor) or y.shape != x.shape:
        came = f"shape {list(y.shape)}" if isinstance(y, Tensor) else f"type {type(y).__name__}"
        yield Violation(
            f"gave {came} for x of shape {list(x.shape)}", "Return a tensor with a value for each value of x"
        )
        return
    if y.dtype != x.dtype or not y.isfinite().all():
        yield Violation(
            "gave values that are not finite, or of another type than x", "Return finite values of x's type"
        )
        return
    if not torch.equal(activation(x), y):
        yield TWO_RESULTS
    moved = x.detach().clone()
    moved[0, 1, 2] += 1
    if activation(moved).ne(y).sum() > 1:
        yield Violation(
            "must map each value by itself, but one value changed the result of others", "Leave sums and means out"
        )
    if y.requires_grad:
        y.sum().backward()
    if not y.requires_grad or not zeros_if_none(x).isfinite().all():
        yield Violation(
            "has no finite gradient to x", "Use torch's functions on x itself, not on x.data or numpy arrays"
        )


def score_violations(score: Score) -> Iterator[Violation]:
    """A score of each query with each key, which the fused kernels must be able to compute."""
    score = score.double().eval()
    perturb(score)
    q = torch.randn(2, score.heads, 3, score.query_size, dtype=torch.float64).requires_grad_()
    k = torch.randn(2, score.key_heads, 5, score.key_size, dtype=torch.float64).requires_grad_()
    mapped_q, mapped_k = score.query(q), score.key(k)
    if mapped_k.shape[-1] != score.mapped_size:
        what = f"declares mapped_size {score.mapped_size}, but `key` gave vectors of {mapped_k.shape[-1]}"
        yield Violation(what, "Set self.mapped_size to the width of what `key` gives")
        return
    scores = score.scores(mapped_q, mapped_k)
    if scores.shape != (2, score.heads, 3, 5):
        what = f"gave scores of shape {list(scores.shape)}, not {[2, score.heads, 3, 5]}"
        yield Violation(what, "Give one for each query and key: [batch, heads, queries, keys]")
        return
    if not scores.isfinite().all():
        yield Violation("gave scores that are not finite", "Look for a division by zero, a logarithm or an overflow")
        return
    if score.kind == "dot":
        plain = score.scale * mapped_q @ mapped_k.repeat_interleave(score.heads // score.key_heads, 1).transpose(2, 3)
        if not near(plain.softmax(dim=3), scores.softmax(dim=3), atol=1e-9):
            what = "is of kind 'dot', so that kernels compute scale · query(q) · key(k), but `scores` gives another"
            yield Violation(what, "Leave `scores` out, or set kind on the class to a name of its own")
            return
    other = k.detach().clone()
    other[:, :, 3] += 1
    again = score.scores(mapped_q, score.key(other))
    if not near(again[..., :3], scores[..., :3]):
        yield Violation(
            "must score each key by itself, but a key changed the score of another", "Leave sums over keys out"
        )
    scores.sum().backward()
    if not all(zeros_if_none(each).isfinite().all() for each in (q, k, *score.parameters())):
        yield Violation("has a gradient that is not finite", "Look for a square root or a norm at zero")


def head_violations(head: ClassHead, size: int, classes: int) -> Iterator[Violation]:
    """A loss over real steps, a class for each, and probabilities that sum to one."""
    if (head.input_size, head.classes) != (size, classes):
        what = f"was built for vectors of {size} and {classes} classes, and has {head.input_size} and {head.classes}"
        yield Violation(what, "Pass an output layer nn.Linear(size, classes) to super().__init__")
        return
    head = head.double().eval()
    perturb(head)
    y = torch.randn(ROWS, STEPS, size, dtype=torch.float64).requires_grad_()
    target, lengths = torch.randint(classes, (ROWS, STEPS)), torch.tensor(LENGTHS)
    padding = torch.arange(STEPS) >= lengths.unsqueeze(1)
    loss = head.loss(y, target, lengths)
    if not isinstance(loss, Loss) or loss.total.dim() or int(loss.count) != int(lengths.sum()):
        what = f"gave the loss {loss!r:.60} for {int(lengths.sum())} real steps"
        yield Violation(what, "Return Loss(total, count): the sum over real steps, and `real_steps(scores, lengths)`")
        return
    rows = [(row, length) for row, length in enumerate(LENGTHS) if length]
    alone = [head.loss(y[[row], :length], target[[row], :length]).total for row, length in rows]
    if not near(torch.stack(alone).sum(), loss.total, atol=1e-9):
        what = "must ignore padding and other rows, but its loss was not the sum of the rows' own"
        yield Violation(what, "Sum over the steps of each row within `lengths` alone")
    if not loss.total.isfinite():
        yield Violation("gave a loss that is not finite", "Look for a logarithm of zero; log_softmax is exact")
        return
    if loss.total.requires_grad:
        loss.total.backward()
    gradients = [zeros_if_none(each) for each in (y, *head.parameters())]
    if not all(each.isfinite().all() for each in gradients) or not gradients[0].any():
        yield Violation(
            "has a loss without a finite gradient to y", "Compute it from the scores, by functions of torch"
        )
    said = head.predict(y, lengths)
    right = said.shape == target.shape and bool((said[padding] == PADDING).all())
    if not (right and bool(((said[~padding] >= 0) & (said[~padding] < classes)).all())):
        yield Violation("predicted no class for each real step, and -1 beyond", "Return pad_beyond(classes, lengths)")
    p = head.probabilities(y, lengths)
    if p.shape != (ROWS, STEPS, classes) or not near(p.sum(dim=2), (~padding).to(p), atol=1e-6) or bool((p < 0).any()):
        yield Violation(
            "gave probabilities that do not sum to one", "Return what sums to one over the classes of each step"
        )
