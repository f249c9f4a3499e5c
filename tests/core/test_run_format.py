"""A run's folder is checked before anything in it is used; each kind of damage is one message."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seqloom.core.problem import RunError
from seqloom.core.run_format import (
    FORMAT,
    MANIFEST,
    MAX_BYTES,
    MAX_PARTS,
    Manifest,
    RecordedPart,
    package_versions,
    read_json,
    read_manifest,
    read_text,
    sha256,
    verify,
    write_manifest,
)

FILES = {"model-abc.safetensors": b"weights", "experiment.toml": b"task", "vocabulary/labels.json": b"[]"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    codes = {name: sha256(folder / name) for name in FILES}
    manifest = Manifest("tag", "2026-01-31", versions=package_versions(), files=codes)
    write_manifest(folder, manifest.with_files(codes, parameters=7))
    return folder


def change_manifest(run: Path, **keys: Any) -> None:
    """Change the manifest; a key whose value is ... is removed."""
    manifest = json.loads((run / MANIFEST).read_text()) | keys
    (run / MANIFEST).write_text(json.dumps({key: item for key, item in manifest.items() if item is not ...}))


def verify_error(run: Path) -> str:
    with pytest.raises(RunError) as caught:
        verify(run)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith(str(run))
    assert sentence.endswith((".", "?"))
    return sentence


def test_a_complete_run_is_verified(run: Path) -> None:
    manifest = verify(run)
    assert (manifest.task, manifest.parameters, manifest.format) == ("tag", 7, FORMAT)
    assert manifest.model == "model-abc.safetensors"
    assert set(manifest.files) == set(FILES)
    assert manifest == read_manifest(run)
    assert set(manifest.versions) == {"python", "seqloom", "torch", "tokenizers", "safetensors", "numpy"}


def test_a_run_without_weights_has_no_model(run: Path) -> None:
    change_manifest(run, files={})
    assert verify(run).model is None


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_refused(run: Path, name: str) -> None:
    content = bytearray((run / name).read_bytes())
    content[0] ^= 1
    (run / name).write_bytes(content)
    assert f"{name}: damaged: its SHA-256" in verify_error(run)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused(run: Path, name: str) -> None:
    (run / name).unlink()
    assert f"{name}: missing" in verify_error(run)


@pytest.mark.parametrize("name", ["experiment.toml", "vocabulary"])
def test_a_link_out_of_the_folder_is_refused(run: Path, name: str) -> None:
    elsewhere = run.parent / "elsewhere"
    shutil.move(run / name, elsewhere)
    (run / name).symlink_to(elsewhere)
    assert "a link out of the folder" in verify_error(run)


@pytest.mark.parametrize("name", ["metrics.jsonl", "report.html", "checkpoints", "tensorboard"])
def test_a_link_in_place_of_a_file_that_a_run_writes_is_refused(run: Path, name: str) -> None:
    """A link to no file is refused too: a write would create the file."""
    (run / name).symlink_to(run.parent / "elsewhere")
    assert f"{name}: a link out of the folder" in verify_error(run)


def test_a_run_behind_a_link_is_a_run(run: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(run)
    assert verify(tmp_path / "latest") == verify(run)


OUTSIDE = ["../secret", "/etc/passwd", "a/../../b", "", ".", "..\\b", "vocabulary\\..\\..\\b"]


@pytest.mark.parametrize("name", [*OUTSIDE, "a\0b", "a\nb", "x" * 300, "a/" * 3000 + "b"])
def test_a_path_that_leaves_the_folder_is_not_followed(run: Path, name: str) -> None:
    (run.parent / "secret").write_bytes(b"")
    change_manifest(run, files={name: sha256(run.parent / "secret")})
    assert "list of files is damaged" in verify_error(run)


@pytest.mark.parametrize("files", [None, [], "x", {"a": 1}, {"a": "0"}, {"a": "g" * 64}, {"a": "0" * 65}, ...])
def test_a_damaged_list_of_files_is_refused(run: Path, files: object) -> None:
    change_manifest(run, files=files)
    assert "list of files is damaged" in verify_error(run)


@pytest.mark.parametrize(
    ("key", "items"),
    [
        ("task", [..., None, 5, ["tag"], "Tag it!", "", "t" * 61, True]),
        ("created", [..., None, 5, ["2026-01-31"], "", "yesterday", "2026-13-01", "x" * 10_000]),
        ("parameters", [..., None, "many", True, -1, 1.5, 10**16, 1e300]),
        ("versions", [..., None, [], "1", {"torch": 2}, {"torch": "x" * 10_000}]),
    ],
)
def test_a_missing_or_invalid_key_is_refused(run: Path, key: str, items: list[object]) -> None:
    for item in items:
        change_manifest(run, **{key: item})
        assert f"its {key} is missing or damaged" in verify_error(run)


OF_FILE = {"kind": "cell", "name": "mine", "file": "my_parts.py", "sha256": "0" * 64}
OF_MODULE = {"kind": "score", "name": "near", "module": "__main__"}


def test_parts_are_written_and_read(run: Path) -> None:
    parts = (RecordedPart("cell", "mine", "my_parts.py", "0" * 64), RecordedPart("score", "near", module="__main__"))
    write_manifest(run, replace(verify(run), parts=parts))
    assert json.loads((run / MANIFEST).read_text())["parts"] == [OF_FILE, OF_MODULE]
    assert verify(run).parts == parts
    assert verify(run).with_files({}, 0).parts == parts


def test_a_run_without_parts_has_no_list_of_parts(run: Path) -> None:
    assert "parts" not in json.loads((run / MANIFEST).read_text())
    assert verify(run).parts == ()


@pytest.mark.parametrize(
    "parts",
    [
        *(None, {}, "x", 5, True, [None], ["mine"], [[]], [{}], [OF_FILE, 1], [OF_FILE, OF_FILE]),
        [{**OF_MODULE, "name": f"n{number}"} for number in range(MAX_PARTS + 1)],
        *([{key: OF_FILE[key] for key in OF_FILE if key != missing}] for missing in OF_FILE),
        *([OF_FILE | OF_MODULE], [OF_FILE | {"more": "x"}], [OF_MODULE | {"sha256": "0" * 64}]),
        *([part | {key: item}] for part in (OF_FILE, OF_MODULE) for key in part for item in (None, 5, True, [], {})),
        *([part | {key: item}] for part in (OF_FILE, OF_MODULE) for key in part for item in ("", "a\nb", "a\x1b[31mb")),
        *([part | {key: item}] for part in (OF_FILE, OF_MODULE) for key in part for item in ("a\u202eb", "x" * 256)),
        *([OF_FILE | {"file": name}] for name in ("/etc/passwd", "../my_parts.py", "a/b.py", ".", "b.py/")),
        *([OF_FILE | {"sha256": code}] for code in ("0" * 63, "0" * 65, "G" * 64, "0" * 63 + " ")),
        *([OF_FILE | {"kind": kind}] for kind in ("Cell", "the cell", "cell:", "1")),
    ],
)
def test_a_damaged_list_of_parts_is_refused(run: Path, parts: object) -> None:
    change_manifest(run, parts=parts)
    assert "list of parts is damaged" in verify_error(run)


def test_an_unknown_key_is_ignored(run: Path) -> None:
    change_manifest(run, mood="good")
    assert verify(run).task == "tag"


def test_a_newer_format_asks_for_an_upgrade(run: Path) -> None:
    change_manifest(run, format=FORMAT + 1, versions={"seqloom": "9.9"})
    sentence = verify_error(run)
    assert f"made by a newer seqloom (9.9, format {FORMAT + 1}" in sentence
    assert "Upgrade" in sentence


@pytest.mark.parametrize("number", [..., None, 0, -1, "1", 1.5, True, 10**30])
def test_a_manifest_without_a_valid_format_is_refused(run: Path, number: object) -> None:
    change_manifest(run, format=number)
    assert "no format version" in verify_error(run)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"[" * 200_000, b'{"format": ' + b"9" * 5000 + b"}", b'{"format": 1, "files"'],
)
def test_a_manifest_that_is_not_json_is_damaged(run: Path, content: bytes) -> None:
    (run / MANIFEST).write_bytes(content)
    assert "so it is damaged" in verify_error(run)


@pytest.mark.parametrize("content", [b"[]", b"1", b"null", b'"x"'])
def test_a_manifest_that_is_no_object_is_damaged(run: Path, content: bytes) -> None:
    (run / MANIFEST).write_bytes(content)
    assert "not a JSON object" in verify_error(run)


def test_a_manifest_that_is_too_large_is_not_read(run: Path) -> None:
    with (run / MANIFEST).open("ab") as file:
        file.truncate(MAX_BYTES + 1)
    assert "too large" in verify_error(run)


def remove_manifest(run: Path) -> Path:
    (run / MANIFEST).unlink()
    return run


def replace_manifest_by_folder(run: Path) -> Path:
    (run / MANIFEST).unlink()
    (run / MANIFEST).mkdir()
    return run


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: run / "nowhere", "no such folder"),
        (lambda run: run / "experiment.toml", "not a run"),
        (remove_manifest, "not a run"),
        (replace_manifest_by_folder, "not a run"),
    ],
)
def test_a_folder_that_is_no_run_is_refused(run: Path, damage: Callable[[Path], Path], message: str) -> None:
    assert message in verify_error(damage(run))


def test_reading_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="can't be read"):
        read_json(tmp_path / "none.json")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))  # the path of a socket has at most 108 bytes


NOT_REGULAR = pytest.mark.parametrize("make", [make_pipe, make_socket, Path.mkdir], ids=["pipe", "socket", "folder"])


@NOT_REGULAR
@pytest.mark.parametrize("name", [*FILES, "manifest.json", "local.json", "metrics.jsonl", "scores.json", "report.html"])
def test_a_pipe_or_a_socket_does_not_block(run: Path, name: str, make: Callable[[Path], None]) -> None:
    (run / name).unlink(missing_ok=True)
    make(run / name)
    assert re.search("not a plain file|not a run|can't be read", verify_error(run))


@pytest.mark.parametrize("name", ["vocabulary", "checkpoints", "tensorboard"])
def test_a_file_where_a_folder_should_be_is_refused(run: Path, name: str) -> None:
    shutil.rmtree(run / name, ignore_errors=True)
    (run / name).write_text("")
    assert f"{name}: not a folder" in verify_error(run)


@NOT_REGULAR
def test_reading_a_pipe_or_a_socket_is_an_error(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "odd.json")
    for read in (read_json, read_text):
        with pytest.raises(RunError, match=r"not a plain file|can't be read"):
            read(tmp_path / "odd.json")


def test_a_device_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a plain file"):
        read_text(Path("/dev/zero"))


def test_a_manifest_can_be_replaced(run: Path) -> None:
    manifest = read_manifest(run)
    write_manifest(run, manifest.with_files(manifest.files, parameters=8))
    assert verify(run).parameters == 8


def test_the_check_of_a_run_needs_no_torch(run: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from seqloom.core.run_format import verify;"
        f"print(verify(Path({str(run)!r})).task, 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["tag", "False", "False"]
