"""User-defined readers, corpora and tasks work like built-in ones in Python, in a config file and in the help."""

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.core.code_file import load_code
from seqloom.core.config.data import RowData
from seqloom.core.problem import ConfigError, PartError, RunError, UserError
from seqloom.data.formats import FORMATS
from seqloom.data.records import Location, Record
from seqloom.data.spec import DataSpec
from seqloom.data.text_io import OnBadLine, read_lines
from seqloom.tasks.registry import TASKS, experiment
from seqloom.tasks.row_task import RowTask
from tests.temporary_parts import temporary_parts
from tests.toys import word_count

TINY: dict[str, Any] = {"size": "tiny", "train": {"steps": 2, "device": "cpu"}}


@pytest.fixture(autouse=True)
def temporary_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Remove what a test registers."""
    with temporary_parts():
        monkeypatch.chdir(tmp_path)
        yield


# Readers -------------------------------------------------------------------------------------------------------------


def bars(paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine) -> Iterator[tuple[Location, list[str]]]:
    for path in paths:
        for number, line in read_lines(path, data.max_characters, on_bad_line):
            yield Location(str(path), number), [cell.strip() for cell in line.split("|")]


ROWS = "text | label\n" + "".join(f"a film of number {n} | {'good' if n % 2 else 'bad'}\n" for n in range(40))


def test_a_reader_is_used_by_suffix_and_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert seqloom.register.reader("bars", suffixes=(".bars",), separator=" | ")(bars) is bars
    for name in ("films.bars", "films.data"):
        Path(name).write_text(ROWS, encoding="utf-8")
    run = seqloom.train("classify", "films.bars", out="run", **TINY)
    assert run.predict(["a bore"])[0]["label"] in ("good", "bad")
    words = ["--size", "tiny", "--train.steps", "2", "--train.device", "cpu", "--out", "again"]
    assert main(["train", "classify", "films.data", "--data.format", "bars", *words]) == 0
    assert seqloom.load("again").experiment.data.format == "bars"
    assert main(["evaluate", "again", "films.data"]) == 0
    capsys.readouterr()
    assert main(["train", "classify", "--help"]) == 0
    assert "jsonl, bars, folder" in " ".join(capsys.readouterr().out.replace("│", " ").split())
    with pytest.raises(ConfigError, match=r"data\.format is 'bras'; .* Did you mean bars\?"):
        experiment({"task": "classify", "data": {"train": "films.data", "format": "bras"}})


def test_a_reader_may_yield_records_with_names() -> None:
    @seqloom.register.reader("pairs", suffixes=(".pairs",), keyed=True)
    def pairs(
        paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine
    ) -> Iterator[tuple[Location, dict[str, str]]]:
        for location, (text, label) in bars(paths, data, on_bad_line):
            yield location, {"text": text, "label": label}

    Path("films.pairs").write_text(ROWS.partition("\n")[2], encoding="utf-8")
    assert seqloom.train("classify", "films.pairs", out="run", **TINY).predict(["a bore"])


def test_a_reader_may_yield_sentences() -> None:
    @seqloom.register.reader("slashes", suffixes=(".slashes",), kind="conll")
    def slashes(
        paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine
    ) -> Iterator[tuple[Location, tuple[Any, Any]]]:
        for number in range(40):
            yield Location(str(paths[0]), number + 1), (("a", f"dog{number}"), ("DET", "NOUN"))

    Path("dogs.slashes").write_text("a/DET dog/NOUN\n", encoding="utf-8")
    assert seqloom.train("tag", "dogs.slashes", out="run", **TINY).predict(["a dog"])[0]["words"] == ["a", "dog"]


def fails(paths: object, data: object, on_bad_line: object) -> Iterator[tuple[Location, list[str]]]:
    yield Location("films.bars", 1), ["text", "label"]
    raise KeyError("nowhere")


def bare(paths: object, data: object, on_bad_line: object) -> Iterator[list[str]]:
    yield ["text", "label"]


def one_text(paths: object, data: object, on_bad_line: object) -> Iterator[tuple[Location, str]]:
    yield Location("films.bars", 1), "text"


def nothing(paths: object, data: object, on_bad_line: object) -> None: ...


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (fails, "raised KeyError: 'nowhere'. Correct it."),
        (bare, "gave ['text', 'label'], not (Location(file, line), a list of cells). Give that for each record."),
        (one_text, "gave (Location(file='films.bars', line=1), 'text'), not (Location(file, line)"),
        (nothing, "returned None, which can't be iterated over. Write a generator: yield."),
    ],
)
def test_a_reader_that_fails_is_one_message(part: Callable[..., object], message: str) -> None:
    seqloom.register.reader("bars", part, suffixes=(".bars",))
    Path("films.bars").write_text(ROWS, encoding="utf-8")
    with pytest.raises(PartError) as error:
        seqloom.train("classify", "films.bars", out="run", **TINY)
    assert str(error.value).startswith(f"{__file__}:")
    assert f": the reader 'bars' {message}" in str(error.value)


@pytest.mark.parametrize(
    ("part", "options", "message"),
    [
        (
            lambda paths: None,
            {},
            "takes (paths), not (paths, data, on_bad_line). Write a function of (paths, data, on_bad_line).",
        ),
        (bars, {"suffixes": (".csv",)}, "has the suffix '.csv', which csv has. Give it another, or none"),
        (bars, {"suffixes": (".txt",)}, "has the suffix '.txt', which text has."),
        (bars, {"suffixes": ("bars",)}, "has the suffix 'bars'. Write a dot, then lower-case letters and"),
        (bars, {"suffixes": ".a.b"}, "has the suffix '.a.b'. Write a dot"),
        (bars, {"kind": "tabel"}, "is of the kind 'tabel', which no task reads from records. Give one of conll, fol"),
        (bars, {"kind": "text"}, "is of the kind 'text', which no task reads from records."),
    ],
)
def test_an_invalid_reader_is_refused(part: object, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PartError) as error:
        seqloom.register.reader("bars", part, **options)
    assert f"the reader 'bars' {message}" in str(error.value)
    assert "bars" not in FORMATS


def test_a_taken_name_is_refused() -> None:
    with pytest.raises(PartError, match="the reader 'csv' is taken"):
        seqloom.register.reader("csv", bars)
    with pytest.raises(PartError, match="the corpus 'copy' is taken"):
        seqloom.register.corpus("copy", parity, task=["classify", "tag"])
    assert "copy" not in TASKS["classify"].data_spec.corpora
    with pytest.raises(PartError, match="the task 'tag' is taken"):
        seqloom.register.task("tag", "seqloom.tasks.tag")


# Corpora -------------------------------------------------------------------------------------------------------------


def parity(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
    """Bits, and whether their number is odd. More of it."""
    random = Random(seed)
    for number in range(examples or 200):
        bits = random.choices("01", k=length or 8)
        yield Record((" ".join(bits), ("odd" if bits.count("1") % 2 else "even",)), Location("parity", number + 1))


def test_a_corpus_is_used_by_its_task(capsys: pytest.CaptureFixture[str]) -> None:
    seqloom.register.corpus("parity", parity, task="classify", tokenizer="character")
    run = seqloom.train("classify", data={"corpus": "parity", "examples": 60}, out="run", **TINY)
    assert run.predict(["0 1 1"])[0]["label"] in ("odd", "even")
    assert run.task.tokenizer.kind == "character"
    assert main(["list", "corpora"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert "parity Bits, and whether their number is odd. classify" in listed
    assert main(["train", "classify", "--help"]) == 0
    assert "(numbers, parity)" in " ".join(capsys.readouterr().out.replace("│", " ").split())
    with pytest.raises(ConfigError, match=r"data\.corpus is parity, which is not a corpus for tag"):
        experiment({"task": "tag", "data": {"corpus": "parity"}})


def test_a_corpus_may_have_several_tasks() -> None:
    @seqloom.register.corpus("echo", task=["translate", "language"])
    def echo(seed: int, length: int | None, examples: int | None) -> Iterator[object]:
        yield from ()

    assert "echo" in TASKS["translate"].data_spec.corpora
    assert "echo" in TASKS["language"].data_spec.corpora


def test_a_corpus_may_yield_text() -> None:
    @seqloom.register.corpus("hello", task="language")
    def hello(seed: int, length: int | None, examples: int | None) -> Iterator[str]:
        yield from ["hello world\n"] * 200

    train = {**TINY["train"], "batch_tokens": 4, "bptt": 8}
    run = seqloom.train("language", size="tiny", data={"corpus": "hello"}, train=train, out="run")
    assert len(run.task.tokenizer) < 12


def test_a_changed_corpus_is_not_resumed() -> None:
    seqloom.register.corpus("parity", parity, task="classify")
    run = seqloom.train("classify", data={"corpus": "parity", "examples": 60}, out="run", **TINY)
    local = run.folder / "local.json"
    text = local.read_text(encoding="utf-8")
    assert '"test_register_data.py": "' in text
    start = text.index('"test_register_data.py": "') + len('"test_register_data.py": "')
    local.write_text(text[:start] + "0" * 64 + text[start + 64 :], encoding="utf-8")
    (run.folder / "scores.json").unlink()
    with pytest.raises(RunError, match=r"the corpus 'parity' was made with test_register_data\.py 0000"):
        seqloom.resume("run")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("a text", "odd"), "and classify reads the label as a tuple of texts, of one or several. Give that."),
        (("a text",), "and classify reads 2 values (text, label). Give that."),
        ("a text", "and classify reads Record(values, Location(name, number)), its values a tuple. Give that."),
    ],
)
def test_a_corpus_with_invalid_records_is_refused(values: Any, message: str) -> None:
    @seqloom.register.corpus("mine", task="classify")
    def mine(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
        for number in range(20):
            yield Record(values, Location("mine", number))

    with pytest.raises(PartError) as error:
        seqloom.train("classify", data={"corpus": "mine"}, out="run", **TINY)
    assert str(error.value).startswith(f"{__file__}:")
    assert message in str(error.value)


def test_a_corpus_that_fails_is_one_message() -> None:
    @seqloom.register.corpus("mine", task="tag")
    def mine(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
        yield Record((("a",), ("b",)), Location("mine", 1))
        raise OSError("no network")

    with pytest.raises(PartError, match=r"the corpus 'mine' raised OSError: no network\. Correct it\."):
        seqloom.train("tag", data={"corpus": "mine"}, out="run", **TINY)
    with pytest.raises(PartError, match=r"takes \(seed\), not \(seed, length, examples\)"):
        seqloom.register.corpus("other", lambda seed: None, task="tag")


# Tasks ---------------------------------------------------------------------------------------------------------------


def test_a_task_is_registered_by_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert seqloom.register.task("count", config=word_count.Config)(word_count.CountWords) is word_count.CountWords
    run = seqloom.train("count", out="run", **TINY)
    assert seqloom.load("run").predict(["one two"])[0]["words"] == run.predict(["one two"])[0]["words"]
    assert main(["list", "tasks"]) == 0
    assert "say how many words a text has" in capsys.readouterr().out
    assert main(["report", "run"]) == 0
    assert main(["train", "count", "--help"]) == 0
    assert "Learns to count the words of a text." in capsys.readouterr().out


class WithoutName(word_count.Config):
    """Of another name."""

    data_spec = DataSpec("cuont", "tables", ("table",))


class WithoutCorpus(word_count.Config):
    """Learn from files alone."""

    data_spec = DataSpec("count", "CSV", ("table",), roles=word_count.Config.data_spec.roles)


class WithoutKey(word_count.Config):
    """A role that no key names."""

    data_spec = DataSpec(
        "count", "CSV", ("table",), roles=(*word_count.Config.data_spec.roles, word_count.Role("size", "size"))
    )


class Unfinished(RowTask):
    """No methods."""


def test_a_task_without_a_corpus_requires_a_file() -> None:
    seqloom.register.task("count", word_count.CountWords, config=WithoutCorpus)
    with pytest.raises(UserError, match=r"no file is named, and count has no embedded corpus\. Name a file"):
        seqloom.train("count", out="run", **TINY)


@pytest.mark.parametrize(
    ("part", "options", "message"),
    [
        (word_count.CountWords, {}, "has no config. Pass config=Config, a class derived from Experiment."),
        (word_count.Config, {"config": word_count.Config}, "is the class Config. Derive a class from RowTask or Task"),
        (Unfinished, {"config": word_count.Config}, "has no build, collate, evaluate, predict, schema, step. Write"),
        (word_count.CountWords, {"config": WithoutName}, "has a config whose data_spec is that of 'cuont'. Begin it"),
        (word_count.CountWords, {"config": WithoutKey}, "has a config that does not work: the role 'size' has no key;"),
        ("tests.toys.training_parts", {}, "has no Config in tests.toys.training_parts. Define it under that name"),
        ("tests.toys", {}, "has no Config in tests.toys.config. Define it under that name"),
    ],
)
def test_an_invalid_task_is_refused(part: Any, options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(PartError) as error:
        seqloom.register.task("count", part, **options)
    assert f"the task 'count' {message}" in str(error.value)
    assert ".py" in str(error.value)
    assert "count" not in TASKS


# Values of readers and corpora, and changes of their code -------------------------------------------------------------


def reader_of(kind: str, values: object) -> Callable[..., Iterator[tuple[Location, Any]]]:
    def read(paths: Sequence[Path], data: RowData, on_bad_line: OnBadLine) -> Iterator[tuple[Location, Any]]:
        for number in range(40):
            yield Location(str(paths[0]), number + 1), values

    return read


@pytest.mark.parametrize(
    ("task", "kind", "values", "expected"),
    [
        ("tag", "conll", (("a", "dog"),), "words and as many tags: two tuples of texts"),
        ("tag", "conll", (("a", "dog"), ("DET",)), "words and as many tags"),
        ("tag", "conll", (("a", 7), ("DET", "NUM")), "words and as many tags"),
        ("classify", "folder", ("a film", "good"), "a text and a tuple of labels"),
        ("classify", "folder", ("half \ud800", ("good",)), "a text and a tuple of labels"),
        ("translate", "parallel", ("one", 1), "two texts"),
    ],
)
def test_a_reader_must_yield_the_values_of_its_kind(task: str, kind: str, values: object, expected: str) -> None:
    seqloom.register.reader("odd", reader_of(kind, values), kind=kind, suffixes=(".odd",))
    for name in ("a.odd", "b.odd"):
        Path(name).write_text("x\n", encoding="utf-8")
    with pytest.raises(PartError, match=rf"the reader 'odd' gave \(.*, and examples of the kind {kind} are {expected}"):
        seqloom.train(task, "a.odd", *(["b.odd"] if kind == "parallel" else []), out="run", **TINY)
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((7, ("odd",)), "the text as a text"),
        (("half \ud800", ("odd",)), "the text as a text"),
        (("a text", (1,)), "the label as a tuple of texts, of one or several"),
    ],
)
def test_a_corpus_must_yield_texts(values: tuple[Any, ...], expected: str) -> None:
    @seqloom.register.corpus("mine", task="classify")
    def mine(seed: int, length: int | None, examples: int | None) -> Iterator[Record]:
        yield from (Record(values, Location("mine", number)) for number in range(1, 50))

    with pytest.raises(PartError, match=f"gave Record.* and classify reads {expected}"):
        seqloom.train("classify", data={"corpus": "mine"}, out="run", **TINY)
    assert not seqloom.check("classify", data={"corpus": "mine"}).ok


def test_a_corpus_without_examples_or_with_invalid_locations_is_refused() -> None:
    seqloom.register.corpus("empty", lambda seed, length, examples: iter(()), task="classify")
    with pytest.raises(PartError, match=r"the corpus 'empty' gave no examples\. Yield some"):
        seqloom.train("classify", data={"corpus": "empty"}, out="run", **TINY)
    record = Record(("a text", ("odd",)), Location("lines", cast("Any", "one")))
    seqloom.register.corpus("lines", lambda seed, length, examples: iter([record]), task="classify")
    with pytest.raises(PartError, match=r"the corpus 'lines' gave .* reads Record\(values, Location\(name, number\)\)"):
        seqloom.train("classify", data={"corpus": "lines"}, out="run", **TINY)


def test_tokenizer_and_task_of_a_corpus_must_be_registered() -> None:
    with pytest.raises(PartError, match=r"the corpus 'mine' has the tokenizer 'chars', which is not registered\. Give"):
        seqloom.register.corpus("mine", parity, task="classify", tokenizer="chars")
    with pytest.raises(PartError, match="the corpus 'mine' is for the task 'clasify', which is not registered"):
        seqloom.register.corpus("mine", parity, task="clasify")
    with pytest.raises(PartError, match="is to be in the module not_there_at_all, which does not exist"):
        seqloom.register.task("count", "not_there_at_all")


READER = """
import seqloom
from seqloom.data.records import Location
from seqloom.data.text_io import read_lines
from letters import change

