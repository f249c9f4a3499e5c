"""Every embedded corpus is deterministic, has the requested number of examples and valid examples for its tasks."""

from itertools import islice
from typing import Any

import pytest

from seqloom.core.problem import ConfigError, UnknownName
from seqloom.data.corpora.scenes import Scene
from seqloom.data.records import Location, Record
from seqloom.data.spec import EmbeddedCorpus
from seqloom.tasks.registry import TASKS, experiment

EVERY = [(name, task) for task, entry in TASKS.items() for name in entry.data_spec.corpora]
NAMES = sorted({name for name, _ in EVERY})
every_corpus_and_task = pytest.mark.parametrize(("name", "task"), EVERY)


def corpus(name: str, task: str) -> EmbeddedCorpus:
    return TASKS[task].data_spec.corpora[name]


def generate_examples(name: str, task: str, seed: int, examples: int) -> list[Any]:
    data = experiment({"task": task, "data": {"corpus": name, "seed": seed, "examples": examples}}).data
    return list(islice(corpus(name, task).generate(data), 50))


def test_each_task_has_its_corpora() -> None:
    assert {task: list(entry.data_spec.corpora) for task, entry in TASKS.items()} == {
        "language": ["python", "copy", "brackets"],
        "classify": ["numbers"],
        "tag": ["python", "copy", "brackets"],
        "translate": ["numbers", "copy"],
        "caption": ["scenes"],
    }


def test_every_task_has_a_default() -> None:
    defaults = {task: entry.data_spec.default_corpus for task, entry in TASKS.items()}
    assert defaults == {
        "language": "python",
        "classify": "numbers",
        "tag": "python",
        "translate": "numbers",
        "caption": "scenes",
    }
    with pytest.raises(UnknownName, match="Did you mean 'tag'"):
        TASKS["tagg"]


@every_corpus_and_task
def test_summaries_are_one_line_and_the_same_for_each_task(name: str, task: str) -> None:
    summary = corpus(name, task).summary
    assert len(summary) > 100
    assert "\n" not in summary
    assert {corpus(name, other_task).summary for other_name, other_task in EVERY if other_name == name} == {summary}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("task", list(TASKS))
def test_a_corpus_of_another_task_is_refused(name: str, task: str) -> None:
    if (name, task) in EVERY:
        return
    with pytest.raises(ConfigError) as error:
        experiment({"task": task, "data": {"corpus": name}})
    owners = ", ".join(other for other in TASKS if name in TASKS[other].data_spec.corpora)
    alternatives = " or ".join(TASKS[task].data_spec.corpora)
    assert (
        str(error.value)
        == f"data.corpus is {name}, which is not a corpus for {task} (only for {owners}). Use {alternatives}."
    )


@every_corpus_and_task
def test_examples_depend_on_the_seed(name: str, task: str) -> None:
    first = generate_examples(name, task, seed=1, examples=12)
    assert first == generate_examples(name, task, seed=1, examples=12)
    assert first != generate_examples(name, task, seed=2, examples=12)


@every_corpus_and_task
def test_the_corpus_has_the_requested_number_of_examples(name: str, task: str) -> None:
    examples = generate_examples(name, task, seed=3, examples=17)
    if (name, task) == ("python", "language"):
        assert sum(map(len, examples)) == 17
    else:
        assert len(examples) == 17


@every_corpus_and_task
def test_examples_are_valid(name: str, task: str) -> None:
    for number, example in enumerate(generate_examples(name, task, seed=4, examples=16), start=1):
        if task == "language":
            assert isinstance(example, str)
            assert example
            continue
        assert isinstance(example, Record)
        assert example.location == Location(name, number)
        match task, example.values:
            case "classify", (str() as text, (str() as label,)):
                assert text == " ".join(text.split()) != ""
                assert label
            case "tag", (tuple() as words, tuple() as tags):
                assert len(words) == len(tags) > 1
                assert all(word and not any(map(str.isspace, word)) for word in words)
            case "translate", (str() as source, str() as target):
                for side in (source, target):
                    assert side == " ".join(side.split()) != ""
            case "caption", (Scene() as scene, str() as caption):
                assert caption.split()
                assert caption == scene.caption
                assert scene.number == number
            case _:
                raise AssertionError(example)
