"""Tagging: words and letters, spans, chains of tags; what is shown of it in a report."""

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


def of_spans(folder: Path, **more: Any) -> Experiment:
    """People and places, BIO."""
    sentences = []
    for i in range(60):
        told = [(NAMES[i % 3], "B-PER"), (OTHERS[i % 5], "O"), (OTHERS[i * 7 % 5], "O")]
        for number, word in enumerate(PLACES[i % 2].split()):
            told.append((word, "I-LOC" if number else "B-LOC"))
        sentences.append("\n".join(f"{word}\t{tag}" for word, tag in [*told, (str(i), "O")]))
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
def test_spans_from_file_to_report(characters: str, crf: bool, tmp_path: Path) -> None:
    run = start(of_spans(tmp_path, characters=characters, crf=crf), tmp_path / "run")
    assert run.scores["chosen_by"] == "span_f1"
    assert run.scores["valid"]["span_f1"] > 0.8
    assert run.scores["details"]["per_span"].keys() <= {"PER", "LOC"}
    answer = seqloom.load(tmp_path / "run").predict(["Ada left the New York 3"])[0]
    assert answer["words"] == ["Ada", "left", "the", "New", "York", "3"]
    assert answer["tags"][0] == "B-PER"
    assert all(0 < p <= 1 for p in answer["probabilities"])
    told = read_report(tmp_path / "run")
    assert told.html()
    assert told.problems == ()


def test_without_spans_it_is_chosen_by_accuracy(tmp_path: Path) -> None:
    run = start(tiny("tag"), tmp_path / "run")
    assert run.scores["chosen_by"] == "accuracy"
    assert "span_f1" not in run.scores["valid"]


def test_a_report_has_all_its_parts(tmp_path: Path) -> None:
    """Counts are of words: padding is in none of them."""
    run = start(tiny("tag"), tmp_path / "run")
    task = tiny_session("tag").task
    assert isinstance(task, Tag)
    words = len(task.data.splits["valid"]["forms"].flat)
    told = read_report(tmp_path / "run")
    assert told.html()
    assert told.problems == ()
    shown = told.details
    assert isinstance(shown, TagReport)
    assert shown.confusion is not None
    assert sum(map(sum, shown.confusion.counts)) == words
    assert sum(bin_.predictions for bin_ in shown.calibration) == words
    assert sum(each.support or 0 for each in shown.per_class) == words
    right = sum(shown.confusion.counts[i][i] for i in range(len(shown.confusion.labels)))
    assert run.scores["valid"]["accuracy"] == pytest.approx(right / words)
    assert shown.worst
    for wrong in shown.worst:
        assert len(wrong.words) == len(wrong.gold) == len(wrong.predicted)
        assert wrong.gold != wrong.predicted
        assert wrong.location.startswith("copy:")
        assert wrong.probability is not None
    assert [wrong.probability for wrong in shown.worst] == sorted(wrong.probability or 0 for wrong in shown.worst)


@pytest.mark.parametrize("crf", [False, True])
def test_scores_equal_those_of_predict(crf: bool, tmp_path: Path) -> None:
    """The same sentences asked one by one: accuracy by hand."""
    run = start(tiny("tag", model={"crf": crf}), tmp_path / "run")
    task = tiny_session("tag").task
    assert isinstance(task, Tag)
    part, right, words = task.data.splits["valid"], 0, 0
    for row in range(len(part)):
        gold = [task.tags[int(tag)] for tag in part["tags"][row]]
        (answer,) = run.predict([" ".join(task.forms.words(part["forms"][row]))])
        right += sum(a == b for a, b in zip(gold, answer["tags"], strict=True))
        words += len(gold)
    assert run.scores["valid"]["accuracy"] == pytest.approx(right / words)


@pytest.mark.parametrize(
    ("characters", "stem", "spelling"),
    [("none", TokenEmbedding, None), ("lstm", WordEmbedding, CharacterLSTM), ("conv", WordEmbedding, CharacterCNN)],
)
def test_what_the_config_builds(characters: str, stem: type, spelling: type | None) -> None:
    task, model = task_of(model={"characters": characters, "crf": True})
    assert type(model.stem) is stem
    assert isinstance(model.head, CRF)
    assert model.stem.output_size == task.experiment.model.dim
    if spelling is not None:
        assert type(model.stem.spelling) is spelling


@pytest.mark.parametrize(("characters", "apart"), [("none", False), ("lstm", True), ("conv", True)])
def test_letters_tell_words_apart_that_were_never_seen(characters: str, apart: bool, tmp_path: Path) -> None:
    trainer = Session.prepare(of_spans(tmp_path, characters=characters)).trainer([])
    with torch.inference_mode():
        one, two = trainer.task.predict(trainer.model.eval(), ["Adaa", "Romeo"], CPU)
    assert (one["probabilities"] != two["probabilities"]) == apart


def test_a_long_sentence_is_read_in_pieces() -> None:
    task, model = task_of(data={"max_length": 4})
    words = list("abcdefghij")
    with torch.inference_mode():
        (whole,) = task.predict(model, [" ".join(words)], CPU)
        pieces = [task.predict(model, [" ".join(words[i : i + 4])], CPU)[0] for i in (0, 4, 8)]
    assert whole["words"] == words
    assert whole["tags"] == [tag for piece in pieces for tag in piece["tags"]]


