"""Tables of images and captions: several a picture; what lacks one of the two is a sentence."""

import json
from pathlib import Path

import pytest

from seqloom.data.examples import Captioned, Place
from seqloom.data.lines import Skipped
from seqloom.data.readers.captions import image_path, read_captions
from seqloom.spec.config.data import Data
from seqloom.spec.errors import DataError
from seqloom.spec.names import Format

ROWS = [("photos/1.jpg", "A dog runs ."), ("photos/1.jpg", "A brown dog ."), ("photos/2.jpg", "Two cats .")]


def read(path: Path, raw: str, form: Format = "tsv", **data: str) -> list[Captioned]:
    path.write_text(raw, encoding="utf-8")
    return list(read_captions(path, form, Data(**data)))


def told(examples: list[Captioned]) -> list[tuple[str, str]]:
    return [(example.image, example.target) for example in examples]


def refusal(path: Path, raw: str) -> str:
    with pytest.raises(DataError) as error:
        read(path, raw)
    return str(error.value).removeprefix(str(path))


def test_every_format_says_the_same(tmp_path: Path) -> None:
    tsv = "".join(f"{image}\t{caption}\n" for image, caption in ROWS)
    assert told(read(tmp_path / "a.tsv", tsv)) == ROWS
    csv = "image,caption\n" + "".join(f'{image},"{caption}"\n' for image, caption in ROWS)
    assert told(read(tmp_path / "a.csv", csv, "csv")) == ROWS
    jsonl = "".join(json.dumps({"caption": caption, "image": image}) + "\n" for image, caption in ROWS)
    assert told(read(tmp_path / "a.jsonl", jsonl, "jsonl")) == ROWS


def test_columns_can_be_named(tmp_path: Path) -> None:
    raw = "what\tid\twhere\n" + "".join(f"{caption}\t7\t{image}\n" for image, caption in ROWS)
    assert told(read(tmp_path / "a.tsv", raw, source="where", target="what")) == ROWS
    assert told(read(tmp_path / "a.tsv", raw.split("\n", 1)[1], source="3", target="1")) == ROWS


def test_a_path_goes_on_from_the_folder_of_its_table(tmp_path: Path) -> None:
    first = read(tmp_path / "a.tsv", "./photos/1.jpg\tA dog .\n")[0]
    assert first == Captioned("photos/1.jpg", "A dog .", Place(str(tmp_path / "a.tsv"), 1))
    assert image_path(first) == tmp_path / "photos" / "1.jpg"
    assert image_path(first._replace(image="/else/1.jpg")) == Path("/else/1.jpg")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("\tA dog .", ":2: the image is empty. "),
        ("1.jpg\t ", ":2: the caption is empty. "),
        ("1.jpg\tA dog .\tIt runs .", ":2: 3 fields, expected 2 (image, tab, caption). "),
        ("1.jpg", ":2: 1 field, expected 2 (image, tab, caption). "),
    ],
)
def test_what_lacks_one_of_the_two_is_a_sentence_or_skipped(tmp_path: Path, line: str, what: str) -> None:
    raw = f"0.jpg\tA cat .\n{line}\n2.jpg\tA cow .\n"
    assert refusal(tmp_path / "a.tsv", raw).startswith(what)
    skipped = Skipped()
    examples = list(read_captions(tmp_path / "a.tsv", "tsv", Data(), skipped))
    assert [example.image for example in examples] == ["0.jpg", "2.jpg"]
    assert skipped.count == 1
