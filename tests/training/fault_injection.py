"""Runs with a fault: the n-th write fails, the disk is full, or SIGKILL ends the process there or at any moment.

A write is any call by which seqloom changes the disk: opening a file to write, write, truncate, fsync, rename, unlink,
mkdir, rmdir. fsync itself is not called: a killed process loses nothing that it has written, only a power cut would.
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
import torch._dynamo  # imported by the first optimizer in two seconds: here once, in the fork server

from seqloom.api import resume, start
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment

ERRORS = {"error": errno.EIO, "full": errno.ENOSPC}
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.training.fault_injection"])


class FaultInjector:
    """Counts the writes below a folder, and makes one of them fail. kind: "error", "full" or "kill"."""

    def __init__(self, kind: str, index: int, below: Path) -> None:
        self.kind, self.index, self.below, self.count = kind, index, str(below.absolute()), 0

    def before_write(self, path: object) -> None:
        if not isinstance(path, int) and not str(Path(str(path)).absolute()).startswith(self.below):
            return
        self.count += 1
        if self.count - 1 != self.index:
            return
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(ERRORS[self.kind], os.strerror(ERRORS[self.kind]))

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(path: Any, *args: Any, **kwargs: Any) -> Any:
            self.before_write(path)
            return function(path, *args, **kwargs)

        return wrapped

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in ("write", "ftruncate", "rename", "replace", "unlink", "mkdir", "rmdir"):
            patch.setattr(os, name, self.wrap(getattr(os, name)))
        patch.setattr(os, "fsync", self.before_write)
        os_open, io_open = os.open, io.open

        def open_fd(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR):
                self.before_write(path)
            return os_open(path, flags, *args, **kwargs)

        def open_file(path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if any(letter in mode for letter in "wax+"):
                self.before_write(path)
            return io_open(path, mode, *args, **kwargs)

        patch.setattr(os, "open", open_fd)
        patch.setattr(io, "open", open_file)
        patch.setattr(builtins, "open", open_file)


def start_or_resume(config: Experiment, folder: Path) -> None:
    """What a user does after a crash: the same command again, or `resume` if there is a run.

    The data cache is beside the run, so that faults hit its writes too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder.parent / "cache"))
        if (folder / "manifest.json").exists():
            resume(folder)
        else:
            start(config, folder)


def run_with_fault(kind: str, index: int, config: Experiment, folder: Path) -> tuple[int, str | None]:
    """How many writes were made, and the error that ended the run, in this process."""
    injector = FaultInjector(kind, index, folder.parent)
    with pytest.MonkeyPatch.context() as patch:
        injector.install(patch)
        try:
            start_or_resume(config, folder)
        except Exception as error:
            return injector.count, f"{type(error).__name__}: {error}"
    return injector.count, None


def run_in_process(kill_at: int, config: Experiment, folder: Path, timeout: float | None = None) -> int:
    """The exit code of a run in a process of its own, which SIGKILL ends at a write or after a timeout."""
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(target=child, args=(kill_at, config.model_dump(), str(folder), sender))
    process.start()
    sender.close()
    process.join(timeout)
    if process.is_alive():
        process.kill()
        process.join()
    code = process.exitcode
    if code == 1:
        raise AssertionError(receiver.recv())
    receiver.close()
    assert code is not None
    return code


def child(kill_at: int, raw: dict[str, Any], folder: str, sender: Connection) -> None:
    torch.set_num_threads(1)
    config = experiment(raw)
    try:
        FaultInjector("kill", kill_at, Path(folder).parent).install(pytest.MonkeyPatch())
        start_or_resume(config, Path(folder))
    except Exception:
        sender.send(traceback.format_exc())
        raise SystemExit(1) from None
