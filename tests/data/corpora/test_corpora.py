"""What every embedded corpus promises: the tasks it names, the same each time, as many as asked."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from seqloom.data.corpora import CORPORA, Corpus, default_corpus
from seqloom.data.corpora.scenes import Scene
from seqloom.data.examples import Labelled, Pair, Place, Sentence
from seqloom.spec import names
from seqloom.spec.errors import UnknownName, UserError

METHODS: dict[str, Callable[..., Any]] = {
    "language": Corpus.text,
    "classify": Corpus.labelled,
    "tag": Corpus.sentences,
    "translate": Corpus.pairs,
    "caption": Corpus.scenes,
}
EVERY = [(name, task) for name, corpus in CORPORA.items() for task in corpus.tasks]
every_corpus_and_task = pytest.mark.parametrize(("name", "task"), EVERY)


def made(name: str, task: str, seed: int, length: int | None = None, examples: int | None = None) -> list[Any]:
    return list(islice(METHODS[task](CORPORA[name], seed, length, examples), 50))


def test_the_registry_has_the_names_of_the_spec() -> None:
    assert tuple(CORPORA) == names.CORPORA
    assert [corpus.name for corpus in CORPORA.values()] == list(CORPORA)


def test_every_task_has_a_default_that_has_it() -> None:
    for task in names.TASKS:
        assert task in CORPORA[default_corpus(task)].tasks
    assert [default_corpus(task) for task in names.TASKS] == ["python", "numbers", "python", "numbers", "scenes"]
    with pytest.raises(UnknownName, match="Did you mean 'tag'"):
        default_corpus("tagg")


def test_summaries_are_one_line() -> None:
    for corpus in CORPORA.values():
        assert len(corpus.summary) > 100
        assert "\n" not in corpus.summary


@pytest.mark.parametrize("name", list(CORPORA))
@pytest.mark.parametrize("task", names.TASKS)
def test_a_task_that_it_lacks_is_a_sentence_that_names_others(name: str, task: str) -> None:
    if (name, task) in EVERY:
        return
    with pytest.raises(UserError) as error:
        METHODS[task](CORPORA[name], 0)
    having = " or ".join(other for other, its in EVERY if its == task)
    assert str(error.value).startswith(f"the corpus {name} has nothing for {task} (it has ")
    assert str(error.value).endswith(f"Use {having}.")


@every_corpus_and_task
def test_the_seed_decides(name: str, task: str) -> None:
    first = made(name, task, seed=1, examples=60)
    assert first == made(name, task, seed=1, examples=60)
    assert first != made(name, task, seed=2, examples=60)


@every_corpus_and_task
def test_as_many_as_asked(name: str, task: str) -> None:
    examples = made(name, task, seed=3, examples=37)
    if (name, task) == ("python", "language"):
        assert sum(map(len, examples)) == 37
    else:
        assert len(examples) == 37


@every_corpus_and_task
def test_examples_are_whole(name: str, task: str) -> None:
    for number, example in enumerate(made(name, task, seed=4, examples=40), start=1):
        match example:
            case str():
                assert example
            case Labelled():
                assert example.text == " ".join(example.text.split()) != ""
                assert len(example.labels) == 1
                assert example.place == Place(name, number)
            case Sentence():
                assert len(example.words) == len(example.tags) > 1
                assert all(word and not any(map(str.isspace, word)) for word in example.words)
                assert example.place == Place(name, number)
            case Pair():
                for side in (example.source, example.target):
                    assert side == " ".join(side.split()) != ""
                assert example.place == Place(name, number)
            case Scene():
                assert example.caption.split()
                assert example.number == number
            case _:
                raise AssertionError(example)
