"""Tagging: words and letters, spans, conditional random fields, and the report."""

from pathlib import Path
from typing import Any

import pytest
import torch

import seqloom
from seqloom.api import start
from seqloom.core.problem import DataError, UserError
from seqloom.lens.report import read_report
from seqloom.nn.heads.crf import CRF
from seqloom.nn.stems import TokenEmbedding
from seqloom.nn.word_embedding import CharacterCNN, CharacterLSTM, WordEmbedding
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.metrics.spans import Spans, Tags
from seqloom.tasks.registry import experiment
from seqloom.tasks.tag.report import TagReport
from seqloom.tasks.tag.task import Tag
from seqloom.training.session import Session
from tests.training.small import tiny, tiny_session

pytestmark = pytest.mark.usefixtures("unchecked")
CPU = torch.device("cpu")
NAMES, PLACES, OTHERS = ("Ada", "Grace", "Alan"), ("Paris", "New York", "Rome"), ("saw", "left", "of", "the", "in")


def span_config(folder: Path, **more: Any) -> Experiment:
    """A config of sentences with names of people and places, tagged in the BIO scheme."""
    sentences = []
    for i in range(60):
        sentence = [(NAMES[i % 3], "B-PER"), (OTHERS[i % 5], "O"), (OTHERS[i * 7 % 5], "O")]
        for number, word in enumerate(PLACES[i % 2].split()):
            sentence.append((word, "I-LOC" if number else "B-LOC"))
        sentences.append("\n".join(f"{word}\t{tag}" for word, tag in [*sentence, (str(i), "O")]))
    (folder / "spans.conll").write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
    train = {"steps": 40, "validate_every": 20, "batch_tokens": 256, "lr": 0.02, "device": "cpu"}
    data = {"train": str(folder / "spans.conll"), "valid_share": 0.3}
    return experiment({"task": "tag", "data": data, "train": train, "model": {"arch": "gru", "size": "tiny", **more}})


def task_of(**more: Any) -> tuple[Tag, Any]:
    trainer = tiny_session("tag", **more).trainer([])
    assert isinstance(trainer.task, Tag)
    return trainer.task, trainer.model.eval()


@pytest.mark.parametrize("crf", [False, True])
@pytest.mark.parametrize("characters", ["none", "lstm", "conv"])
def test_a_span_tagger_trains_predicts_and_reports(characters: str, crf: bool, tmp_path: Path) -> None:
    run = start(span_config(tmp_path, characters=characters, crf=crf), tmp_path / "run")
    assert run.scores["chosen_by"] == "span_f1"
    assert run.scores["valid"]["span_f1"] > 0.8
    assert run.scores["details"]["per_span"].keys() <= {"PER", "LOC"}
    answer = seqloom.load(tmp_path / "run").predict(["Ada left the New York 3"])[0]
    assert answer["words"] == ["Ada", "left", "the", "New", "York", "3"]
    assert answer["tags"][0] == "B-PER"
    assert all(0 < p <= 1 for p in answer["probabilities"])
    report = read_report(tmp_path / "run")
    assert report.html()
    assert report.problems == ()


def test_without_spans_the_best_model_is_selected_by_accuracy(tmp_path: Path) -> None:
    run = start(tiny("tag"), tmp_path / "run")
    assert run.scores["chosen_by"] == "accuracy"
    assert "span_f1" not in run.scores["valid"]


def test_the_report_is_complete_and_agrees_with_the_scores(tmp_path: Path) -> None:
    """The counts are of words, without padding."""
    run = start(tiny("tag"), tmp_path / "run")
    task = tiny_session("tag").task
    assert isinstance(task, Tag)
    words = len(task.data.splits["valid"]["forms"].flat)
    report = read_report(tmp_path / "run")
    assert report.html()
    assert report.problems == ()
    details = report.details
    assert isinstance(details, TagReport)
    assert details.confusion is not None
    assert sum(map(sum, details.confusion.counts)) == words
    assert sum(bin_.predictions for bin_ in details.calibration) == words
    assert sum(row.support or 0 for row in details.per_class) == words
    right = sum(details.confusion.counts[i][i] for i in range(len(details.confusion.labels)))
    assert run.scores["valid"]["accuracy"] == pytest.approx(right / words)
    assert details.worst
    for example in details.worst:
        assert len(example.words) == len(example.gold) == len(example.predicted)
        assert example.gold != example.predicted
        assert example.location.startswith("copy:")
        assert example.probability is not None
    assert [example.probability for example in details.worst] == sorted(
        example.probability or 0 for example in details.worst
    )


