"""Write the tables of models.md: which architecture does which task, and how large each is.

    python docs/models.py

Both are asked of the package: a cell of the first table is what the config accepts or the sentence by which it refuses,
a number in the others is counted on the model that a task builds. The tests ask that the page is what this would write.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import torch

from seqloom.core.names import SIZES
from seqloom.core.problem import ConfigError
from seqloom.data.tokenizers import Tokenizer, train_tokenizer
from seqloom.data.vocabulary import UNKNOWN, Vocabulary
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.caption.task import Caption
from seqloom.tasks.classify.data import LABELS_FILE, TOKENIZER_FILE
from seqloom.tasks.classify.task import Classify
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.generation_task import SOURCE_FILE, TARGET_FILE
from seqloom.tasks.known_characters import KnownCharacters
from seqloom.tasks.language.task import Language
from seqloom.tasks.registry import TASKS, experiment
from seqloom.tasks.tag.data import LETTERS_FILE, NO_LETTER, TAGS_FILE, WORDS_FILE
from seqloom.tasks.tag.task import Tag
from seqloom.tasks.task import Task
from seqloom.tasks.translate.task import Translate

PAGE = Path(__file__).resolve().parent / "models.md"

CHARACTERS, WORDS, LABELS, TAGS = 100, 20_000, 2, 17  # what the sizes are counted with
PIECES = 8000  # of both languages together, and of captions


def asked(arch: str, task: str, size: str = "small") -> Experiment | None:
    """The experiment, or None if the architecture can't do the task."""
    try:
        return experiment({"task": task, "model": {"arch": arch, "size": size}})
    except ConfigError:
        return None


def names(count: int) -> list[str]:
    """As many as are asked for, all different."""
    return [f"n{number}" for number in range(count)]


@cache
def characters() -> Tokenizer:
    """Of as many characters as are counted with."""
    alphabet = "".join(chr(ord("\u00c0") + number) for number in range(CHARACTERS))
    return train_tokenizer("character", [alphabet], vocabulary_size=0, min_count=1, lowercase=False, sample=CHARACTERS)


@cache
def words(count: int = WORDS) -> Tokenizer:
    """Of as many words as are counted with, the unknown one among them."""
    text = " ".join(names(count))
    return train_tokenizer("word", [text], vocabulary_size=count, min_count=1, lowercase=False, sample=len(text))


def opened(chosen: Experiment) -> Task:
    """The task with a vocabulary of the size that is counted with, and no data."""
    if chosen.task == "language":
        return Language(chosen, characters())
    if chosen.task == "classify":
        return Classify(chosen, {TOKENIZER_FILE: words(), LABELS_FILE: Vocabulary(names(LABELS))}, baseline="0")
    if chosen.task == "translate":
        both = words(PIECES)
        return Translate(chosen, {SOURCE_FILE: both, TARGET_FILE: both}, known=KnownCharacters())
    if chosen.task == "caption":
        return Caption(chosen, {TARGET_FILE: words(PIECES)}, known=KnownCharacters(), features=0, regions=0)
    letters = Vocabulary([NO_LETTER, UNKNOWN, *names(CHARACTERS - 2)])
    forms = Vocabulary([UNKNOWN, *names(WORDS - 1)])
    return Tag(chosen, {WORDS_FILE: forms, LETTERS_FILE: letters, TAGS_FILE: Vocabulary(names(TAGS))}, baseline="0")


def parameters(chosen: Experiment) -> int:
    """How many numbers the model learns; counted without making them."""
    with torch.device("meta"):
        return sum(weight.numel() for weight in opened(chosen).build().parameters())


def brief(count: int) -> str:
    """Three digits of it.

    >>> brief(34_241), brief(1_234_567)
    ('34.2 k', '1.23 M')
    """
    thousand, unit = (1e6, "M") if count >= 999_500 else (1e3, "k")
    digits = 2 if count < 10 * thousand else 1 if count < 100 * thousand else 0
    return f"{count / thousand:.{digits}f} {unit}"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """In Markdown; all columns but the first two are of figures or marks."""
    header = list(header)
    lines = [header, ["---"] * len(header), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def matrix() -> str:
    """Architectures by tasks."""
    rows = []
    for arch, architecture in ARCHITECTURES.items():
        able = ["yes" if asked(arch, task) else "no" for task in TASKS]
        rows.append([f"`{arch}`", *able, architecture.summary, f"[{architecture.paper}]({architecture.url})"])
    return table(["`--model`", *TASKS, "", "paper"], rows)


def sizes(task: str) -> str:
    """Parameters by architecture and size."""
    able = [arch for arch in ARCHITECTURES if asked(arch, task)]
    counts = [[parameters(chosen) for size in SIZES if (chosen := asked(arch, task, size))] for arch in able]
    rows = ([f"`{arch}`", *map(brief, row)] for arch, row in zip(able, counts, strict=True))
    return table(["`--model`", *(f"`{size}`" for size in SIZES)], rows)


def filled(page: str) -> str:
    """The page with every table as it is now: each stands between `<!-- begin NAME -->` and `<!-- end -->`."""

    def replace(found: re.Match[str]) -> str:
        name = found[1]
        return f"<!-- begin {name} -->\n{matrix() if name == 'matrix' else sizes(name)}\n<!-- end -->"

    return re.sub(r"<!-- begin (\w+) -->.*?<!-- end -->", replace, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
