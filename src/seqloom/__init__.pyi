# ruff: isort: skip_file
# fmt: off
from . import (
    core as core, data as data, decoding as decoding, kernels as kernels, lens as lens, nn as nn, register as register,
    runs as runs, tasks as tasks, training as training, views as views,
)
from seqloom.api import check as check, load as load, resume as resume, train as train
from seqloom.nn.record import record as record

__version__: str
