"""Conversion of `nn.RNN`, `nn.LSTM` and `nn.GRU` to and from recurrent layers.

torch has two biases: b_ih for the input and b_hh for the state. Only their sum matters, except in a GRU's candidate,
where the reset gate multiplies W_hh h + b_hh:

    RNN, LSTM    b = b_ih + b_hh
    GRU          b_r = b_ir + b_hr;   b_z = b_iz + b_hz;   b_h = b_in;   b_hh = b_hn

`to_torch` sets b_ih = b and b_hh = 0, except for a GRU's b_hn. A round trip through torch keeps every weight exactly;
one through seqloom keeps only the sum of the biases.
"""

from collections.abc import Callable, Mapping, Sequence, Sized
from functools import partial
from itertools import chain, product

import torch
from torch import Tensor, nn

from seqloom.core.problem import NoEquivalent
from seqloom.nn.cells import LSTM, RNN, Cell, GRUAfter, ReluRNN
from seqloom.nn.conversion.refusals import no_equivalent
from seqloom.nn.conversion.weights import build_with_weights, load_copies
from seqloom.nn.deep_recurrent import recurrent_stack
from seqloom.nn.dropout import DropoutBase, VariationalDropout
from seqloom.nn.initialization import without_values
from seqloom.nn.layer import Layer
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.stack import Stack

TorchRecurrent = nn.RNN | nn.LSTM | nn.GRU
Directions = list[Recurrent]  # one layer, or two: forwards and backwards

MODULE_NAMES = "nn.RNN, nn.LSTM and nn.GRU"

# The name of a cell by torch's `mode`.
CELLS: Mapping[str, str] = {"RNN_TANH": "rnn", "RNN_RELU": "rnn-relu", "LSTM": "lstm", "GRU": "gru-after"}

MODULES: Mapping[type[Cell], Callable[..., TorchRecurrent]] = {
    RNN: nn.RNN,
    ReluRNN: partial(nn.RNN, nonlinearity="relu"),
    LSTM: nn.LSTM,
    GRUAfter: nn.GRU,
}


def recurrent_from_torch(module: TorchRecurrent) -> Stack:
    """`num_layers` recurrent layers as `recurrent_stack` builds them, with dropout between them."""
    if module.proj_size:
        reason = "a cell's output is its hidden state; put a linear layer after each, such as DenseOverFeatures"
        raise NoEquivalent(f"{type(module).__name__} with proj_size={module.proj_size}", "seqloom", reason)
    with without_values():
        stack = recurrent_stack(
            CELLS[module.mode],
            module.input_size,
            module.hidden_size,
            depth=module.num_layers,
            bidirectional=module.bidirectional,
            bias=module.bias,
            dropout=module.dropout,
        )
    levels, _ = levels_and_dropout(stack)
    for layer, suffix in zip(chain(*levels), suffixes(levels), strict=True):
        load_copies(layer.cell, cell_weights_from_torch(module, suffix))
    return stack.train(module.training)


def cell_weights_from_torch(module: TorchRecurrent, suffix: str) -> dict[str, Tensor]:
    """The weights of one level and direction under seqloom's names."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if module.bias else ("weight_ih", "weight_hh")
    tensors: dict[str, Tensor] = {name: getattr(module, f"{name}_{suffix}") for name in names}
    weights = {"input_weight": tensors["weight_ih"], "recurrent_weight": tensors["weight_hh"]}
    if not module.bias:
        return weights
    total = tensors["bias_ih"] + tensors["bias_hh"]
    if module.mode != "GRU":
        return {**weights, "bias": total}
    gates = 2 * module.hidden_size  # rows: reset, update; then the candidate
    bias = torch.cat([total[:gates], tensors["bias_ih"][gates:]])
    return {**weights, "bias": bias, "candidate_bias": tensors["bias_hh"][gates:]}


def recurrent_to_torch(layer: Recurrent | Bidirectional | Stack) -> TorchRecurrent:
    """One module for all levels, which must be equal except for their weights and input sizes."""
    levels, dropout = levels_and_dropout(layer)
    cell = check_alike(layer, levels)
    weights = {
        f"{name}_{suffix}": weight
        for direction, suffix in zip(chain(*levels), suffixes(levels), strict=True)
        for name, weight in cell_weights_to_torch(direction.cell).items()
    }
    depth, bias, both = len(levels), cell.bias is not None, len(levels[0]) == 2
    build = partial(MODULES[type(cell)], cell.input_size, cell.hidden_size, depth, bias=bias, batch_first=True)
    module = build_with_weights(lambda: build(dropout=dropout, bidirectional=both), weights)
    module.flatten_parameters()  # one block of memory, for cuDNN
    return module.train(layer.training)


def cell_weights_to_torch(cell: Cell) -> dict[str, Tensor | None]:
    """The weights of one level and direction under torch's names."""
    input_weight, recurrent_weight, bias, recurrent_bias = cell.operands()
    if bias is not None and recurrent_bias is None:
        recurrent_bias = torch.zeros_like(bias)
    return {"weight_ih": input_weight, "weight_hh": recurrent_weight, "bias_ih": bias, "bias_hh": recurrent_bias}


