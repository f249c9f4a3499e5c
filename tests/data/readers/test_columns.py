"""Which column is what: as said, by known names, by what the values look like."""

import json
import tracemalloc
from pathlib import Path

import pytest

from seqloom.data.readers.columns import Columns, columns
from seqloom.spec.config.data import Data
from seqloom.spec.errors import DataError

SENTENCES = [f"a sentence of some length, number {number}" for number in range(20)]
PLAIN = "\n".join(f"{number % 2},{sentence!r}".replace("'", '"') for number, sentence in enumerate(SENTENCES))
WORDS = "\n".join(f"{'good' if number % 2 else 'bad'}\t{sentence}" for number, sentence in enumerate(SENTENCES))
NAMES = "\n".join(f"Abe{number}\t{'Japanese' if number % 2 else 'Portuguese'}" for number in range(20))


def found(tmp_path: Path, written: str, name: str = "a.csv", /, **said: object) -> Columns:
    (tmp_path / name).write_text(written)
    return columns(tmp_path / name, Data(**said))


def sentence(tmp_path: Path, written: str, name: str = "a.csv", /, **said: object) -> str:
    with pytest.raises(DataError) as error:
        found(tmp_path, written, name, **said)
    return str(error.value).removeprefix(str(tmp_path / name))


@pytest.mark.parametrize(
    ("text", "name", "text_column", "label", "header"),
    [
        (PLAIN, "a.csv", 1, 0, False),
        (f"label,text\n{PLAIN}", "a.csv", 1, 0, True),
        (f"Stars,Review Text\n{PLAIN}", "a.csv", 1, 0, True),
        (f"polarite,phrase_fr\n{PLAIN}", "a.csv", 1, 0, True),
        (WORDS, "a.tsv", 1, 0, False),
        (f"avis\tphrase\n{WORDS}", "a.tsv", 1, 0, True),
        (f"superb\ta film that nobody should miss, ever\n{WORDS}", "a.tsv", 1, 0, False),
        (f"topic\thow are you?\n{WORDS}\ntopic\twhat is this?", "a.tsv", 1, 0, False),
        (NAMES, "a.tsv", 0, 1, False),
        (f"name\tlanguage\n{NAMES}", "a.tsv", 0, 1, True),
        ("text,label\ngood,1", "a.csv", 0, 1, True),
        ("text,label", "a.csv", 0, 1, True),
        (",text,label\n0,a film,1\n1,the film,0\n2,a play,1", "a.csv", 1, 2, True),
        ("id,title,body,class\n1,a,bb,x\n2,c,dd,y", "a.csv", 2, 3, True),
        ("\n".join(f"{n},train,{s.replace(',', '')},{n % 3}" for n, s in enumerate(SENTENCES)), "a.csv", 2, 3, False),
    ],
)
def test_guesses(tmp_path: Path, text: str, name: str, text_column: int, label: int, header: bool) -> None:
    guess = found(tmp_path, text, name)
    assert (guess.text, guess.label, guess.header) == (text_column, label, header)
    assert guess.guessed == ("text", "label", "header")


@pytest.mark.parametrize(
    ("said", "text", "label", "header", "described"),
    [
        ({}, 1, 2, True, "text: 'text', label: 'label' (guessed; --data.text and --data.label name others)"),
        ({"text": "title"}, 0, 2, True, "text: 'title', label: 'label' (guessed; --data.label names others)"),
        ({"text": "title", "label": "kind"}, 0, 3, True, "text: 'title', label: 'kind'"),
        (
            {"text": "1", "label": "4"},
            0,
            3,
            True,
            "text: 'title', label: 'kind' (header guessed; --data.header and --no-data.header say)",
        ),
        ({"text": "1", "label": "4", "header": False}, 0, 3, False, "text: column 1, label: column 4, no header"),
    ],
)
def test_what_is_said_holds(
    tmp_path: Path, said: dict[str, object], text: int, label: int, header: bool, described: str
) -> None:
    guess = found(tmp_path, "title,text,label,kind\na,b,c,d\n", **said)
    assert (guess.text, guess.label, guess.header) == (text, label, header)
    assert guess.describe() == described


