"""Files are read once for classify and tag; a file that changes meanwhile is refused."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data import lines
from seqloom.data.cache import cache_folder
from seqloom.data.examples import Labelled, Place, Sentence
from seqloom.data.labelled import labelled
from seqloom.data.origin import Origin
from seqloom.data.parted import ReadOnce
from seqloom.data.split import TEST, TRAIN, VALID
from seqloom.data.streams import streams
from seqloom.data.tagged import tagged
from seqloom.spec.errors import DataError
from seqloom.tasks.registry import experiment

READY = {"language": streams, "classify": labelled, "tag": tagged}
CONTENT = {
    "language": ("a.txt", "".join(f"line {i}\n" for i in range(300))),
    "classify": ("a.tsv", "".join(f"text {i}\tlabel {i % 3}\n" for i in range(300))),
    "tag": ("a.conll", "".join(f"word{i}\tN\nsees\tV\n\n" for i in range(300))),
}
words = st.text(st.characters(codec="utf-8"), max_size=8)
several, places = st.lists(words).map(tuple), st.builds(Place, words, st.integers(1))
some_labelled, some_sentence = (
    st.builds(Labelled, words, several, places),
    st.builds(Sentence, several, several, places),
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))


def origin(task: str, **data: Any) -> Origin:
    name, content = CONTENT[task]
    Path(name).write_text(content)
    columns = {"text": "1", "label": "2", "header": False} if task == "classify" else {}
    return Origin.of(experiment({"task": task, "data": {"train": name, **columns, **data}}))


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file is read to its end."""
    read, counts = lines._unpacked, Counter[str]()

    def counted(path: Path) -> Iterator[bytes]:
        yield from read(path)
        counts[path.name] += 1

    monkeypatch.setattr(lines, "_unpacked", counted)
    return counts


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_file_is_read_to_its_end_once(task: str, readings: Counter[str]) -> None:
    found = origin(task, test_share=0.1)
    READY[task](found)
    assert readings[CONTENT[task][0]] == 1 + (task == "classify")  # columns are guessed from the first 1,000 rows


def test_a_text_is_read_for_its_length_and_its_tokens_and_learnt_from_its_beginning(readings: Counter[str]) -> None:
    streams(origin("language", test_share=0.1))
    assert readings["a.txt"] <= 3


@pytest.mark.parametrize("task", list(READY))
def test_a_file_that_changes_meanwhile_is_refused(task: str) -> None:
    found = origin(task)
    name, content = CONTENT[task]
    Path(name).write_text(content + content[: content.index("\n", 20) + 1])
    with pytest.raises(DataError, match=rf"^{name}: the file changed while it was being read\. Try again"):
        READY[task](found)
    assert not [left for left in cache_folder().iterdir() if not left.name.startswith(".")]


@pytest.mark.parametrize("task", list(READY))
def test_a_file_that_was_only_touched_is_not(task: str) -> None:
    found = origin(task)
    name, content = CONTENT[task]
    Path(name).write_text(content)
    READY[task](found)
    assert not list(cache_folder().rglob("copy.jsonl"))


@given(st.lists(st.tuples(st.sampled_from([TRAIN, VALID, TEST]), some_labelled | some_sentence)))
def test_the_copy_gives_back_what_was_read(
    tmp_path_factory: pytest.TempPathFactory, examples: list[tuple[str, Labelled | Sentence]]
) -> None:
    folder = tmp_path_factory.mktemp("copy")
    for kind in (Labelled, Sentence):
        mine = [(part, example) for part, example in examples if isinstance(example, kind)]
        kept = ReadOnce[Any](origin("tag"), lambda part, bad: iter(()), kind, folder / "copy.jsonl")
        kept._from_files = lambda mine=mine: iter(mine)  # type: ignore[method-assign]
        assert list(kept.first()) == mine
        assert list(kept) == mine
