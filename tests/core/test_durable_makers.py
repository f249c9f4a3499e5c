"""Makers of the same folder at the same time: none takes another's work away, and what comes to stand is whole."""

import errno
import fcntl
import multiprocessing
import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import Barrier as ThreadBarrier

import pytest

from seqloom.core import atomic_io
from seqloom.core.atomic_io import LOCK, LOCKING, MARK, OLD, WriteError

FILES = 5
processes = multiprocessing.get_context("forkserver")


def fill_together(making: Path, name: str, barrier: Barrier | ThreadBarrier) -> None:
    """File by file, each maker as far as the others: so that all begin before one ends."""
    for number in range(FILES):
        (making / str(number)).write_text(name)
        barrier.wait(30)


def make(path: Path, name: str, barrier: Barrier | ThreadBarrier) -> None:
    atomic_io.folder(path, lambda making: fill_together(making, name, barrier))


def is_whole(path: Path) -> bool:
    """All files, of one maker."""
    contents = [file.read_text() for file in sorted(path.iterdir())]
    return len(contents) == FILES and len(set(contents)) == 1


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_threads_make_the_same_folder(tmp_path: Path) -> None:
    barrier = ThreadBarrier(3)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda name: make(tmp_path / "folder", name, barrier), "abc"))
    assert is_whole(tmp_path / "folder")
    assert names_in(tmp_path) == ["folder"]


def test_processes_make_the_same_folder(tmp_path: Path) -> None:
    barrier = processes.Barrier(2)
    makers = [processes.Process(target=make, args=(tmp_path / "folder", name, barrier)) for name in "ab"]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(60)
    assert [maker.exitcode for maker in makers] == [0, 0]
    assert is_whole(tmp_path / "folder")
    assert names_in(tmp_path) == ["folder"]


def make_whole(path: Path) -> None:
    make(path, "later", ThreadBarrier(1))


def test_one_that_comes_later_leaves_the_first_to_its_work(tmp_path: Path) -> None:
    """The same process, so the same number: the first is found by its lock, whatever its age."""
    path = tmp_path / "folder"

    def slow(making: Path) -> None:
        (making / "0").write_text("first")
        os.utime(making.parent, (0, 0))
        make_whole(path)
        assert names_in(making) == ["0"]

    atomic_io.folder(path, slow)
    assert is_whole(path)
    assert (path / "0").read_text() == "later"
    assert names_in(tmp_path) == ["folder"]


def die_making(path: Path) -> None:
    def die(making: Path) -> None:
        (making / "0").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)

    atomic_io.folder(path, die)


def test_what_a_killed_process_left_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    killed = processes.Process(target=die_making, args=(path,))
    killed.start()
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    assert [name.startswith(MARK) for name in names_in(tmp_path)] == [True]
    make_whole(path)
    assert is_whole(path)
    assert names_in(tmp_path) == ["folder"]


def leave(path: Path, *names: str, age: float) -> Path:
    left = path.with_name(f"{MARK}0123abcd-{path.name}")
    left.mkdir()
    for name in names:
        (left / name).touch()
    os.utime(left, times=(time.time() - age,) * 2)
    return left


@pytest.mark.parametrize(("age", "stays"), [(0, True), (OLD - 60, True), (OLD + 60, False)])
@pytest.mark.parametrize("names", [(), (LOCKING,)])
def test_without_a_lock_only_what_is_old_is_taken_away(
    tmp_path: Path, names: tuple[str, ...], age: float, stays: bool
) -> None:
    """It may have been begun this very moment."""
    left = leave(tmp_path / "folder", *names, age=age)
    make_whole(tmp_path / "folder")
    assert left.exists() == stays


@pytest.mark.parametrize(("age", "stays"), [(0, True), (OLD + 60, False)])
def test_on_a_disk_without_locks_only_what_is_old_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, stays: bool
) -> None:
    def none(number: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    left = leave(tmp_path / "folder", LOCK, age=age)
    make_whole(tmp_path / "folder")
    assert is_whole(tmp_path / "folder")
    assert left.exists() == stays


@pytest.mark.parametrize("moment", range(FILES))
def test_a_maker_that_was_taken_for_dead_commits_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Locks that other machines do not see: the second maker begins to take the first's work away."""
    path = tmp_path / "folder"
    monkeypatch.setattr(fcntl, "flock", lambda number, how: None)

    def slow(making: Path) -> None:
        for number in range(FILES):
            if number == moment:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(shutil, "rmtree", lambda path, ignore_errors=False: None)  # it has just begun
                    with pytest.raises(KeyError):
                        atomic_io.folder(path, fail)
            (making / str(number)).write_text("first")

    def fail(making: Path) -> None:
        raise KeyError("it makes nothing itself")

    with pytest.raises(WriteError, match="could not be written"):
        atomic_io.folder(path, slow)
    assert not path.exists()


def test_the_lock_is_no_part_of_the_folder(tmp_path: Path) -> None:
    def fill(making: Path) -> None:
        assert names_in(making) == []
        (making / "0").touch()

    atomic_io.folder(tmp_path / "folder", fill)
    assert names_in(tmp_path / "folder") == ["0"]
