"""Runs that break: at the n-th write, by an error, a full disk or SIGKILL; or at any moment.

A write is any call by which seqloom changes the disk: opening a file to write, write, truncate, fsync, rename, unlink,
mkdir, rmdir.
Processes come from a fork server that has torch imported already, so that a kill costs little.
"""

import builtins
import errno
import io
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo  # which the first optimizer imports, in two seconds: once, in the fork server

from seqloom.api import resume, start
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment

FAILURES = {"error": errno.EIO, "full": errno.ENOSPC}
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.training.breaking"])


class Breaker:
    """Counts the writes below a folder, and breaks one of them."""

    def __init__(self, how: str, number: int, below: Path) -> None:
        self.how, self.number, self.below, self.count = how, number, str(below.absolute()), 0

    def write(self, place: object) -> None:
        """Called before each write."""
        if not isinstance(place, int) and not str(Path(str(place)).absolute()).startswith(self.below):
            return
        self.count += 1
        if self.count - 1 != self.number:
            return
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(FAILURES[self.how], os.strerror(FAILURES[self.how]))

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def broken(place: Any, *args: Any, **more: Any) -> Any:
            self.write(place)
            return function(place, *args, **more)

        return broken

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in ("fsync", "write", "ftruncate", "rename", "replace", "unlink", "mkdir", "rmdir"):
            patch.setattr(os, name, self.around(getattr(os, name)))
        opened_by_number = os.open

        def number_broken(file: Any, flags: int, *args: Any, **more: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR):
                self.write(file)
            return opened_by_number(file, flags, *args, **more)

        patch.setattr(os, "open", number_broken)
        opened = io.open

        def open_broken(file: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
            if any(letter in mode for letter in "wax+"):
                self.write(file)
            return opened(file, mode, *args, **more)

        patch.setattr(io, "open", open_broken)
        patch.setattr(builtins, "open", open_broken)


def begin_or_go_on(chosen: Experiment, folder: Path) -> None:
    """What a person does after a crash: the same command again, or resume if there is a run.

    The data are made ready beside the run, where those writes break too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder.parent / "cache"))
        if (folder / "manifest.json").exists():
            resume(folder)
        else:
            start(chosen, folder)


def broken_run(how: str, number: int, chosen: Experiment, folder: Path) -> tuple[int, str | None]:
    """How many writes there were, and what went wrong, in this process."""
    breaker = Breaker(how, number, folder.parent)
    with pytest.MonkeyPatch.context() as patch:
        breaker.install(patch)
        try:
            begin_or_go_on(chosen, folder)
        except Exception as wrong:
            return breaker.count, f"{type(wrong).__name__}: {wrong}"
    return breaker.count, None


def in_process(number: int, chosen: Experiment, folder: Path, wait: float | None = None) -> int:
    """The same in a process of its own, which SIGKILL ends at that write, or after a while; its exit code."""
    told, telling = processes.Pipe(duplex=False)
    process = processes.Process(target=child, args=(number, chosen.model_dump(), str(folder), telling))
    process.start()
    telling.close()
    process.join(wait)
    if process.is_alive():
        process.kill()
        process.join()
    code = process.exitcode
    if code == 1:
        raise AssertionError(told.recv())
    told.close()
    assert code is not None
    return code


def child(number: int, raw: dict[str, Any], folder: str, telling: Connection) -> None:
    torch.set_num_threads(1)
    chosen = experiment(raw)
    breaker = Breaker("kill", number, Path(folder).parent)
    try:
        breaker.install(pytest.MonkeyPatch())
        begin_or_go_on(chosen, Path(folder))
    except Exception:
        telling.send(traceback.format_exc())
        raise SystemExit(1) from None
