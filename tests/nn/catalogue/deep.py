"""Recurrent layers on recurrent layers: depth, both directions, ways around, dropout."""

from seqloom.nn.deep import recurrent_stack
from tests.nn.catalogue.case import Case
from tests.nn.references.deep import deep

three = {"depth": 3}
both = {"depth": 2, "bidirectional": True}

layers = {
    "recurrent stack of one": lambda: recurrent_stack("gru-after", 3, 4),
    "recurrent stack": lambda: recurrent_stack("lstm", 3, 4, **three),
    "recurrent stack, both directions": lambda: recurrent_stack("gru-after", 3, 2, **both),
    "recurrent stack, learned initial states, no bias": lambda: recurrent_stack(
        "rnn", 3, 4, depth=2, initial="learned", bias=False
    ),
    "residual stack": lambda: recurrent_stack("lstm", 4, 4, connection="residual", **three),
    "residual stack, another width": lambda: recurrent_stack("gru", 3, 4, connection="residual", **three),
    "residual stack, both directions": lambda: recurrent_stack("lstm", 4, 2, connection="residual", **both),
    "dense stack": lambda: recurrent_stack("gru-after", 3, 2, connection="dense", **three),
    "dense stack, both directions": lambda: recurrent_stack("lstm", 2, 2, connection="dense", **both),
}

noisy = {
    "recurrent stack, dropout": lambda: recurrent_stack("lstm", 3, 4, dropout=0.3, input_dropout=0.2, **three),
    "recurrent stack, variational dropout": lambda: recurrent_stack(
        "lstm", 3, 4, dropout=0.3, input_dropout=0.2, dropout_kind="variational", **three
    ),
    "recurrent stack, weight drop and zoneout": lambda: recurrent_stack(
        "gru", 3, 4, depth=2, weight_drop=0.3, zoneout=0.2
    ),
    "residual stack, dropout": lambda: recurrent_stack("gru-after", 3, 4, connection="residual", dropout=0.3, **three),
    "residual stack, variational dropout": lambda: recurrent_stack(
        "lstm", 4, 4, connection="residual", dropout=0.3, input_dropout=0.2, dropout_kind="variational", **three
    ),
    "dense stack, dropout": lambda: recurrent_stack(
        "lstm", 3, 2, connection="dense", dropout=0.3, input_dropout=0.2, **both
    ),
}

cases = [Case(name, make, deep) for name, make in layers.items()]
cases += [Case(name, make, deep, noisy=True) for name, make in noisy.items()]
