"""Plain text: several files as one stream."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from seqloom.data.lines import EmptyFile, read_chunks


def read_text(paths: Sequence[str | Path], characters: int = 1 << 20) -> Iterator[str]:
    r"""The text of all files in pieces of at most `characters`, with a newline between files where there was none.

    Of several files some may be empty (a glob over source code finds such), but not all.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.txt").write_text("one"), (folder / "b.txt").write_text("two\n")
    >>> "".join(read_text([folder / "a.txt", folder / "b.txt"]))
    'one\ntwo\n'
    """
    last, empty = "", None
    for path in paths:
        try:
            for number, chunk in enumerate(read_chunks(path, characters)):
                if number == 0 and last not in ("", "\n"):
                    yield "\n"
                yield chunk
                last = chunk[-1]
        except EmptyFile as error:
            empty = error
    if empty and not last:
        raise empty
