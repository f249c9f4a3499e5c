"""`nn.RNN`, `nn.LSTM` and `nn.GRU`, and the recurrent layers that compute the same.

torch has two biases, b_ih beside the input and b_hh beside the past. They are only ever added, except in a GRU's
candidate, where the reset gate acts on all that comes from the past. So one will do, but there:

    RNN, LSTM    b = b_ih + b_hh
    GRU          b_r = b_ir + b_hr;   b_z = b_iz + b_hz;   b_h = b_in;   b_hh = b_hn

The other way b_ih = b and b_hh = 0, but for a GRU's b_hn. From here to torch and back, every weight is the same bit
for bit; from torch to here and back too, but for the biases, of which the sum is.
"""

from collections.abc import Callable, Mapping, Sequence, Sized
from functools import partial
from itertools import chain, product

import torch
from torch import Tensor, nn

from seqloom.core.problem import NoEquivalent
from seqloom.nn.cells import LSTM, RNN, Cell, GRUAfter, ReluRNN
from seqloom.nn.conversion.refusals import no_equivalent
from seqloom.nn.conversion.weights import fill, filled
from seqloom.nn.deep_recurrent import recurrent_stack
from seqloom.nn.dropout import DropoutBase, VariationalDropout
from seqloom.nn.layer import Layer
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.stack import Stack

AnyRecurrent = nn.RNN | nn.LSTM | nn.GRU
Level = list[Recurrent]  # one direction, or both

NAMES = "nn.RNN, nn.LSTM and nn.GRU"

# The name of a cell, by what torch calls the mode of a module.
CELLS: Mapping[str, str] = {"RNN_TANH": "rnn", "RNN_RELU": "rnn-relu", "LSTM": "lstm", "GRU": "gru-after"}

MODULES: Mapping[type[Cell], Callable[..., AnyRecurrent]] = {
    RNN: nn.RNN,
    ReluRNN: partial(nn.RNN, nonlinearity="relu"),
    LSTM: nn.LSTM,
    GRUAfter: nn.GRU,
}

DIRECTIONS: Mapping[type[Layer], Callable[..., Level]] = {
    Recurrent: lambda layer: [layer],
    Bidirectional: lambda layer: [layer.layers["forwards"], layer.layers["backwards"].layers["reversed"]],
}

# From torch -------------------------------------------------------------------------------------------------------


def recurrent_from_torch(module: AnyRecurrent) -> Stack:
    """`num_layers` recurrent layers, as `recurrent_stack` builds them; dropout stands between them."""
    if module.proj_size:
        why = "a cell here shows its whole hidden state; put a linear layer after each, such as DenseOverFeatures"
        raise NoEquivalent(f"{type(module).__name__} with proj_size={module.proj_size}", "seqloom", why)
    with torch.device("meta"):
        stack = recurrent_stack(
            CELLS[module.mode],
            module.input_size,
            module.hidden_size,
            depth=module.num_layers,
            bidirectional=module.bidirectional,
            bias=module.bias,
            dropout=module.dropout,
        )
    levels, _ = read(stack)
    for layer, suffix in zip(chain(*levels), suffixes(levels), strict=True):
        fill(layer.cell, inwards(module, suffix))
    return stack.train(module.training)


def inwards(module: AnyRecurrent, suffix: str) -> dict[str, Tensor]:
    """torch's weights of one level and direction, as ours."""

    def their(name: str) -> Tensor:
        found: Tensor = getattr(module, f"{name}_{suffix}")
        return found

    weights = {"input_weight": their("weight_ih"), "recurrent_weight": their("weight_hh")}
    if not module.bias:
        return weights
    total = their("bias_ih") + their("bias_hh")
    if module.mode != "GRU":
        return {**weights, "bias": total}
    gates = 2 * module.hidden_size  # rows: reset, update; then the candidate
    bias = torch.cat([total[:gates], their("bias_ih")[gates:]])
    return {**weights, "bias": bias, "candidate_bias": their("bias_hh")[gates:]}


# To torch ---------------------------------------------------------------------------------------------------------


