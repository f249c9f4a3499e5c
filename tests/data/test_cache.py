"""The cache finds prepared data by the values that they were prepared from."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from seqloom.core.atomic_io import WriteError
from seqloom.core.problem import DataError
from seqloom.data import cache as module
from seqloom.data.cache import cache_folder, file_states, find_or_create, fingerprints


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make(key: Mapping[str, object], content: str = "made") -> Path:
    """The folder of a key; it has `content` if this call has filled it."""

    def fill(folder: Path) -> None:
        (folder / "made").write_text(content)

    return find_or_create(key, fill)


def content_of(key: Mapping[str, object]) -> str:
    return (make(key, "new") / "made").read_text()


def test_a_folder_is_found_by_its_key(own_cache: Path) -> None:
    first = make({"a": 1, "b": [2]})
    assert find_or_create({"b": [2], "a": 1}, lambda _: pytest.fail("made again")) == first
    assert first.parent == own_cache
    assert (first / "made").read_text() == "made"
    assert list(own_cache.iterdir()) == [first]


def test_of_two_folders_with_the_same_key_one_is_kept(own_cache: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "made").write_text("1")
        make({"a": 1}, "2")  # an unfinished folder is not found

    first = find_or_create({"a": 1}, fill)
    assert (first / "made").read_text() == content_of({"a": 1}) == "2"
    assert list(own_cache.iterdir()) == [first]


def test_another_key_is_another_folder(own_cache: Path) -> None:
    keys: tuple[dict[str, object], ...] = ({"a": 1}, {"a": 2}, {"a": "1"}, {"b": 1}, {})
    folders = {make(key, str(number)) for number, key in enumerate(keys)}
    assert len(folders) == len(keys) == 5
    assert folders == {*own_cache.iterdir()}
    assert [content_of(key) for key in keys] == ["0", "1", "2", "3", "4"]


def test_a_folder_that_failed_is_created_again(own_cache: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "made").write_text("half")
        raise DataError("a.csv:3", "a bad line", "Mend it", code="bad-line")

    with pytest.raises(DataError, match="a bad line"):
        find_or_create({"a": 1}, fill)
    assert list(own_cache.iterdir()) == []
    assert content_of({"a": 1}) == "new"


def test_a_cache_that_can_not_be_written_is_refused(own_cache: Path) -> None:
    own_cache.write_text("a file where the folder should be")
    with pytest.raises(WriteError, match="could not be written"):
        make({"a": 1})


def test_a_fingerprint_depends_on_contents_and_not_on_names(tmp_path: Path) -> None:
    for name, content in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).write_text(content)
    a, b, c = fingerprints([tmp_path / name for name in "abc"])
    assert a == b != c


def test_the_fingerprint_of_a_folder_depends_on_its_names_too(tmp_path: Path) -> None:
    contents = ({"pos/1.txt": "x"}, {"neg/1.txt": "x"}, {"pos/1.txt": "y"}, {"pos/1.txt": "x", "pos/2.txt": "x"}, {})
    for number, files in enumerate(contents):
        (tmp_path / str(number)).mkdir()
        for name, content in files.items():
            (tmp_path / str(number) / name).parent.mkdir(exist_ok=True)
            (tmp_path / str(number) / name).write_text(content)
    assert len(set(fingerprints([tmp_path / str(number) for number in range(5)]))) == 5


def test_the_fingerprint_of_a_folder_covers_the_files_that_are_read(tmp_path: Path) -> None:
    """Two levels without hidden files, so that a path such as / does not walk over the whole disk."""
    (folder := tmp_path / "films").mkdir()
    (folder / "pos").mkdir()
    (folder / "pos" / "1.txt").write_text("good")
    before, states = fingerprints([folder]), file_states(folder)
    for name in (".DS_Store", ".git/objects/ab", "pos/.DS_Store", "pos/deep/er/1.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    assert (fingerprints([folder]), file_states(folder)) == (before, states)
    (folder / "pos" / "2.txt").write_text("x")
    assert fingerprints([folder]) != before
    assert file_states(folder) != states


@pytest.mark.parametrize("names", [["huge"], ["folder/half.txt", "folder/other.txt"]])
def test_files_that_are_too_large_are_not_read(
    names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(1000 // len(names) + 1))
    path = tmp_path / names[0].partition("/")[0]
    expected = fingerprints([path])
    monkeypatch.setattr(module, "MAX_BYTES", 1002)
    assert fingerprints([path]) == expected
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    monkeypatch.setattr(module, "sha256", lambda path: pytest.fail(f"{path} was read"))
    with pytest.raises(DataError, match=rf"^{path}: more than .* too much for one file or folder\. Use a smaller"):
        fingerprints([path])


def test_the_cache_folder_is_set_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_cache: Path
) -> None:
    assert cache_folder() == own_cache
    monkeypatch.delenv("SEQLOOM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "seqloom"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "seqloom"


def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: Path) -> str:
        raise PermissionError(13, "Permission denied")

    (file := tmp_path / "a.csv").write_text("x")
    monkeypatch.setattr(module, "sha256", deny)
    with pytest.raises(DataError, match=rf"^{file}: no permission to read it\."):
        fingerprints([file])


def test_the_state_of_a_folder_changes_with_its_files(tmp_path: Path) -> None:
    (folder := tmp_path / "films").mkdir()
    (folder / "pos.txt").write_text("good")
    (folder / "gone.txt").symlink_to("nowhere")
    first = file_states(folder)
    assert file_states(folder) == first
    (folder / "pos.txt").write_text("good, really")
    assert file_states(folder) != first
    assert file_states(folder / "pos.txt") != file_states(tmp_path / "none") == ()
