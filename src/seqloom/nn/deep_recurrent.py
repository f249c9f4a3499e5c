"""Stacks of recurrent layers: depth, both directions, connections between layers, dropout."""

from collections.abc import Callable, Sequence

from seqloom.core.registry import Registry
from seqloom.nn.cells import CELLS, Cell
from seqloom.nn.dropout import DROPOUTS
from seqloom.nn.layer import Layer
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.residual import Residual
from seqloom.nn.stack import DenseStack, Stack
from seqloom.nn.validation import check_count, check_probability

Level = tuple[Layer, Layer | None]  # a layer f and the dropout D of its output, if any
Connection = Callable[[Sequence[Level]], dict[str, Layer]]


def plain(levels: Sequence[Level]) -> dict[str, Layer]:
    """y_k = D(f_k(y_{k−1}))"""
    layers: dict[str, Layer] = {}
    for k, (layer, dropout) in enumerate(levels):
        layers[str(k)] = layer
        if dropout is not None:
            layers[f"dropout_{k}"] = dropout
    return layers


def residual(levels: Sequence[Level]) -> dict[str, Layer]:
    """y_k = y_{k−1} + D(f_k(y_{k−1})); y_k = D(f_k(y_{k−1})) where f_k changes the width"""
    layers: dict[str, Layer] = {}
    for k, (layer, dropout) in enumerate(levels):
        same_width = layer.input_size == layer.output_size
        layers[str(k)] = Residual(layer, dropout=dropout or 0.0) if same_width else with_dropout(layer, dropout)
    return layers


def dense(levels: Sequence[Level]) -> dict[str, Layer]:
    """y_k = [y_{k−1}; D(f_k(y_{k−1}))]"""
    return {"dense": DenseStack([with_dropout(layer, dropout) for layer, dropout in levels])}


def with_dropout(layer: Layer, dropout: Layer | None) -> Stack:
    """D(f(x)). The names of weights and states do not depend on dropout."""
    return Stack({"layer": layer} if dropout is None else {"layer": layer, "dropout": dropout})


CONNECTIONS: Registry[Connection] = Registry("connection", {"plain": plain, "residual": residual, "dense": dense})


def recurrent_stack(
    cell: str | type[Cell],
    input_size: int,
    hidden_size: int,
    *,
    depth: int = 1,
    bidirectional: bool = False,
    connection: str = "plain",
    bias: bool = True,
    initial: str = "zero",
    dropout: float = 0.0,
    input_dropout: float = 0.0,
    dropout_kind: str = "plain",
    weight_drop: float = 0.0,
    zoneout: float = 0.0,
) -> Stack:
    """`depth` layers of one cell, each reading the one below; y_0 = x, or D(x) with `input_dropout`.

        plain      y_k = D(f_k(y_{k−1}))
        residual   y_k = y_{k−1} + D(f_k(y_{k−1}))
        dense      y_k = [y_{k−1}; D(f_k(y_{k−1}))]

    cell: by name, or a class of your own
    bidirectional: f_k = [→f_k; ←f_k], each of hidden_size, so the output of f_k is twice as wide
    connection: one of the above. With "residual", a layer whose output has another width than its input (often the
        first) has no residual connection
    dropout: D between layers, not after the last, as in `torch.nn.LSTM`
    dropout_kind: "plain" drops values independently, "variational" the same values at every step
    bias, initial, weight_drop, zoneout: of every cell, see `Recurrent`

    The names of weights and states don't depend on dropout: plain layers carry "0.hidden", "1.hidden", …, residual ones
    "0.layer.hidden", …, dense ones "dense.0.layer.hidden", …

    >>> import torch
    >>> encoder = recurrent_stack("lstm", 3, 4, depth=2, bidirectional=True, dropout=0.1)
    >>> y, state = encoder(torch.randn(2, 6, 3))
    >>> y.shape
    torch.Size([2, 6, 8])
    >>> sorted(recurrent_stack("gru", 3, 4, depth=2).state_shapes())
    ['0.hidden', '1.hidden']
    """
    for argument, count in (("input_size", input_size), ("hidden_size", hidden_size), ("depth", depth)):
        check_count("recurrent_stack", argument, count)
    for argument, p in (("dropout", dropout), ("input_dropout", input_dropout)):
        check_probability("recurrent_stack", argument, p)
    cell_class = CELLS[cell] if isinstance(cell, str) else cell
    dropout_class, connect = DROPOUTS[dropout_kind], CONNECTIONS[connection]

    def direction(width: int) -> Recurrent:
        new_cell = cell_class(width, hidden_size, bias=bias)
        return Recurrent(new_cell, weight_drop=weight_drop, zoneout=zoneout, initial=initial)

    levels: list[Level] = []
    for k in range(depth):
        width = list(connect(levels).values())[-1].output_size if levels else input_size  # of y_{k−1}
        layer = Bidirectional(direction(width), direction(width)) if bidirectional else direction(width)
        is_last = k == depth - 1
        levels.append((layer, dropout_class(layer.output_size, dropout) if dropout and not is_last else None))
    first = {"input_dropout": dropout_class(input_size, input_dropout)} if input_dropout else {}
    return Stack({**first, **connect(levels)})
