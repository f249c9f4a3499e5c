"""Stacked recurrent layers: depth, both directions, residual and dense connections, dropout."""

from functools import partial

from seqloom.nn.deep_recurrent import recurrent_stack
from tests.nn.catalogue.case import Case
from tests.nn.references.deep import deep

lstms, grus = partial(recurrent_stack, "lstm"), partial(recurrent_stack, "gru-after")

layers = {
    "recurrent stack": lambda: lstms(3, 4, depth=2, bias=False, initial="learned"),
    "residual stack": lambda: grus(3, 4, depth=3, connection="residual"),
    "residual stack, both directions": lambda: lstms(4, 2, depth=2, connection="residual", bidirectional=True),
    "dense stack": lambda: lstms(3, 2, depth=3, connection="dense"),
    "dense stack, both directions": lambda: grus(2, 2, depth=2, connection="dense", bidirectional=True),
}

dropouts = {"dropout": 0.3, "input_dropout": 0.2}

noisy = {
    "recurrent stack, dropout": lambda: lstms(3, 4, depth=2, weight_drop=0.3, bidirectional=True, **dropouts),
    "residual stack, variational dropout": lambda: lstms(
        3, 4, depth=3, connection="residual", dropout_kind="variational", **dropouts
    ),
    "dense stack, dropout": lambda: grus(3, 2, depth=2, connection="dense", **dropouts),
}

cases = [Case(name, make, deep) for name, make in layers.items()]
cases += [Case(name, make, deep, noisy=True) for name, make in noisy.items()]