@pytest.mark.parametrize("crf", [False, True])
def test_accuracy_equals_that_of_predict(crf: bool, tmp_path: Path) -> None:
    run = start(tiny("tag", model={"crf": crf}), tmp_path / "run")
    task = tiny_session("tag").task
    assert isinstance(task, Tag)
    split, right, words = task.data.splits["valid"], 0, 0
    for row in range(len(split)):
        gold = [task.tags[int(tag)] for tag in split["tags"][row]]
        (answer,) = run.predict([" ".join(task.forms.words(split["forms"][row]))])
        right += sum(a == b for a, b in zip(gold, answer["tags"], strict=True))
        words += len(gold)
    assert run.scores["valid"]["accuracy"] == pytest.approx(right / words)


@pytest.mark.parametrize(
    ("characters", "stem", "spelling"),
    [("none", TokenEmbedding, None), ("lstm", WordEmbedding, CharacterLSTM), ("conv", WordEmbedding, CharacterCNN)],
)
def test_the_model_is_built_as_configured(characters: str, stem: type, spelling: type | None) -> None:
    task, model = task_of(model={"characters": characters, "crf": True})
    assert type(model.stem) is stem
    assert isinstance(model.head, CRF)
    assert model.stem.output_size == task.experiment.model.dim
    if spelling is not None:
        assert type(model.stem.spelling) is spelling


@pytest.mark.parametrize(("characters", "apart"), [("none", False), ("lstm", True), ("conv", True)])
def test_unknown_words_are_distinguished_by_their_letters(characters: str, apart: bool, tmp_path: Path) -> None:
    trainer = Session.prepare(span_config(tmp_path, characters=characters)).trainer([])
    with torch.inference_mode():
        first, second = trainer.task.predict(trainer.model.eval(), ["Adaa", "Romeo"], CPU)
    assert (first["probabilities"] != second["probabilities"]) == apart


def test_a_long_sentence_is_tagged_in_chunks() -> None:
    task, model = task_of(data={"max_length": 4})
    words = list("abcdefghij")
    with torch.inference_mode():
        (whole,) = task.predict(model, [" ".join(words)], CPU)
        chunks = [task.predict(model, [" ".join(words[i : i + 4])], CPU)[0] for i in (0, 4, 8)]
    assert whole["words"] == words
    assert whole["tags"] == [tag for chunk in chunks for tag in chunk["tags"]]


def long_sentences(folder: Path, max_length: int, **model: Any) -> Session:
    """Sentences of 1 to 11 words; at most `max_length` are read together."""
    kinds = ("B-X", "I-X", "O", "O")
    rows = [[(f"w{(5 * i + j) % 7}", kinds[(i + j) % 4]) for j in range(1 + i % 11)] for i in range(40)]
    sentences = ["\n".join(f"{word}\t{tag}" for word, tag in row) for row in rows]
    for name, subset in (("train", sentences), ("valid", sentences[:23])):
        (folder / f"{name}.conll").write_text("\n\n".join(subset) + "\n", encoding="utf-8")
    data = {"train": str(folder / "train.conll"), "valid": str(folder / "valid.conll"), "max_length": max_length}
    config = {"task": "tag", "data": data, "train": {"device": "cpu", "batch_tokens": 24}}
    return Session.prepare(experiment({**config, "model": {"arch": "gru", "size": "tiny", **model}}))


