"""Several files as one text."""

from pathlib import Path

import pytest

from seqloom.data.text_io import EmptyFile, read_text


@pytest.mark.parametrize(
    ("texts", "together"),
    [
        (["a", "b"], "a\nb"),
        (["a\n", "b\r"], "a\nb\n"),
        (["", "a", "", "b", ""], "a\nb"),
        (["abcde\n", "f"], "abcde\nf"),
    ],
)
@pytest.mark.parametrize("characters", [1, 2, 100])
def test_a_newline_stands_between_files(tmp_path: Path, texts: list[str], together: str, characters: int) -> None:
    paths = [tmp_path / str(number) for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    chunks = list(read_text(paths, characters))
    assert "".join(chunks) == together
    assert all(1 <= len(chunk) <= characters for chunk in chunks)


def test_nothing_but_empty_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    with pytest.raises(EmptyFile, match="b: the file is empty"):
        list(read_text([tmp_path / "a", tmp_path / "b"]))
