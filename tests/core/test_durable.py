"""A write that fails at any moment leaves what was there, or all that was to come: never half."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from seqloom.core import atomic_io
from seqloom.core.atomic_io import MARK, WriteError
from seqloom.core.problem import RunError

OLD, NEW = b"what was there", b"what is to come" * 1000


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


class Failing:
    """Stands for a function of the system: works so many times, then says that the disk is full."""

    def __init__(self, works: Callable[..., object], times: int) -> None:
        self.works, self.left = works, times

    def __call__(self, *args: object, **kwargs: object) -> object:
        if self.left == 0:
            full()
        self.left -= 1
        return self.works(*args, **kwargs)


def break_open(patch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def for_reading(path: object, flags: int, *args: object, **more: object) -> int:
        return full() if flags & os.O_WRONLY else opened(path, flags, *args, **more)  # type: ignore[arg-type]

    patch.setattr(os, "open", for_reading)


def break_write(patch: pytest.MonkeyPatch) -> None:
    """The disk takes half, then no more: that is how a full one is met."""
    write, times = os.write, iter(range(9))

    def half(number: int, content: memoryview) -> int:
        return full() if next(times) else write(number, content[: len(content) // 2])

    patch.setattr(os, "write", half)


def break_fsync(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "fsync", full)


def break_rename(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Path, "replace", full)


every_break = pytest.mark.parametrize("broken", [break_open, break_write, break_fsync, break_rename])


@pytest.mark.parametrize("content", [NEW, "ünïcode\r\n", b"", ""])
def test_a_file_has_all_that_was_written(tmp_path: Path, content: bytes | str) -> None:
    atomic_io.write(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names_in(tmp_path) == ["file"]


@every_break
@pytest.mark.parametrize("before", [OLD, None])
def test_a_write_that_fails_changes_nothing(
    tmp_path: Path, broken: Callable[[pytest.MonkeyPatch], None], before: bytes | None
) -> None:
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    with pytest.MonkeyPatch.context() as patch:
        broken(patch)
        with pytest.raises(WriteError) as caught:
            atomic_io.write(path, NEW)
    assert str(caught.value).startswith(f"{path}: could not be written (no space left on device).")
    assert (path.read_bytes() if path.exists() else None) == before
    atomic_io.write(path, NEW)  # and what the failed one left is not in the way
    assert path.read_bytes() == NEW
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("times", range(3))
def test_a_disk_that_fails_later_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "fsync", Failing(os.fsync, times))
    try:
        atomic_io.write(path, NEW)
    except WriteError:
        assert path.read_bytes() == (NEW if times else OLD)  # the second is that of the folder, after the rename
    else:
        assert times == 2
        assert path.read_bytes() == NEW


def fill(making: Path) -> None:
    (making / "inside").mkdir()
    (making / "inside" / "a").write_bytes(NEW)
    atomic_io.write(making / "b", NEW)


def is_whole(path: Path) -> bool:
    return (path / "inside" / "a").read_bytes() == NEW == (path / "b").read_bytes()


def test_a_folder_is_whole(tmp_path: Path) -> None:
    atomic_io.folder(tmp_path / "deep" / "folder", fill)
    assert is_whole(tmp_path / "deep" / "folder")
    assert names_in(tmp_path / "deep") == ["folder"]


@every_break
def test_a_folder_that_fails_is_absent(tmp_path: Path, broken: Callable[[pytest.MonkeyPatch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        broken(patch)
        with pytest.raises(WriteError):
            atomic_io.folder(tmp_path / "folder", fill)
    assert names_in(tmp_path) == []


def test_a_folder_at_every_sync_that_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, times = os.fsync, 0
    while True:
        path = tmp_path / str(times)
        monkeypatch.setattr(os, "fsync", Failing(fsync, times))
        try:
            atomic_io.folder(path, fill)
        except WriteError:
            assert not path.exists() or is_whole(path)
            times += 1
        else:
            break
    assert times >= 6  # b and its rename, the folder, what is in it, the rename
    assert is_whole(path)


def test_what_goes_wrong_in_the_filling_goes_on_as_it_is(tmp_path: Path) -> None:
    def half(making: Path) -> None:
        (making / "a").write_bytes(NEW)
        raise KeyError("a mistake of the code")

    with pytest.raises(KeyError):
        atomic_io.folder(tmp_path / "folder", half)
    assert names_in(tmp_path) == []


def test_a_faster_process_keeps_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    def slow(making: Path) -> None:
        fill(making)
        path.mkdir()
        (path / "theirs").write_bytes(OLD)

    atomic_io.folder(path, slow)
    assert names_in(path) == ["theirs"]
    assert names_in(tmp_path) == ["folder"]


def test_a_process_that_is_faster_by_a_hair_keeps_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes between the look and the rename."""
    path, rename = tmp_path / "folder", atomic_io.rename

    def late(making: Path, path: Path) -> None:
        if path.name == "folder" and not path.exists():
            path.mkdir()
            (path / "theirs").write_bytes(OLD)
        rename(making, path)

    monkeypatch.setattr(atomic_io, "rename", late)
    atomic_io.folder(path, lambda making: (making / "mine").write_bytes(NEW) and None)
    assert names_in(path) == ["theirs"]
    assert names_in(tmp_path) == ["folder"]