@seqloom.register.reader("bars", suffixes=(".bars",))
def read(paths, data, on_bad_line):
    for path in paths:
        for number, line in read_lines(path, data.max_characters, on_bad_line):
            line = change(line) if number > 1 else line
            yield Location(str(path), number), [cell.strip() for cell in line.split("|")]
"""


@pytest.mark.usefixtures("forget_parts")
def test_data_are_read_again_after_an_imported_module_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path("own_reader.py").write_text(READER, encoding="utf-8")
    Path("films.bars").write_text(ROWS, encoding="utf-8")
    labels = []
    for change in ("lower", "upper"):
        Path("letters.py").write_text(f"def change(line):\n    return line.{change}()\n", encoding="utf-8")
        importlib.invalidate_caches()
        load_code("own_reader.py")
        run = seqloom.train("classify", "films.bars", out=change, **TINY)
        labels.append(run.predict(["a bore"])[0]["label"])
        FORMATS.names.remove("bars")
        del sys.modules["own_reader"], sys.modules["letters"]
        shutil.rmtree("__pycache__", ignore_errors=True)
    assert labels[0] in ("good", "bad")
    assert labels[1] in ("GOOD", "BAD")


def test_a_reader_may_be_registered_again() -> None:
    for _ in range(2):
        seqloom.register.reader("bars", bars, suffixes=(".bars",))
    with pytest.raises(PartError, match=r"the reader 'others' has the suffix '\.bars', which bars has"):
        seqloom.register.reader("others", bars, suffixes=(".bars",))


def test_the_reader_of_files_of_a_pattern_is_recorded() -> None:
    seqloom.register.reader("bars", bars, suffixes=(".bars",))
    Path("films.bars").write_text(ROWS, encoding="utf-8")
    run = seqloom.train("classify", "films.b*", out="run", **TINY)
    assert [(part.kind, part.name) for part in run.manifest.parts] == [("reader", "bars")]


def test_check_works_in_python() -> None:
    Path("films.tsv").write_text("a film\tgood\nanother\tbad\tno\n" * 20, encoding="utf-8")
    inspection = seqloom.check("classify", "films.tsv", data={"text": "1", "label": "2"})
    assert not inspection.ok
    problem = inspection.findings[0].problem
    assert "\ufdd0" not in f"{problem.message}{problem.advice}{inspection.summary}"
    assert "data.on_bad_line skip" in problem.advice
