"""Recurrent layers on recurrent layers: depth, both directions, ways around, dropout; all of it composition."""

from collections.abc import Callable, Sequence

from seqloom.core.registry import Registry
from seqloom.nn.cells import CELLS, Cell
from seqloom.nn.dropout import DROPOUTS, check_probability
from seqloom.nn.layer import Layer
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.residual import Residual
from seqloom.nn.stack import DenseStack, Stack
from seqloom.nn.validation import check_count

Level = tuple[Layer, Layer | None]  # a layer f and the dropout D of what it gives, if any
Join = Callable[[Sequence[Level]], dict[str, Layer]]


def plain(levels: Sequence[Level]) -> dict[str, Layer]:
    """y_k = D(f_k(y_{k−1}))"""
    parts: dict[str, Layer] = {}
    for k, (layer, dropout) in enumerate(levels):
        parts[str(k)] = layer
        if dropout is not None:
            parts[f"dropout_{k}"] = dropout
    return parts


def residual(levels: Sequence[Level]) -> dict[str, Layer]:
    """y_k = y_{k−1} + D(f_k(y_{k−1})); without "y_{k−1} +" where f_k changes the width, since nothing could be added"""
    parts: dict[str, Layer] = {}
    for k, (layer, dropout) in enumerate(levels):
        same = layer.input_size == layer.output_size
        beside = 0.0 if dropout is None else dropout
        parts[str(k)] = Residual(layer, dropout=beside) if same else followed(layer, dropout)
    return parts


def dense(levels: Sequence[Level]) -> dict[str, Layer]:
    """y_k = [y_{k−1}; D(f_k(y_{k−1}))]"""
    return {"dense": DenseStack([followed(layer, dropout) for layer, dropout in levels])}


def followed(layer: Layer, dropout: Layer | None) -> Stack:
    """D(f(x)). The name of f's weights and states is the same with dropout and without."""
    return Stack({"layer": layer} if dropout is None else {"layer": layer, "dropout": dropout})


CONNECTIONS: Registry[Join] = Registry("connection", {"plain": plain, "residual": residual, "dense": dense})


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
    bidirectional: f_k = [→f_k; ←f_k], each of hidden_size, so f_k gives twice as much
    connection: one of the above; there is no way around a layer that changes the width, so with "residual" the first
        layer has none unless input_size is what a layer gives
    dropout: D between layers, so none after the last, as in `torch.nn.LSTM`
    dropout_kind: of D; "plain", each value by itself, or "variational", the same values at every step
    bias, initial, weight_drop, zoneout: of every cell, see `Recurrent`

    Names of weights and states don't depend on dropout: plain layers carry "0.hidden", "1.hidden", …, residual ones
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
    kind = CELLS[cell] if isinstance(cell, str) else cell
    drop, join = DROPOUTS[dropout_kind], CONNECTIONS[connection]

    def direction(width: int) -> Recurrent:
        one = kind(width, hidden_size, bias=bias)
        return Recurrent(one, weight_drop=weight_drop, zoneout=zoneout, initial=initial)

    levels: list[Level] = []
    for k in range(depth):
        width = list(join(levels).values())[-1].output_size if levels else input_size
        layer = Bidirectional(direction(width), direction(width)) if bidirectional else direction(width)
        between = dropout and k < depth - 1
        levels.append((layer, drop(layer.output_size, dropout) if between else None))
    first = {"input_dropout": drop(input_size, input_dropout)} if input_dropout else {}
    return Stack({**first, **join(levels)})
