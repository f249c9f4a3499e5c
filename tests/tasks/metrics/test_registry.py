"""Every score has one name where people read it, in the package and on its pages."""

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import seqloom
from seqloom.cli.progress import format_scores
from seqloom.tasks.metrics.registry import METRICS, SCORE_INFO, readable, score_info
from seqloom.tasks.registry import TASKS

ROOT = Path(seqloom.__file__).parents[2]
CODE = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
NAMES = {info.name for info in SCORE_INFO.values()}
# Words of names that are no plain words, in any spelling; and names with other separators or capitals.
WORDS = {word for name in NAMES for word in re.split(r"[ -]\d?", name) if word and not word.islower()}
PATTERNS = [
    *(rf"\b{re.sub('[- ]', '[-_ ]', name)}\b" for name in sorted(NAMES, key=len, reverse=True)),
    *(rf"(?<![^\W_]){word}(?![^\W_])" for word in sorted(WORDS)),
]
VARIANTS = re.compile("|".join(PATTERNS), re.IGNORECASE)
CSS = ("cell f1", "cell crisp f1")


def other_spellings(text: str) -> list[str]:
    """Names of scores that are not spelled as in `SCORE_INFO`; what is quoted, or an example, is code."""
    text = re.sub(r">>>.*|`[^`]*`|'[^'\s]*'|\"[^\"\s]*\"|\{[^}\n]*\}", "", text)
    found = (match[0] for match in VARIANTS.finditer(text))
    capitalized = {name[0].upper() + name[1:] for name in NAMES}
    return [name for name in found if name not in NAMES | WORDS | capitalized]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Comments, docstrings and other texts of more than a word, with their lines."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
            elif token.type in (
                tokenize.STRING,
                tokenize.FSTRING_MIDDLE if hasattr(tokenize, "FSTRING_MIDDLE") else -1,
            ):
                text = re.sub(r"^\w*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", "", token.string)
                if " " in text and text not in CSS:
                    yield token.start[0], text


def prose(path: Path) -> str:
    return re.sub(r"(?ms)^ *```.*?^ *```", "", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_of_the_code_have_one_spelling_of_each_score(path: Path) -> None:
    assert [(line, names) for line, text in texts(path) if (names := other_spellings(text))] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_have_one_spelling_of_each_score(path: Path) -> None:
    assert other_spellings(prose(path)) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("BLEU, chrF and macro F1 by sacreBLEU; Exact match; BLEU-4; span macro F1", []),
        ("the Bleu of 3, a CHRF, chrf", ["Bleu", "CHRF", "chrf"]),
        ("bleu_4, bleu-4 and BLEU 4", ["bleu_4", "bleu-4", "BLEU 4"]),
        ("exact-match, span macro f1, the f1", ["exact-match", "span macro f1", "f1"]),
        ("the keys `chrf`, 'chrf' and {'bleu': 3}", []),
    ],
)
def test_other_spellings_are_found(text: str, wrong: list[str]) -> None:
    assert other_spellings(text) == wrong


@pytest.mark.parametrize("task", TASKS)
def test_every_score_of_a_task_has_a_name_and_a_range(task: str) -> None:
    scores = TASKS[task].config.scores
    assert scores
    assert set(scores) <= SCORE_INFO.keys()
    assert all("_" not in readable(key) for key in scores)


def test_every_metric_of_the_package_has_a_name_and_a_range() -> None:
    assert {name for name in METRICS if METRICS.names.origin(name) is None} <= SCORE_INFO.keys()


def test_names_differ() -> None:
    assert len(NAMES) == len(SCORE_INFO)


def test_a_user_defined_score_has_its_own_name_and_any_range() -> None:
    assert readable("my_Metric") == "my_Metric"
    assert not score_info("my_Metric").bounded
    assert format_scores({"my_Metric": 0.5, "loss": 1.0, "chrf": 40.0}) == "chrF 40, loss 1, my_Metric 0.5"