def test_a_file_in_the_way_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").write_bytes(OLD)
    with pytest.raises(WriteError):
        atomic_io.folder(tmp_path / "folder", fill)
    assert (tmp_path / "folder").read_bytes() == OLD


def test_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    atomic_io.append(path, "ä")
    atomic_io.append(path, "b")
    assert path.read_bytes() == "ä\nb\n".encode()
    with pytest.raises(WriteError):
        atomic_io.append(tmp_path, "a folder is no file")


def test_remove_takes_away_a_file_or_a_folder(tmp_path: Path) -> None:
    atomic_io.folder(tmp_path / "folder", fill)
    atomic_io.write(tmp_path / "file", NEW)
    for name in ("folder", "file"):
        atomic_io.remove(tmp_path / name)
    assert names_in(tmp_path) == []


def test_no_half_of_a_removed_folder_stands_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    atomic_io.folder(tmp_path / "folder", fill)

    def half(path: Path, *_: object, **__: object) -> None:
        (path / "b").unlink()
        full()

    monkeypatch.setattr(shutil, "rmtree", half)
    with pytest.raises(WriteError):
        atomic_io.remove(tmp_path / "folder")
    assert names_in(tmp_path) == [f"{MARK}folder"]
    monkeypatch.undo()
    atomic_io.sweep(tmp_path)
    assert names_in(tmp_path) == []


def test_sweep_leaves_what_is_whole(tmp_path: Path) -> None:
    atomic_io.folder(tmp_path / "folder", fill)
    atomic_io.write(tmp_path / "file", NEW)
    (tmp_path / f"{MARK}file").write_bytes(OLD)
    (tmp_path / f"{MARK}a1-folder").mkdir()
    atomic_io.sweep(tmp_path)
    assert names_in(tmp_path) == ["file", "folder"]
    assert is_whole(tmp_path / "folder")


def test_make_makes_all_folders_on_the_way(tmp_path: Path) -> None:
    atomic_io.make(tmp_path / "a" / "b")
    atomic_io.make(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_bytes(OLD)
    with pytest.raises(WriteError):
        atomic_io.make(tmp_path / "file")


@pytest.mark.parametrize("write", [atomic_io.append, atomic_io.write, lambda path, _: atomic_io.cut(path, 0)])
def test_a_link_leads_no_write_out_of_a_folder(write: Callable[[Path, str], object], tmp_path: Path) -> None:
    """Folders come from strangers: a link in place of the log, or of the file that is being made."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "run").mkdir()
    for name in ("log", f"{MARK}log"):
        (tmp_path / "run" / name).symlink_to(victim)
    with suppress(WriteError):
        write(tmp_path / "run" / "log", "mine")
    assert victim.read_text() == "precious"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    taken = pytest.raises(RunError, match="is being trained by another process")
    with atomic_io.alone(tmp_path), taken, atomic_io.alone(tmp_path):
        pass
    with atomic_io.alone(tmp_path):
        pass


def test_a_cut_never_makes_a_file_longer(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("12345")
    assert (atomic_io.cut(tmp_path / "log", 9), atomic_io.cut(tmp_path / "log", 3)) == (5, 3)
    assert (tmp_path / "log").read_text() == "123"
