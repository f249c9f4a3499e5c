"""Cells: each is the equation of one step of a recurrence."""

from seqloom.core.registry import Registry
from seqloom.nn.cells.cell import Cell
from seqloom.nn.cells.gru import GRU, GRUAfter, flip_update
from seqloom.nn.cells.lstm import LSTM, LSTMCoupled, LSTMLayerNorm, LSTMNoTanh, LSTMPeephole
from seqloom.nn.cells.rnn import RNN, LinearRNN, ReluRNN, SigmoidRNN

CELLS: Registry[type[Cell]] = Registry(
    "cell",
    {
        "rnn": RNN, "rnn-relu": ReluRNN, "rnn-sigmoid": SigmoidRNN, "rnn-linear": LinearRNN,
        "lstm": LSTM, "lstm-no-tanh": LSTMNoTanh, "lstm-peephole": LSTMPeephole, "lstm-coupled": LSTMCoupled,
        "lstm-layer-norm": LSTMLayerNorm,
        "gru": GRU, "gru-after": GRUAfter,
    },
)  # fmt: skip

__all__ = [
    "CELLS", "GRU", "LSTM", "RNN", "Cell", "GRUAfter", "LSTMCoupled", "LSTMLayerNorm", "LSTMNoTanh", "LSTMPeephole",
    "LinearRNN", "ReluRNN", "SigmoidRNN", "flip_update",
]  # fmt: skip