def test_other_files_can_be_read_as_the_first(tmp_path: Path) -> None:
    named = found(tmp_path, f"label,text\n{PLAIN}")
    assert (named.said_in(Data()).text, named.said_in(Data()).label) == ("text", "label")
    numbered = found(tmp_path, PLAIN)
    assert (numbered.said_in(Data()).text, numbered.said_in(Data()).label) == ("2", "1")


@pytest.mark.parametrize(
    ("text", "said", "message"),
    [
        ("only\none", {}, ": there is only one column. Rewrite it"),
        ("a;b\nc;d", {}, ": there is only one column; the fields may be separated by ';'. Rewrite it"),
        ("\n".join(f"{n},x{n}" for n in range(9)), {}, ": no column looks like a label: the values of each hardly rep"),
        (
            "review,stars\na,b",
            {"text": "reveiw"},
            ":1: no column 'reveiw' (columns: review, stars). The nearest is 'review'; name it with --data.text.",
        ),
        ("review,stars\na,b", {"text": "zzz"}, ":1: no column 'zzz' (columns: review, stars). Name one of them with"),
        ("review,stars\na,b", {"label": "3"}, ": no column 3 (there are 2). Count from 1 in --data.label."),
        ("review,stars\na,b", {"label": "0"}, ": no column 0 (there are 2). Count from 1 in --data.label."),
        ("review,stars\na,b", {"text": "1", "label": "review"}, ": text and label are the same column ('review'). "),
        ("review,stars\na,b", {"text": "review", "header": False}, ": --data.text 'review' is a name, and there is no"),
        ("text,text,label\na,b,c", {"text": "text"}, ": several columns are called 'text'. Give a number"),
        ("text,label\na,b,c\nd,e,f", {"text": "text"}, ":1: the header has 2 fields and most rows have 3. "),
        ("\n\n", {}, ": there is no row that can be read. "),
        ('a,"b', {}, ":1: a quote opens here"),
    ],
)
def test_what_can_not_be_is_a_sentence(tmp_path: Path, text: str, said: dict[str, object], message: str) -> None:
    assert sentence(tmp_path, text, **said).startswith(message)


def test_rows_of_another_width_do_not_count(tmp_path: Path) -> None:
    assert found(tmp_path, f"{PLAIN}\n1,2,3").width == 2


def test_keys_of_json_are_columns(tmp_path: Path) -> None:
    records = [
        {"id": n, "meta": {"long": s * 3}, "said": s, "about": ["a", "b"][n % 2]} for n, s in enumerate(SENTENCES)
    ]
    lines = "\n".join(map(json.dumps, records))
    guess = found(tmp_path, lines, "a.jsonl")
    assert guess.describe() == "text: 'said', label: 'about' (guessed; --data.text and --data.label name others)"
    assert found(tmp_path, lines, "a.jsonl", text="said", label="about").guessed == ()
    assert "The nearest is 'about'" in sentence(tmp_path, lines, "a.jsonl", label="abuot")
    assert sentence(tmp_path, '{"text": "x"}', "a.jsonl").startswith(": there is only one key ('text')")
    assert sentence(tmp_path, "{}", "a.jsonl").startswith(": the objects have no keys")


def test_too_many_keys_to_guess_from_must_be_named(tmp_path: Path) -> None:
    records = [{f"key {n}": "x", "text": sentence, "label": "a"} for n, sentence in enumerate(SENTENCES * 60)]
    lines = "\n".join(map(json.dumps, records))
    told = ": 1,002 different keys, too many to guess which is the text and which the label. Name both with --data.text"
    assert sentence(tmp_path, lines, "a.jsonl").startswith(told)
    assert sentence(tmp_path, lines, "a.jsonl", text="text").startswith(told)
    named = found(tmp_path, lines, "a.jsonl", text="text", label="label")
    assert (named.names[named.text], named.names[named.label]) == ("text", "label")


def test_objects_with_few_keys_in_common_cost_no_table_of_all_with_all(tmp_path: Path) -> None:
    records = [{f"key {n}": "x", "said": said, "label": "ab"[n % 2]} for n, said in enumerate(SENTENCES * 49)]
    lines = "\n".join(map(json.dumps, records))
    tracemalloc.start()
    guess = found(tmp_path, lines, "a.jsonl")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert guess.names[guess.text] == "said"
    assert guess.names[guess.label] == "label"
    assert most < 4_000_000  # a reference in each of 980 × 982 cells alone would be 7.7 MB