@pytest.mark.parametrize("crf", [False, True])
def test_every_word_of_a_long_sentence_is_scored(crf: bool, tmp_path: Path) -> None:
    trainer = long_sentences(tmp_path, max_length=4, crf=crf).trainer([])
    task, model = trainer.task, trainer.model.eval()
    assert isinstance(task, Tag)
    split = task.data.splits["valid"]
    sentences = [task.forms.words(split["forms"][row]) for row in range(len(split))]
    gold = [[task.tags[tag] for tag in split["tags"][row]] for row in range(len(split))]
    assert sum(map(len, sentences)) == sum(1 + i % 11 for i in range(23))
    with torch.inference_mode():
        evaluation = task.evaluate(model, "valid", CPU)
        predicted = [answer["tags"] for answer in task.predict(model, [" ".join(words) for words in sentences], CPU)]
    tags, spans = Tags(), Spans()
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        tags.add(gold_tags, predicted_tags)
        spans.add(gold_tags, predicted_tags)
    expected = {**tags.scores(), **spans.scores()}
    assert {name: evaluation.scores[name] for name in expected} == pytest.approx(expected)
    assert sum(map(sum, evaluation.details["confusion"])) == sum(map(len, sentences))
    assert sum(bin_["count"] for bin_ in evaluation.details["calibration"]) == sum(map(len, sentences))
    for example in evaluation.details["worst"]:
        assert example["text"] in sentences
        assert len(example["text"]) == len(example["gold"]) == len(example["predicted"])


def test_training_truncates_a_long_sentence(tmp_path: Path) -> None:
    task = long_sentences(tmp_path, max_length=4).task
    batches = [task.batch(item) for item in task.epoch(0)]
    assert max(batch.source.shape[1] for batch in batches) == 4
    assert sum(batch.tokens for batch in batches) == sum(min(4, 1 + i % 11) for i in range(40))
    cut = sum(1 + i % 11 > 4 for i in range(40))
    assert f"; {cut} truncated at 4 words" in task.describe()
    assert all(len(line.split()) <= 4 for batch in batches for line in task.format_batch(batch))


@pytest.mark.parametrize("crf", [False, True])
@pytest.mark.parametrize("arch", ["gru", "transformer", "mixer", "conv"])
def test_sentences_are_tagged_in_a_batch_as_alone(arch: str, crf: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = tiny_session("tag", arch, model={"crf": crf}, data={"max_length": 5}).trainer([])
    task, model = trainer.task, trainer.model.eval()
    texts = ["a b c", "d", "a b c d e f g h i j k l", "b a longerword", "a a"]
    with torch.inference_mode():
        together = task.predict(model, texts, CPU)
        for text, answer in zip(texts, together, strict=True):
            (alone,) = task.predict(model, [text], CPU)
            assert (answer["text"], answer["words"], answer["tags"]) == (text, text.split(), alone["tags"])
            assert answer["probabilities"] == pytest.approx(alone["probabilities"], abs=1e-6)
        calls: list[int] = []
        monkeypatch.setattr(model, "forward", count_rows(model.forward, calls))
        task.predict(model, ["a b"] * 20, CPU)
    assert calls == [20]


def count_rows(forward: Any, calls: list[int]) -> Any:
    """Append the number of rows of each call to `calls`."""

    def wrapper(source: torch.Tensor, *more: Any) -> Any:
        calls.append(len(source))
        return forward(source, *more)

    return wrapper


def test_a_batch_has_the_words_and_tags_of_its_rows() -> None:
    task, _ = task_of()
    batch, split = task.batch(task.epoch(0)[0]), task.data.splits["train"]
    assert batch.lengths is not None
    for row, source, length, tags in zip(batch.rows, batch.source, batch.lengths.tolist(), batch.target, strict=True):
        words = task.forms.words(split["forms"][row])
        assert length == len(words)
        expected = torch.from_numpy(task.spellings.rows(words))[:, : source.shape[1]]
        assert source[:length].equal(expected)
        assert tags[:length].tolist() == split["tags"][row].tolist()
    assert all("/" in line for line in task.format_batch(batch))


def test_a_tag_unknown_to_the_run_is_refused(tmp_path: Path) -> None:
    run = start(tiny("tag", train={"steps": 2, "validate_every": 2}), tmp_path / "run")
    (tmp_path / "test.conll").write_text("a\tNEW\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"test\.conll:1: tag 'NEW' is not one of the run's"):
        run.evaluate([str(tmp_path / "test.conll")])


def test_the_description_has_the_splits_the_words_and_the_tags() -> None:
    description = task_of(data={"test_share": 0.2})[0].describe()
    for words in (" training", " validation", " test", "words", "tags"):
        assert words in description


def test_a_task_that_only_predicts_has_no_data() -> None:
    task, _ = task_of()
    with pytest.raises(UserError, match="has not read any data"):
        _ = Tag.from_files(task.experiment, task.files()).data
