"""Training in a new process that SIGKILL ends after a checkpoint."""

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import seqloom
from seqloom.training.events import Event, Saved
from tests.training.fault_injection import processes


def train_until_killed(register: Callable[[], None], *args: Any, kill_at: int, **options: Any) -> None:
    """`seqloom.train` with the parts of `register`, killed at the first checkpoint at or after step `kill_at`."""
    process = processes.Process(target=train, args=(register, kill_at, args, options))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def train(register: Callable[[], None], kill_at: int, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    torch.set_num_threads(1)
    register()
    seqloom.train(*args, **options, listeners=[partial(kill, kill_at)])


def kill(step: int, event: Event) -> None:
    if isinstance(event, Saved) and event.step >= step:
        os.kill(os.getpid(), signal.SIGKILL)
