"""A task and a model family that this module registers: config, help and lists."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest
import torch

from seqloom.cli.main import main
from seqloom.core.config.data import RowData, VocabularyData
from seqloom.core.config.section import Section, Values, key, keys
from seqloom.core.problem import ArgumentError, ConfigError, PartError
from seqloom.core.registry import Registry
from seqloom.data.spec import DataSpec, EmbeddedCorpus, Role
from seqloom.models import encoder_decoder
from seqloom.models.family import Family, Use, Width
from seqloom.models.registry import ARCHITECTURES, Architecture
from seqloom.nn.convolution import CausalConvolution
from seqloom.nn.layer import Layer
from seqloom.nn.stack import Stack
from seqloom.tasks.config_keys import all_keys
from seqloom.tasks.experiment import Experiment, Help
from seqloom.tasks.registry import TASKS, TaskEntry, experiment
from tests.temporary_parts import temporary_parts


class Bigram(Family):
    """A model that sees each token and the one before it."""

    sizes: ClassVar[Mapping[str, Values]] = {
        "tiny": {"dim": 8, "depth": 1, "hidden": 16},
        "small": {"dim": 16, "depth": 1, "hidden": 32},
        "base": {"dim": 32, "depth": 1, "hidden": 64},
    }

    hidden: Width = key(..., "The size of its output.")
    steepness: float = key(1.0, "How steep it is.", gt=0)

    @property
    def hidden_width(self) -> int:
        return self.hidden

    def build(self, input_size: int, *, causal: bool) -> Layer:
        return Stack([CausalConvolution(input_size, self.hidden, 2)])


FAMILY = Bigram


class CountData(RowData, VocabularyData):
    """Texts in, numbers out."""

    unit: str | None = key(None, "What is counted.", of_file=True)


class CountModel(Section):
    """The key of every model of the task."""

    rounded: bool = key(False, "Whether answers are whole numbers.")


class Config(Experiment):
    """Count the words of a text."""

    data_spec = DataSpec(
        "count", "plain text", ("text",), corpora=Registry("corpus", {"lines": EmbeddedCorpus("nowhere:lines")})
    )
    help = Help("Learns to count words.", "texts.txt", "--data.unit word", "texts.txt --valid more.txt")
    architecture = "gru"
    use = Use.ENCODE

    data: CountData = key(..., "Files in, numbers out.")

    @classmethod
    def model_keys(cls, family: type[Family]) -> tuple[type[Section], ...]:
        return (CountModel,)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Register the task and the family for one test."""
    with temporary_parts():
        TASKS.register("count", TaskEntry(__name__, "count the words of a text"))
        ARCHITECTURES.register("bigram", Architecture(__name__, "each token and the one before it"))
        yield


@pytest.mark.parametrize("task", TASKS)
def test_every_task_accepts_the_added_family(task: str) -> None:
    config = experiment({"task": task, "model": {"arch": "bigram", "size": "tiny", "steepness": "2"}})
    model = keys(config.model, Bigram)
    assert (model.dim, model.hidden, model.steepness) == (8, 16, 2.0)
    assert experiment(config.model_dump()) == config


def test_the_added_task_accepts_every_family() -> None:
    for arch in ARCHITECTURES:
        config = experiment({"task": "count", "model": {"arch": arch, "rounded": True}})
        assert keys(config.model, CountModel).rounded
        assert config.decode is None


def test_the_added_family_is_an_encoder_and_a_decoder() -> None:
    for model in ({"arch": "bigram"}, {"arch": "gru", "encoder": "bigram"}, {"arch": "bigram", "encoder": "gru"}):
        section = experiment({"task": "translate", "model": {"size": "tiny", **model}}).model
        stem = (encoder_decoder.encoder_section(section, 9) or section).tokens(11)
        built = encoder_decoder.build(section, stem, section.tokens(11), max_length=9, smoothing=0.0)
        source, target = torch.randint(11, (2, 7)), torch.randint(11, (2, 5))
        y, _ = built(source, target, torch.tensor([7, 4]), torch.tensor([5, 3]))
        assert y.shape[:2] == (2, 5)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"task": "count", "data": {"text": "x"}}, "data.text has no effect in count; it is a key of classify."),
        ({"task": "tag", "data": {"unit": "x"}}, "data.unit has no effect in tag; it is a key of count."),
        ({"task": "count", "data": {"unit": "x"}}, "data.unit has no effect without a file to read"),
        ({"task": "tag", "model": {"steepness": 2}}, "model.steepness is not a key of lstm; it is one of bigram."),
        ({"task": "count", "data": {"corpus": "python"}}, "data.corpus is python, which is not a corpus for count"),
        (
            {"task": "tag", "data": {"corpus": "lines"}},
            "data.corpus is lines, which is not a corpus for tag (only for count)",
        ),
        ({"task": "coumt"}, "task is 'coumt'; expected one of language, classify, tag, translate, caption, count. Did"),
        ({"task": "tag", "model": {"arch": "bigrm"}}, "unknown model.arch 'bigrm'. Did you mean 'bigram'?"),
        ({"task": "count", "model": {"steepnes": 2}}, "unknown key model.steepnes. Did you mean model.steepness?"),
    ],
)
def test_error_messages_name_the_added_task_and_family(raw: Values, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        experiment(raw)
    assert str(caught.value).startswith(message)


def test_help_and_lists_have_the_added_task_and_family(capsys: pytest.CaptureFixture[str]) -> None:
    def output_of(*words: str) -> str:
        assert main(words) == 0
        return capsys.readouterr().out

    output = output_of("train", "count", "--model", "bigram", "--help")
    assert "Learns to count words." in output
    assert all(option in output for option in ("--data.unit ", "--model.steepness ", "]model.rounded "))
    assert "--data.text " not in output
    assert "count the words of a text" in output_of("train", "--help")
    assert "count the words of a text" in output_of("list", "tasks")
    assert "bigram" in output_of("list", "models")


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(PartError, match=r"the task 'count' is taken\. Give it another name\."):
        TASKS.register("count", TaskEntry(__name__, "again"))


def test_added_parts_can_be_removed() -> None:
    with temporary_parts():
        TASKS.register("another", TaskEntry(__name__, "the same again"))
        assert "another" in all_keys()["data.unit"].tasks
    assert "another" not in all_keys()["data.unit"].tasks


def test_a_role_without_its_config_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(Config):
        """A task whose section lacks a column."""

        data_spec = DataSpec("count", "tables", ("table",), roles=(Role("text", "text"),))

    with pytest.raises(ArgumentError, match=r"Forgetful: the role 'text' has no key; expected data\.text in its data"):
        Forgetful.with_family(Bigram)


def test_a_task_module_without_task_is_an_error() -> None:
    with pytest.raises(ArgumentError, match=r"task: seqloom\.tasks\.metrics\.classes has no TASK"):
        _ = TaskEntry("seqloom.tasks.metrics.classes", "no task").task
