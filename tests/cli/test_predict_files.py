"""`seqloom predict` with files: tables by the run's own columns, words, sources, images, and a text per line."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from seqloom import api
from seqloom.cli.main import main
from seqloom.core.problem import DataError
from seqloom.data.formats import FORMATS
from tests.cli.conftest import TINY, Result, Seqloom

TEXTS = ["a fine good film", "a bad dull bore", "a fine, dull film"]
COLORS = ("red", "green", "blue", "black", "white")
PAIRS = [f"one {a} {b} .\tun {b} {a} .\n" for a in COLORS for b in COLORS]
CSV = 'id,review\n7,a fine good film\n8,a bad dull bore\n9,"a fine, dull film"\n'


@pytest.fixture(scope="module")
def more_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of files without a header, of pairs and of images."""
    folder = tmp_path_factory.mktemp("more")
    (folder / "label-first.tsv").write_text("".join(f"1\ta fine film {i}\n0\ta bad bore {i}\n" for i in range(30)))
    (folder / "pairs.tsv").write_text("".join(PAIRS))
    (folder / "images").mkdir()
    for number in range(20):
        Image.new("RGB", (16, 16), ("red", "blue")[number % 2]).save(folder / "images" / f"{number}.png")
    rows = [f"images/{i}.png\ta {('red', 'blue')[i % 2]} one\n" for i in range(20)]
    (folder / "captions.tsv").write_text("".join(rows))
    images = ("--data.image-size", "16", "--data.min-count", "1", "--decode.max-length", "6")
    for task, file, options in (
        ("classify", "label-first.tsv", ()),
        ("translate", "pairs.tsv", ("--data.tokenizer", "word", "--decode.max-length", "6")),
        ("caption", "captions.tsv", images),
    ):
        assert main(["train", task, str(folder / file), "--out", str(folder / task), *TINY, *options]) == 0
    return folder


def answers(result: Result, key: str = "text") -> list[object]:
    """What the answers are about; standard output has nothing else."""
    assert result.code == 0, result.err
    return [json.loads(line)[key] for line in result.out.splitlines()]


def error_message(result: Result) -> str:
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("seqloom: ")
    assert result.err.count("\n") == 1
    return result.err.removeprefix("seqloom: ").strip()


# Tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("new.csv",), ("--file", "new.csv")], ids=["argument", "--file"])
@pytest.mark.parametrize("label", [False, True], ids=["without labels", "with labels"])
def test_a_table_is_read_by_the_columns_of_the_run(
    seqloom: Seqloom, runs: Path, words: tuple[str, ...], label: bool
) -> None:
    table = CSV.replace("id,review", "stars,review").replace("7,", "pos,") if label else CSV
    Path("new.csv").write_text(table)
    result = seqloom("predict", runs / "classify", *words, "--json")
    assert answers(result) == TEXTS
    assert result.err == "reading  new.csv: text from column 'review'\n"
    assert seqloom("predict", runs / "classify", *TEXTS, "--json").out == result.out


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("new.tsv", "review\tid\n" + "".join(f"{text}\t1\n" for text in TEXTS)),
        ("new.jsonl", "".join(json.dumps({"id": 1, "review": text}) + "\n" for text in TEXTS)),
        ("new.csv.gz", CSV),
        ("review.csv", "review\n" + "".join(f'"{text}"\n' for text in TEXTS)),
    ],
)
def test_a_table_of_any_format_is_read(seqloom: Seqloom, runs: Path, name: str, content: str) -> None:
    raw = content.encode()
    Path(name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    result = seqloom("predict", runs / "classify", name, "--json")
    assert answers(result) == TEXTS
    assert result.err == f"reading  {name}: text from column 'review'\n"


def test_a_table_without_the_column_of_the_run_is_refused(seqloom: Seqloom, runs: Path) -> None:
    Path("new.csv").write_text(CSV.replace("review", "body"))
    message = error_message(seqloom("predict", runs / "classify", "new.csv"))
    assert message == "new.csv:1: no column 'review' (columns: id, body). Name one of them with --data.text."
    assert answers(seqloom("predict", runs / "classify", "new.csv", "--data.text", "body", "--json")) == TEXTS
    Path("new.jsonl").write_text('{"id": 1, "body": "a film"}\n')
    message = error_message(seqloom("predict", runs / "classify", "new.jsonl"))
    assert message.startswith("new.jsonl:1: no column 'review' (columns: id, body)")


def test_a_table_without_a_header_is_read_by_number(seqloom: Seqloom, more_runs: Path) -> None:
    run = more_runs / "classify"
    Path("new.tsv").write_text("".join(f"1\t{text}\n" for text in TEXTS))
    result = seqloom("predict", run, "new.tsv", "--json")
    assert answers(result) == TEXTS
    assert result.err == "reading  new.tsv: text from column 2, no header\n"
    Path("texts.tsv").write_text("".join(f"{text}\n" for text in TEXTS))
    assert error_message(seqloom("predict", run, "texts.tsv")).startswith("texts.tsv: no column 2 (there are 1)")
    assert answers(seqloom("predict", run, "texts.tsv", "--data.text", "1", "--json")) == TEXTS


def test_a_header_that_the_files_of_the_run_lack_is_refused(seqloom: Seqloom, more_runs: Path) -> None:
    Path("new.csv").write_text(CSV)
    message = error_message(seqloom("predict", more_runs / "classify", "new.csv"))
    assert message == (
        "new.csv:1: the first row looks like the names of columns (id, review), and the run's own files have none. "
        "Name the column with --data.text, or pass --no-data.header."
    )
    assert answers(seqloom("predict", more_runs / "classify", "new.csv", "--data.text", "review", "--json")) == TEXTS
    assert answers(seqloom("predict", more_runs / "classify", "new.csv", "--data.text", "2", "--json")) == TEXTS
    assert answers(seqloom("predict", more_runs / "classify", "new.csv", "--data.header", "--json")) == TEXTS
    assert len(answers(seqloom("predict", more_runs / "classify", "new.csv", "--no-data.header", "--json"))) == 4
    Path("new.jsonl").write_text('{"label": "1", "id": "2"}\n')
    message = error_message(seqloom("predict", more_runs / "classify", "new.jsonl"))
    assert message.startswith("new.jsonl: the run reads column 2, which is no key here (keys: label, id)")


def test_a_number_is_not_that_of_a_column_with_another_name(seqloom: Seqloom, more_runs: Path) -> None:
    run = more_runs / "classify"
    Path("new.csv").write_text("id,label,review\n" + "".join(f'{i},1,"{text}"\n' for i, text in enumerate(TEXTS)))
    message = error_message(seqloom("predict", run, "new.csv", "--data.header"))
    assert message == (
        "new.csv: the run reads column 2, but the columns here have names (id, label, review). "
        "Name the column with --data.text."
    )
    assert answers(seqloom("predict", run, "new.csv", "--data.text", "review", "--json")) == TEXTS


def test_a_number_is_also_that_of_a_column_without_a_name(seqloom: Seqloom, runs: Path) -> None:
    Path("new.tsv").write_text("".join(f"1\t{text}\n" for text in TEXTS))
    assert "no column 'review'" in error_message(seqloom("predict", runs / "classify", "new.tsv"))
    assert answers(seqloom("predict", runs / "classify", "new.tsv", "--data.text", "2", "--json")) == TEXTS


def test_the_path_of_a_folder_is_read_and_a_word_is_not(seqloom: Seqloom, runs: Path) -> None:
    Path("films/good").mkdir(parents=True)
    Path("films/good/1.txt").write_text("a film")
    assert answers(seqloom("predict", runs / "classify", "./films", "--json")) == ["a film"]
    assert answers(seqloom("predict", runs / "classify", "films", "--json")) == ["films"]


def test_a_bad_row_is_refused_or_skipped_only_on_request(seqloom: Seqloom, runs: Path) -> None:
    Path("new.csv").write_text("id,review\n1,a film\n2,\n3,a,b\n4,a bore\n")
    result = seqloom("predict", runs / "classify", "new.csv")
    assert result.code == 2
    assert result.out == ""
    assert "seqloom: new.csv:3: the text is empty. Fill it in, remove the line, or pass --data.on-bad-line skip." in (
        result.err
    )
    result = seqloom("predict", runs / "classify", "new.csv", "--data.on-bad-line", "skip", "--json")
    assert answers(result) == ["a film", "a bore"]
    warning = "warning 2 bad lines of new.csv skipped; the first is new.csv:3: the text is empty."
    assert result.err.splitlines()[-1] == warning


def test_a_table_of_pairs_gives_its_sources(seqloom: Seqloom, more_runs: Path) -> None:
    run, sources = more_runs / "translate", ["one red black .", "one blue red ."]
    Path("both.tsv").write_text("".join(f"{source}\tun\n" for source in sources))
    Path("sources.csv").write_text("source\n" + "".join(f"{source}\n" for source in sources))
    result = seqloom("predict", run, "both.tsv", "--json")
    assert answers(result) == sources
    assert result.err == "reading  both.tsv: source from column 1, no header\n"
    assert "sources.csv:1: the first row looks like the names" in error_message(seqloom("predict", run, "sources.csv"))
    assert answers(seqloom("predict", run, "sources.csv", "--data.header", "--json")) == sources


def test_a_file_is_read_likewise_in_python(runs: Path) -> None:
    Path("new.csv").write_text(CSV)
    run = api.load(runs / "classify")
    inputs = run.read_inputs("new.csv")
    assert inputs.description == "text from column 'review'"
    locations, texts = zip(*inputs.texts, strict=True)
    assert locations == ("new.csv:2", "new.csv:3", "new.csv:4")
    assert [answer["text"] for answer in run.predict(texts)] == TEXTS
    Path("new.csv").write_text("id,body\n1,a film\n2,\n")
    with pytest.raises(DataError, match=r"^new\.csv:3: the text is empty\..* or pass data\.on_bad_line skip\.$"):
        list(run.read_inputs("new.csv", {"text": "body"}).texts)
    inputs = run.read_inputs("new.csv", {"text": "body", "on_bad_line": "skip"})
    assert list(inputs.texts) == [("new.csv:2", "a film")]
    assert inputs.skipped.count == 1


# Other files -----------------------------------------------------------------------------------------------------


def test_the_words_of_a_tagged_file_are_tagged(seqloom: Seqloom, runs: Path) -> None:
    sentences = [["Anna", "sings"], ["the", "10 000", "cats"]]
    Path("new.conll").write_text("Anna\tB-PER\nsings\tO\n\nthe\tO\n10 000\tO\ncats\tO\n")
    Path("words.conll").write_text("Anna\nsings\n\nthe\n10000\ncats\n")
    rows = [f"{i}\t{word}" + "\t_" * 8 for words in sentences for i, word in enumerate(words, 1)]
    Path("new.conllu").write_text("\n".join([*rows[:2], "", *rows[2:]]) + "\n")
    for name in ("new.conll", "new.conllu"):
        result = seqloom("predict", runs / "tag", name, "--json")
        assert answers(result, "words") == sentences
        assert result.err == f"reading  {name}: words\n"
        assert [len(tags) for tags in answers(result, "tags")] == [2, 3]  # type: ignore[arg-type]
    assert answers(seqloom("predict", runs / "tag", "words.conll", "--json"), "words")[1] == ["the", "10000", "cats"]
    Path("sentences.txt").write_text("Anna sings\nthe cat\n")
    assert answers(seqloom("predict", runs / "tag", "sentences.txt", "--json")) == ["Anna sings", "the cat"]


def test_a_file_with_a_text_per_line_is_read(seqloom: Seqloom, runs: Path) -> None:
    Path("texts").write_text("\n".join(TEXTS) + "\n")
    result = seqloom("predict", runs / "classify", "texts", "a film", "--json")
    assert answers(result) == [*TEXTS, "a film"]
    assert result.err == "reading  texts: a text per line\n"
    assert seqloom("predict", runs / "classify", "--file", "texts").err == ""
    Path("texts").write_text("a film\n\na bore\n")
    assert "texts:2: an empty line" in seqloom("predict", runs / "classify", "texts").err


def test_a_language_model_reads_a_text_per_line(seqloom: Seqloom, runs: Path) -> None:
    Path("new.txt").write_text("\n".join(TEXTS) + "\n")
    assert answers(seqloom("predict", runs / "language", "new.txt", "--json")) == TEXTS


def test_the_help_says_how_each_kind_of_file_is_read(seqloom: Seqloom) -> None:
    files = seqloom("predict", "--help").out.split("Files:")[1].split("Examples:")[0]
    suffixes = {form.suffixes[0] for form in FORMATS.values() if form.suffixes}
    assert suffixes <= set(files.split())
    assert "a text per line, for a language model too" in files


def test_the_sources_of_parallel_text_are_read_and_both_sides_refused(seqloom: Seqloom, more_runs: Path) -> None:
    Path("new.en").write_text("one red black .\none blue red .\n")
    Path("new.fr").write_text("un black red .\nun red blue .\n")
    run = more_runs / "translate"
    assert answers(seqloom("predict", run, "new.en", "--json")) == ["one red black .", "one blue red ."]
    result = seqloom("predict", run, "--file", "new.en", "--file", "new.fr")
    message = "new.en: this and new.fr look like the two sides of a parallel text, of which only one is the input."
    assert error_message(result) == f"{message} Name the source alone."
    assert error_message(seqloom("predict", run, "new.en", "new.fr")) == f"{message} Name the source alone."


def test_the_images_of_a_table_are_found_beside_it(seqloom: Seqloom, more_runs: Path) -> None:
    (more_runs / "images" / "new.csv").write_text("1.png\n0.png\n")
    table = more_runs / "images" / "new.csv"
    run, paths = more_runs / "caption", [str(table.parent / name) for name in ("1.png", "0.png")]
    assert answers(seqloom("predict", run, table, "--json"), "image") == paths
    result = seqloom("predict", run, more_runs / "captions.tsv", "--json")
    assert answers(result, "image") == [str(more_runs / "images" / f"{i}.png") for i in range(20)]
    assert result.err.endswith("captions.tsv: image from column 1, no header\n")
    assert answers(seqloom("predict", run, *paths, "--json"), "image") == paths
    Path("list.txt").write_text("\n".join(paths) + "\n")
    assert answers(seqloom("predict", run, "--file", "list.txt", "--json"), "image") == paths


@pytest.mark.parametrize(
    ("task", "name", "message"),
    [
        ("language", "new.csv", "new.csv: a csv file, and language reads plain text."),
        ("tag", "new.csv", "new.csv: a csv file, and tag reads CoNLL-U (.conllu), or one word and its tag per line"),
        ("classify", "new.conllu", "new.conllu: a conllu file, and classify reads CSV, TSV, JSONL, or a folder"),
        ("classify", "tabs.txt", "tabs.txt: named as plain text, but each line has one tab, as in a table."),
        ("classify", "photo.png", "photo.png: "),
    ],
)
def test_a_file_that_the_task_can_not_read_is_refused(
    seqloom: Seqloom, runs: Path, task: str, name: str, message: str
) -> None:
    Path("new.csv").write_text(CSV)
    Path("new.conllu").write_text("1\tGo\n")
    Path("tabs.txt").write_text("1\ta film\n0\ta bore\n")
    Image.new("RGB", (8, 8)).save("photo.png")
    for words in ((name,), ("--file", name)):
        result = seqloom("predict", runs / task, *words)
        assert (result.code, result.out) == (2, "")
        assert f"seqloom: {message}" in result.err


@pytest.mark.parametrize("name", ["new.txt", "new", "new.dat"])
@pytest.mark.parametrize(
    ("content", "names", "advice"),
    [
        (CSV.replace("id,", "id,stars,").replace(",a", ",pos,a"), "id, stars, review", "csv"),
        ('"id","review"\n1,"a film, they say"\n', "id, review", "csv"),
        ("id, stars, review\n1, pos, a film\n", "id, stars, review", "csv"),
        ("id\treview\n1\ta film\textra\n", "id, review", "tsv"),
        ('{"id": 1, "review": "a film"}\n', "id, review", "jsonl"),
        ('{"review": "a film"}\n', "review", "jsonl"),
        ("text;label\na film;1\n", "text, label", None),
        ("review\na film\n", "review", "csv"),
    ],
)
def test_a_table_that_is_named_as_plain_text_is_refused(
    seqloom: Seqloom, runs: Path, name: str, content: str, names: str, advice: str | None
) -> None:
    Path(name).write_text(content)
    message = f"{name}: named as plain text, but its first line has the names of columns ({names}), as in a table."
    advice = f"Rename it to .{advice}, or pass --data.format {advice}." if advice else "Rewrite it with commas"
    assert error_message(seqloom("predict", runs / "classify", name)).startswith(f"{message} {advice}")


def test_a_table_that_is_named_as_plain_text_is_read_by_its_format(seqloom: Seqloom, runs: Path) -> None:
    Path("new.txt").write_text(CSV)
    assert answers(seqloom("predict", runs / "classify", "new.txt", "--data.format", "csv", "--json")) == TEXTS


def test_usual_names_are_a_header_where_the_files_of_the_run_have_none(seqloom: Seqloom, more_runs: Path) -> None:
    Path("new.txt").write_text("id,label,review\n1,1,a film\n")
    assert "(id, label, review)" in error_message(seqloom("predict", more_runs / "classify", "new.txt"))
    Path("new.txt").write_text("source,target\none red .,un red .\n")
    assert "(source, target)" in error_message(seqloom("predict", more_runs / "translate", "new.txt"))


@pytest.mark.parametrize(
    "texts",
    [
        ["review, please", "a fine, good film"],
        ["text", "reviews", "review"],
        ["Fine, good; dull", '"A bore," they say | "a film,', "review,stars"],
        ["{review}", "[1, 2]"],
    ],
)
def test_texts_with_separators_are_texts(seqloom: Seqloom, runs: Path, texts: list[str]) -> None:
    Path("new.txt").write_text("\n".join(texts) + "\n")
    assert answers(seqloom("predict", runs / "classify", "new.txt", "--json")) == texts


# Texts -----------------------------------------------------------------------------------------------------------


def test_only_the_name_of_a_file_is_read_as_one(seqloom: Seqloom, runs: Path) -> None:
    Path("film").mkdir()
    Path("new.csv").write_text(CSV)
    texts = ["film", "x" * 5000, "see missing.csv", "well...", "example.com", "missing.conllu"]
    assert answers(seqloom("predict", runs / "classify", *texts, "--json")) == texts
    result = seqloom("predict", runs / "classify", "-", "--json", stdin="new.csv\na film\n")
    assert answers(result) == ["new.csv", "a film"]
    assert result.err == ""


@pytest.mark.parametrize(
    ("task", "name", "advice"),
    [
        ("classify", "film-typo.csv", "Did you mean film.csv?"),
        ("classify", "film.csv.gz", "Did you mean film.csv?"),
        ("classify", "other.JSONL", "Check the name."),
        ("classify", "nowhere/other.txt", "Check the name; there is no folder nowhere."),
        ("tag", "other.conllu", "Check the name."),
        ("language", "other.txt", "Check the name."),
    ],
)
def test_the_name_of_a_file_that_is_not_there_is_refused(
    seqloom: Seqloom, runs: Path, task: str, name: str, advice: str
) -> None:
    Path("film.csv").write_text(CSV)
    message = f"{name}: there is no such file; to predict the words themselves, pass them on standard input. {advice}"
    assert error_message(seqloom("predict", runs / task, name)) == message
    assert answers(seqloom("predict", runs / task, "--json", stdin=f"{name}\n")) == [name]


def test_an_image_or_table_that_is_not_there_is_refused(seqloom: Seqloom, more_runs: Path) -> None:
    for name in ("missing.png", "missing.csv"):
        message = error_message(seqloom("predict", more_runs / "caption", name))
        assert message == f"{name}: is not there. Check the name and the folder."


def test_options_of_files_need_a_file(seqloom: Seqloom, runs: Path) -> None:
    message = error_message(seqloom("predict", runs / "classify", "a film", "--data.text", "body"))
    assert message == "--data.text has no effect, because no file is read. Name a file."
    Path("new.csv").write_text(CSV)
    message = error_message(seqloom("predict", runs / "tag", "new.csv", "--data.text", "review"))
    assert message.startswith("--data.text has no effect in tag")


def test_the_configs_of_other_tasks_are_imported_only_for_options_of_files(runs: Path) -> None:
    Path("new.csv").write_text(CSV)
    code = (
        "import sys; from seqloom.cli.main import main; main(sys.argv[1:]); "
        "print('seqloom.tasks.tag.config' in sys.modules)"
    )
    for words, expected in (
        (("a film", "--device=cpu", "--json"), "False"),
        (("new.csv", "--data.text", "review", "--json"), "True"),
        (("new.csv", "--data.txt", "review"), "True"),
    ):
        command = [sys.executable, "-c", code, "predict", str(runs / "classify"), *words]
        assert subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[-1] == expected


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_an_unknown_option_is_compared_with_the_options_of_files(seqloom: Seqloom, runs: Path, command: str) -> None:
    message = error_message(seqloom(command, runs / "classify", "new.csv", "--data.txt", "review"))
    assert message.startswith("unknown option --data.txt. Did you mean --data.text?")