def suffixes(levels: Sequence[Directions]) -> list[str]:
    """torch's name suffixes of each level and direction: l0, l0_reverse, l1, ..."""
    return [f"l{k}{side}" for k, side in product(range(len(levels)), ("", "_reverse")[: len(levels[0])])]


def levels_and_dropout(layer: Layer) -> tuple[list[Directions], float]:
    """The recurrent layers of each level, and the dropout between levels, which must be the same everywhere."""
    levels: list[Directions] = []
    dropouts = [0.0]  # before the first level, after the first, after the second, ...
    for sublayer in layer.sublayers().values() if isinstance(layer, Stack) else [layer]:
        if type(sublayer) is Recurrent:
            levels.append([sublayer])
            dropouts.append(0.0)
        elif type(sublayer) is Bidirectional:
            backwards = sublayer.layers["backwards"].layers
            levels.append([sublayer.layers["forwards"], backwards["reversed"]])  # type: ignore[list-item, index]
            dropouts.append(0.0)
        elif not isinstance(sublayer, DropoutBase):
            raise no_equivalent(layer, f"{MODULE_NAMES} have no {type(sublayer).__name__}")
        elif isinstance(sublayer, VariationalDropout) and sublayer.p:
            raise no_equivalent(sublayer, f"{MODULE_NAMES} drop other values at every step; use Dropout")
        else:
            dropouts[-1] = 1 - (1 - dropouts[-1]) * (1 - sublayer.p) if dropouts[-1] else sublayer.p
    if not levels:
        raise no_equivalent(layer)
    before, *between, after = dropouts
    if before or after or len(set(between)) > 1:
        raise no_equivalent(layer, f"{MODULE_NAMES} have one dropout between all their layers, and none at either end")
    return levels, between[0] if between else 0.0


def check_alike(layer: Layer, levels: Sequence[Directions]) -> Cell:
    """The first cell, after checking that all are of one kind and size, without options that torch lacks."""
    cells = [direction.cell for direction in chain(*levels)]
    if type(cells[0]) not in MODULES:
        raise no_equivalent(cells[0], "torch.nn has no cell of this equation")
    properties: dict[str, Sized] = {
        "kinds of cell": {type(cell) for cell in cells},
        "hidden sizes": {cell.hidden_size for cell in cells},
        "numbers of directions": {len(level) for level in levels},
        "biases (some none)": {cell.bias is None for cell in cells},
    }
    for name, values in properties.items():
        if len(values) > 1:
            raise no_equivalent(layer, f"its layers have different {name}, and those of {MODULE_NAMES} are alike")
    for direction in chain(*levels):
        drop, zoneout, initial = direction.weight_drop, direction.zoneout, direction.initial_kind
        if drop:
            raise no_equivalent(direction, f"it drops recurrent weights (weight_drop={drop}), and torch.nn can't")
        if zoneout:
            raise no_equivalent(
                direction, f"its state may keep its past (zoneout={zoneout}), and torch.nn can't do that"
            )
        if initial != "zero":
            raise no_equivalent(direction, f"its initial state is {initial!r}; that of {MODULE_NAMES} is zero")
    return cells[0]