def recurrent_to_torch(layer: Recurrent | Bidirectional | Stack) -> AnyRecurrent:
    """One module for recurrent layers that are alike but for what they read."""
    levels, dropout = read(layer)
    cell = check_alike(layer, levels)
    weights = {
        f"{name}_{suffix}": weight
        for each, suffix in zip(chain(*levels), suffixes(levels), strict=True)
        for name, weight in outwards(each.cell).items()
    }
    module = filled(
        lambda: MODULES[type(cell)](
            cell.input_size,
            cell.hidden_size,
            num_layers=len(levels),
            bias=cell.bias is not None,
            batch_first=True,
            dropout=dropout,
            bidirectional=len(levels[0]) == 2,
        ),
        weights,
    )
    module.flatten_parameters()  # in one piece of memory, as cuDNN wants them
    return module.train(layer.training)


def outwards(cell: Cell) -> dict[str, Tensor | None]:
    """Our weights of one level and direction, as torch's."""
    input_weight, recurrent_weight, bias, recurrent_bias = cell.operands()
    if bias is not None and recurrent_bias is None:
        recurrent_bias = torch.zeros_like(bias)
    return {"weight_ih": input_weight, "weight_hh": recurrent_weight, "bias_ih": bias, "bias_hh": recurrent_bias}


def suffixes(levels: Sequence[Level]) -> list[str]:
    """How torch names the weights of each level and direction: l0, l0_reverse, l1, ..."""
    return [f"l{k}{side}" for k, side in product(range(len(levels)), ("", "_reverse")[: len(levels[0])])]


def read(layer: Layer) -> tuple[list[Level], float]:
    """The levels of recurrent layers, and the one dropout between any two."""
    levels: list[Level] = []
    dropped = [0.0]  # before the first level, after the first, after the second, ...
    for part in layer.sublayers().values() if isinstance(layer, Stack) else [layer]:
        if type(part) in DIRECTIONS:
            levels.append(DIRECTIONS[type(part)](part))
            dropped.append(0.0)
        elif not isinstance(part, DropoutBase):
            raise no_equivalent(layer, f"{NAMES} hold no {type(part).__name__}")
        elif isinstance(part, VariationalDropout) and part.p:
            raise no_equivalent(part, f"{NAMES} leave out other values at every step; use Dropout")
        else:
            dropped[-1] = 1 - (1 - dropped[-1]) * (1 - part.p) if dropped[-1] else part.p
    if not levels:
        raise no_equivalent(layer)
    before, *between, after = dropped
    if before or after or len(set(between)) > 1:
        raise no_equivalent(layer, f"{NAMES} have one dropout between all their layers, and none at either end")
    return levels, between[0] if between else 0.0


def check_alike(layer: Layer, levels: Sequence[Level]) -> Cell:
    """The first of the cells: all are of one kind and size, with nothing beside the equation."""
    cells = [each.cell for each in chain(*levels)]
    if type(cells[0]) not in MODULES:
        raise no_equivalent(cells[0], "torch.nn has no cell of this equation")
    likeness: dict[str, Sized] = {
        "kinds of cell": {type(cell) for cell in cells},
        "hidden sizes": {cell.hidden_size for cell in cells},
        "numbers of directions": {len(level) for level in levels},
        "biases (some none)": {cell.bias is None for cell in cells},
    }
    for what, found in likeness.items():
        if len(found) > 1:
            raise no_equivalent(layer, f"its layers have different {what}, and those of {NAMES} are alike")
    for each in chain(*levels):
        check_bare(each)
    return cells[0]


def check_bare(layer: Recurrent) -> None:
    """Nothing beside the equation."""
    if layer.weight_drop:
        raise no_equivalent(
            layer, f"it leaves out recurrent weights (weight_drop={layer.weight_drop}), and torch.nn can't"
        )
    if layer.zoneout:
        raise no_equivalent(layer, f"its state may keep its past (zoneout={layer.zoneout}), and torch.nn can't do that")
    if layer.initial_kind != "zero":
        raise no_equivalent(layer, f"its initial state is {layer.initial_kind!r}, that of {NAMES} zero")