def long_sentences(folder: Path, most: int, **model: Any) -> Session:
    """Sentences of 1 to 11 words, of which `most` are read together."""
    kinds = ("B-X", "I-X", "O", "O")
    rows = [[(f"w{(5 * i + j) % 7}", kinds[(i + j) % 4]) for j in range(1 + i % 11)] for i in range(40)]
    sentences = ["\n".join(f"{word}\t{tag}" for word, tag in row) for row in rows]
    for name, some in (("train", sentences), ("valid", sentences[:23])):
        (folder / f"{name}.conll").write_text("\n\n".join(some) + "\n", encoding="utf-8")
    data = {"train": str(folder / "train.conll"), "valid": str(folder / "valid.conll"), "max_length": most}
    raw = {"task": "tag", "data": data, "train": {"device": "cpu", "batch_tokens": 24}}
    return Session.prepare(experiment({**raw, "model": {"arch": "gru", "size": "tiny", **model}}))


@pytest.mark.parametrize("crf", [False, True])
def test_a_score_is_of_every_word_of_a_long_sentence(crf: bool, tmp_path: Path) -> None:
    trainer = long_sentences(tmp_path, most=4, crf=crf).trainer([])
    task, model = trainer.task, trainer.model.eval()
    assert isinstance(task, Tag)
    part = task.data.splits["valid"]
    sentences = [task.forms.words(part["forms"][row]) for row in range(len(part))]
    gold = [[task.tags[tag] for tag in part["tags"][row]] for row in range(len(part))]
    assert sum(map(len, sentences)) == sum(1 + i % 11 for i in range(23))
    with torch.inference_mode():
        evaluation = task.evaluate(model, "valid", CPU)
        said = [answer["tags"] for answer in task.predict(model, [" ".join(words) for words in sentences], CPU)]
    tags, spans = Tags(), Spans()
    for one, other in zip(gold, said, strict=True):
        tags.add(one, other)
        spans.add(one, other)
    expected = {**tags.scores(), **spans.scores()}
    assert {name: evaluation.scores[name] for name in expected} == pytest.approx(expected)
    assert sum(map(sum, evaluation.details["confusion"])) == sum(map(len, sentences))
    assert sum(each["count"] for each in evaluation.details["calibration"]) == sum(map(len, sentences))
    for wrong in evaluation.details["worst"]:
        assert wrong["text"] in sentences
        assert len(wrong["text"]) == len(wrong["gold"]) == len(wrong["predicted"])


def test_only_the_beginning_of_a_long_sentence_is_learnt_from(tmp_path: Path) -> None:
    task = long_sentences(tmp_path, most=4).task
    batches = [task.batch(item) for item in task.epoch(0)]
    assert max(batch.source.shape[1] for batch in batches) == 4
    assert sum(batch.tokens for batch in batches) == sum(min(4, 1 + i % 11) for i in range(40))
    cut = sum(1 + i % 11 > 4 for i in range(40))
    assert f"; {cut} truncated at 4 words" in task.describe()
    assert all(len(line.split()) <= 4 for batch in batches for line in task.format_batch(batch))


@pytest.mark.parametrize("crf", [False, True])
@pytest.mark.parametrize("arch", ["gru", "transformer", "mixer", "conv"])
def test_sentences_are_tagged_together_as_if_alone(arch: str, crf: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = tiny_session("tag", arch, model={"crf": crf}, data={"max_length": 5}).trainer([])
    task, model = trainer.task, trainer.model.eval()
    texts = ["a b c", "d", "a b c d e f g h i j k l", "b a longerword", "a a"]
    with torch.inference_mode():
        together = task.predict(model, texts, CPU)
        for text, told in zip(texts, together, strict=True):
            (alone,) = task.predict(model, [text], CPU)
            assert (told["text"], told["words"], told["tags"]) == (text, text.split(), alone["tags"])
            assert told["probabilities"] == pytest.approx(alone["probabilities"], abs=1e-6)
        calls: list[int] = []
        monkeypatch.setattr(model, "forward", counted(model.forward, calls))
        task.predict(model, ["a b"] * 20, CPU)
    assert calls == [20]


def counted(forward: Any, calls: list[int]) -> Any:
    """The same, and how many rows it was asked for."""

    def asked(source: torch.Tensor, *more: Any) -> Any:
        calls.append(len(source))
        return forward(source, *more)

    return asked


def test_a_batch_holds_the_sentences_it_names() -> None:
    task, _ = task_of()
    batch, part = task.batch(task.epoch(0)[0]), task.data.splits["train"]
    assert batch.lengths is not None
    for row, source, length, tags in zip(batch.rows, batch.source, batch.lengths.tolist(), batch.target, strict=True):
        words = task.forms.words(part["forms"][row])
        assert length == len(words)
        expected = torch.from_numpy(task.spellings.rows(words))[:, : source.shape[1]]
        assert source[:length].equal(expected)
        assert tags[:length].tolist() == part["tags"][row].tolist()
    assert all("/" in line for line in task.format_batch(batch))


def test_a_tag_that_the_run_never_saw_is_refused(tmp_path: Path) -> None:
    run = start(tiny("tag", train={"steps": 2, "validate_every": 2}), tmp_path / "run")
    (tmp_path / "test.conll").write_text("a\tNEW\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"test\.conll:1: tag 'NEW' is not one of the run's"):
        run.evaluate([str(tmp_path / "test.conll")])


def test_data_in_a_line() -> None:
    told = task_of(data={"test_share": 0.2})[0].describe()
    for words in (" training", " validation", " test", "words", "tags"):
        assert words in told


def test_a_task_that_only_predicts_has_no_data() -> None:
    task, _ = task_of()
    with pytest.raises(UserError, match="has not read any data"):
        _ = Tag.from_files(task.experiment, task.files()).data
