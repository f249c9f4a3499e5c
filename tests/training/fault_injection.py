"""Runs with a fault: the n-th write fails, the disk is full, or SIGKILL ends the process there or at any moment.

A write is any call by which seqloom changes the disk: opening a file to write, write, truncate, fsync, rename, unlink,
mkdir, rmdir. fsync itself is not called: a killed process loses nothing that it has written, only a power cut would.
Processes come from a fork server that has imported what a run needs, so that a kill costs little.
"""

import builtins
import errno
import io
import multiprocessing
import os
import shutil
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.api import resume, start
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import experiment

ERRORS = {"error": errno.EIO, "full": errno.ENOSPC}
processes = multiprocessing.get_context("forkserver")
LAZY = ["torch._dynamo", "seqloom.tasks.language.task", "seqloom.nn.deep_recurrent", "seqloom.lens.report_page"]
processes.set_forkserver_preload(["tests.training.fault_injection", *LAZY])


class WriteMonitor:
    """Calls `before_write` with the index of each write below a folder, before it is made."""

    def __init__(self, below: Path, before_write: Callable[[int], object]) -> None:
        self.below, self.before_write, self.count, self.active = str(below.absolute()), before_write, 0, True

    def note(self, path: object) -> None:
        if not self.active or not (isinstance(path, int) or str(Path(str(path)).absolute()).startswith(self.below)):
            return
        self.active = False  # `before_write` may write
        try:
            self.count += 1
            self.before_write(self.count - 1)
        finally:
            self.active = True

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(path: Any, *args: Any, **kwargs: Any) -> Any:
            self.note(path)
            return function(path, *args, **kwargs)

        return wrapped

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in ("write", "ftruncate", "rename", "replace", "unlink", "mkdir", "rmdir"):
            patch.setattr(os, name, self.wrap(getattr(os, name)))
        patch.setattr(os, "fsync", self.wrap(os.fstat))  # without waiting for the disk
        os_open, io_open = os.open, io.open

        def open_fd(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR):
                self.note(path)
            return os_open(path, flags, *args, **kwargs)

        def open_file(path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if any(letter in mode for letter in "wax+"):
                self.note(path)
            return io_open(path, mode, *args, **kwargs)

        patch.setattr(os, "open", open_fd)
        patch.setattr(io, "open", open_file)
        patch.setattr(builtins, "open", open_file)


def fault(kind: str, at: int) -> Callable[[int], None]:
    """A function that fails at one write. `kind` is "error", "full" or "kill"."""

    def before_write(index: int) -> None:
        if index == at and kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if index == at:
            raise OSError(ERRORS[kind], os.strerror(ERRORS[kind]))

    return before_write


def start_or_resume(config: Experiment, folder: Path) -> None:
    """Act as a user after a crash: repeat the command, or `resume` if there is a run.

    The data cache is beside the run, so that faults hit its writes too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder.parent / "cache"))
        if (folder / "manifest.json").exists():
            resume(folder)
        else:
            start(config, folder)


def run_with_fault(kind: str, index: int, config: Experiment, folder: Path) -> tuple[int, str | None]:
    """The number of writes and the error that ended the run, in this process."""
    try:
        return run_monitored(fault(kind, index), config, folder), None
    except Exception as error:
        return index + 1, f"{type(error).__name__}: {error}"


def run_with_snapshots(config: Experiment, folder: Path, snapshots: Path) -> int:
    """Copy a run and its cache before each write, as a kill at that moment leaves them; return the number of copies."""
    return run_monitored(lambda index: shutil.copytree(folder.parent, snapshots / str(index)), config, folder)


def run_monitored(before_write: Callable[[int], object], config: Experiment, folder: Path) -> int:
    monitor = WriteMonitor(folder.parent, before_write)
    with pytest.MonkeyPatch.context() as patch:
        monitor.install(patch)
        start_or_resume(config, folder)
    return monitor.count


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
        WriteMonitor(Path(folder).parent, fault("kill", kill_at)).install(pytest.MonkeyPatch())
        start_or_resume(config, Path(folder))
    except Exception:
        sender.send(traceback.format_exc())
        raise SystemExit(1) from None
