"""A write that fails leaves the old content or the new, never a part of it, also with several processes."""

import errno
import fcntl
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import Barrier as ThreadBarrier

import pytest

from seqloom.core import atomic_io
from seqloom.core.atomic_io import ABANDONED_AFTER, LOCK, NEW_LOCK, TEMPORARY, WriteError
from seqloom.core.problem import RunError

OLD, NEW = b"old content", b"new content" * 1000


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def raise_disk_full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


class Failing:
    """A system call that works a number of times, then fails because the disk is full."""

    def __init__(self, function: Callable[..., object], times: int) -> None:
        self.function, self.left = function, times

    def __call__(self, *args: object, **kwargs: object) -> object:
        if self.left == 0:
            raise_disk_full()
        self.left -= 1
        return self.function(*args, **kwargs)


def break_open(patch: pytest.MonkeyPatch) -> None:
    original = os.open

    def open_for_reading(path: object, flags: int, *args: object, **kwargs: object) -> int:
        return raise_disk_full() if flags & os.O_WRONLY else original(path, flags, *args, **kwargs)  # type: ignore[arg-type]

    patch.setattr(os, "open", open_for_reading)


def break_write(patch: pytest.MonkeyPatch) -> None:
    """The disk takes half of the content, then nothing more, as a full disk does."""
    write, times = os.write, iter(range(9))

    def write_half(number: int, content: memoryview) -> int:
        return raise_disk_full() if next(times) else write(number, content[: len(content) // 2])

    patch.setattr(os, "write", write_half)


def break_fsync(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "fsync", raise_disk_full)


def break_rename(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Path, "replace", raise_disk_full)


every_break = pytest.mark.parametrize("break_disk", [break_open, break_write, break_fsync, break_rename])


def create(path: Path, fill: Callable[[Path], object]) -> None:
    with atomic_io.create_folder(path) as folder:
        fill(folder)


@pytest.mark.parametrize("content", [NEW, "ünïcode\r\n", b"", ""])
def test_written_content_is_read_back(tmp_path: Path, content: bytes | str) -> None:
    atomic_io.write(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names_in(tmp_path) == ["file"]


@every_break
@pytest.mark.parametrize("before", [OLD, None])
def test_a_write_that_fails_changes_nothing(
    tmp_path: Path, break_disk: Callable[[pytest.MonkeyPatch], None], before: bytes | None
) -> None:
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    with pytest.MonkeyPatch.context() as patch:
        break_disk(patch)
        with pytest.raises(WriteError) as caught:
            atomic_io.write(path, NEW)
    assert str(caught.value).startswith(f"{path}: could not be written (no space left on device).")
    assert (path.read_bytes() if path.exists() else None) == before
    atomic_io.write(path, NEW)  # leftovers of the failed write do no harm
    assert path.read_bytes() == NEW
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("times", range(3))
def test_a_sync_that_fails_leaves_the_old_or_the_new_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "fsync", Failing(os.fsync, times))
    try:
        atomic_io.write(path, NEW)
    except WriteError:
        assert path.read_bytes() == (NEW if times else OLD)  # the second sync is the folder's, after the rename
    else:
        assert times == 2
        assert path.read_bytes() == NEW


def fill(temporary: Path) -> None:
    (temporary / "inside").mkdir()
    (temporary / "inside" / "a").write_bytes(NEW)
    atomic_io.write(temporary / "b", NEW)


def is_complete(path: Path) -> bool:
    return (path / "inside" / "a").read_bytes() == NEW == (path / "b").read_bytes()


def test_a_folder_is_complete(tmp_path: Path) -> None:
    create(tmp_path / "deep" / "folder", fill)
    assert is_complete(tmp_path / "deep" / "folder")
    assert names_in(tmp_path / "deep") == ["folder"]


@every_break
def test_a_folder_that_can_not_be_created_is_absent(
    tmp_path: Path, break_disk: Callable[[pytest.MonkeyPatch], None]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        break_disk(patch)
        with pytest.raises(WriteError):
            create(tmp_path / "folder", fill)
    assert names_in(tmp_path) == []


def test_a_folder_is_complete_or_absent_whichever_sync_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, times = os.fsync, 0
    while True:
        path = tmp_path / str(times)
        monkeypatch.setattr(os, "fsync", Failing(fsync, times))
        try:
            create(path, fill)
        except WriteError:
            assert not path.exists() or is_complete(path)
            times += 1
        else:
            break
    assert times >= 6  # b and its rename, the folder, its content, the rename
    assert is_complete(path)


def test_an_error_while_filling_is_passed_on(tmp_path: Path) -> None:
    def fail_after_one_file(temporary: Path) -> None:
        (temporary / "a").write_bytes(NEW)
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        create(tmp_path / "folder", fail_after_one_file)
    assert names_in(tmp_path) == []


def test_the_folder_of_a_faster_process_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    def fill_slowly(temporary: Path) -> None:
        fill(temporary)
        path.mkdir()
        (path / "theirs").write_bytes(OLD)

    create(path, fill_slowly)
    assert names_in(path) == ["theirs"]
    assert names_in(tmp_path) == ["folder"]


def test_the_folder_of_a_barely_faster_process_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, replace = tmp_path / "folder", atomic_io.replace

    def replace_late(temporary: Path, path: Path) -> None:
        if path.name == "folder" and not path.exists():
            path.mkdir()
            (path / "theirs").write_bytes(OLD)
        replace(temporary, path)

    monkeypatch.setattr(atomic_io, "replace", replace_late)
    create(path, lambda temporary: (temporary / "mine").write_bytes(NEW) and None)
    assert names_in(path) == ["theirs"]
    assert names_in(tmp_path) == ["folder"]


def test_a_file_of_the_folders_name_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "folder").write_bytes(OLD)
    with pytest.raises(WriteError):
        create(tmp_path / "folder", fill)
    assert (tmp_path / "folder").read_bytes() == OLD


def test_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    atomic_io.append(path, "ä")
    atomic_io.append(path, "b")
    assert path.read_bytes() == "ä\nb\n".encode()
    with pytest.raises(WriteError):
        atomic_io.append(tmp_path, "a folder is no file")


def test_a_file_and_a_folder_are_removed(tmp_path: Path) -> None:
    create(tmp_path / "folder", fill)
    atomic_io.write(tmp_path / "file", NEW)
    for name in ("folder", "file"):
        atomic_io.remove(tmp_path / name)
    assert names_in(tmp_path) == []


def test_a_removal_that_fails_leaves_nothing_under_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create(tmp_path / "folder", fill)

    def remove_one_file(path: Path, *_: object, **__: object) -> None:
        (path / "b").unlink()
        raise_disk_full()

    monkeypatch.setattr(shutil, "rmtree", remove_one_file)
    with pytest.raises(WriteError):
        atomic_io.remove(tmp_path / "folder")
    assert names_in(tmp_path) == [f"{TEMPORARY}folder"]
    monkeypatch.undo()
    atomic_io.remove_leftovers(tmp_path)
    assert names_in(tmp_path) == []


def test_remove_leftovers_keeps_complete_files_and_folders(tmp_path: Path) -> None:
    create(tmp_path / "folder", fill)
    atomic_io.write(tmp_path / "file", NEW)
    (tmp_path / f"{TEMPORARY}file").write_bytes(OLD)
    (tmp_path / f"{TEMPORARY}a1-folder").mkdir()
    atomic_io.remove_leftovers(tmp_path)
    assert names_in(tmp_path) == ["file", "folder"]
    assert is_complete(tmp_path / "folder")


def test_missing_folders_are_created(tmp_path: Path) -> None:
    atomic_io.make_folder(tmp_path / "a" / "b")
    atomic_io.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_bytes(OLD)
    with pytest.raises(WriteError):
        atomic_io.make_folder(tmp_path / "file")


@pytest.mark.parametrize("write", [atomic_io.append, atomic_io.write, lambda path, _: atomic_io.truncate(path, 0)])
def test_no_write_follows_a_link(write: Callable[[Path, str], object], tmp_path: Path) -> None:
    """A folder from elsewhere may have a link as its log, or under a temporary name."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "run").mkdir()
    for name in ("log", f"{TEMPORARY}log"):
        (tmp_path / "run" / name).symlink_to(victim)
    with suppress(WriteError):
        write(tmp_path / "run" / "log", "mine")
    assert victim.read_text() == "precious"


def test_a_folder_is_locked_once(tmp_path: Path) -> None:
    is_locked = pytest.raises(RunError, match="is being trained by another process")
    with atomic_io.lock_folder(tmp_path), is_locked, atomic_io.lock_folder(tmp_path):
        pass
    with atomic_io.lock_folder(tmp_path):
        pass


def test_truncation_never_makes_a_file_longer(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("12345")
    assert (atomic_io.truncate(tmp_path / "log", 9), atomic_io.truncate(tmp_path / "log", 3)) == (5, 3)
    assert (tmp_path / "log").read_text() == "123"


# Several writers of one folder ----------------------------------------------------------------------------------------

FILES = 5
processes = multiprocessing.get_context("forkserver")


def fill_together(temporary: Path, name: str, barrier: Barrier | ThreadBarrier) -> None:
    """Write file by file, in step with the others, so that all begin before one ends."""
    for number in range(FILES):
        (temporary / str(number)).write_text(name)
        barrier.wait(30)


def create_in_step(path: Path, name: str, barrier: Barrier | ThreadBarrier) -> None:
    create(path, lambda temporary: fill_together(temporary, name, barrier))


def has_one_author(path: Path) -> bool:
    """Whether the folder has all files, all of one process."""
    contents = [file.read_text() for file in sorted(path.iterdir())]
    return len(contents) == FILES and len(set(contents)) == 1


def test_threads_create_the_same_folder(tmp_path: Path) -> None:
    barrier = ThreadBarrier(3)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda name: create_in_step(tmp_path / "folder", name, barrier), "abc"))
    assert has_one_author(tmp_path / "folder")
    assert names_in(tmp_path) == ["folder"]


def test_processes_create_the_same_folder(tmp_path: Path) -> None:
    barrier = processes.Barrier(2)
    workers = [processes.Process(target=create_in_step, args=(tmp_path / "folder", name, barrier)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert has_one_author(tmp_path / "folder")
    assert names_in(tmp_path) == ["folder"]


def create_at_once(path: Path) -> None:
    create_in_step(path, "later", ThreadBarrier(1))


def test_a_second_writer_leaves_the_first_one_alone(tmp_path: Path) -> None:
    """A locked folder is left alone, whatever its age, also within one process."""
    path = tmp_path / "folder"

    def fill_slowly(temporary: Path) -> None:
        (temporary / "0").write_text("first")
        os.utime(temporary.parent, (0, 0))
        create_at_once(path)
        assert names_in(temporary) == ["0"]

    create(path, fill_slowly)
    assert has_one_author(path)
    assert (path / "0").read_text() == "later"
    assert names_in(tmp_path) == ["folder"]


def die_while_filling(path: Path) -> None:
    def die(temporary: Path) -> None:
        (temporary / "0").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)

    create(path, die)


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    killed = processes.Process(target=die_while_filling, args=(path,))
    killed.start()
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    assert [name.startswith(TEMPORARY) for name in names_in(tmp_path)] == [True]
    create_at_once(path)
    assert has_one_author(path)
    assert names_in(tmp_path) == ["folder"]


def leave(path: Path, *names: str, age: float) -> Path:
    leftover = path.with_name(f"{TEMPORARY}0123abcd-{path.name}")
    leftover.mkdir()
    for name in names:
        (leftover / name).touch()
    os.utime(leftover, times=(time.time() - age,) * 2)
    return leftover


@pytest.mark.parametrize(("age", "stays"), [(0, True), (ABANDONED_AFTER - 60, True), (ABANDONED_AFTER + 60, False)])
@pytest.mark.parametrize("names", [(), (NEW_LOCK,)])
def test_without_a_lock_only_old_leftovers_are_removed(
    tmp_path: Path, names: tuple[str, ...], age: float, stays: bool
) -> None:
    leftover = leave(tmp_path / "folder", *names, age=age)
    create_at_once(tmp_path / "folder")
    assert leftover.exists() == stays


@pytest.mark.parametrize(("age", "stays"), [(0, True), (ABANDONED_AFTER + 60, False)])
def test_without_locks_on_the_disk_only_old_leftovers_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, stays: bool
) -> None:
    def fail_to_lock(number: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail_to_lock)
    leftover = leave(tmp_path / "folder", LOCK, age=age)
    create_at_once(tmp_path / "folder")
    assert has_one_author(tmp_path / "folder")
    assert leftover.exists() == stays


@pytest.mark.parametrize("moment", range(FILES))
def test_a_writer_whose_files_were_removed_does_not_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Other machines may not see a lock: the second writer starts to remove the files of the first."""
    path = tmp_path / "folder"
    monkeypatch.setattr(fcntl, "flock", lambda number, operation: None)

    def fill_slowly(temporary: Path) -> None:
        for number in range(FILES):
            if number == moment:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(
                        shutil, "rmtree", lambda path, ignore_errors=False: None
                    )  # the removal has just begun
                    with pytest.raises(KeyError):
                        create(path, fail)
            (temporary / str(number)).write_text("first")

    def fail(temporary: Path) -> None:
        raise KeyError("it creates nothing itself")

    with pytest.raises(WriteError, match="could not be written"):
        create(path, fill_slowly)
    assert not path.exists()


def test_the_lock_is_outside_the_folder(tmp_path: Path) -> None:
    def fill(temporary: Path) -> None:
        assert names_in(temporary) == []
        (temporary / "0").touch()

    create(tmp_path / "folder", fill)
    assert names_in(tmp_path / "folder") == ["0"]
