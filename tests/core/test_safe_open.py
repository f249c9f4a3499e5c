"""Only plain files are opened; other kinds leave no file descriptor open."""

import os
from pathlib import Path

import pytest

from seqloom.core.safe_open import NotRegular, open_regular


def test_a_plain_file_is_opened_for_reading(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo")
    with open_regular(tmp_path / "a") as file:
        assert list(file) == [b"one\n", b"two"]


def test_a_link_to_a_plain_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with open_regular(tmp_path / "b") as file:
        assert file.read() == b"one"


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_a_pipe_a_folder_or_a_device_is_an_error(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    descriptors = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(NotRegular, match="not a plain file"):
            open_regular(path)
    assert len(list(Path("/dev/fd").iterdir())) == descriptors


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")
