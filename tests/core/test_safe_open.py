"""Only plain files are opened, and nothing is left open of what is none."""

import os
from pathlib import Path

import pytest

from seqloom.core.safe_open import NotRegular, open_regular


def test_a_plain_file_is_opened_to_be_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo")
    with open_regular(tmp_path / "a") as file:
        assert list(file) == [b"one\n", b"two"]


def test_a_link_to_a_plain_file_is_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with open_regular(tmp_path / "b") as file:
        assert file.read() == b"one"


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_anything_else_is_an_error_at_once(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(NotRegular, match="not a plain file"):
            open_regular(path)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")
