"""Write the tables of models.md: the tasks of each architecture, and its number of parameters.

    python docs/models.py

The first table has what the config accepts; the others count the parameters of the models that the tasks build. A test
checks that the page is up to date.
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
from seqloom.tasks.language.task import Language
from seqloom.tasks.registry import TASKS, experiment
from seqloom.tasks.tag.data import LETTERS_FILE, NO_LETTER, TAGS_FILE, WORDS_FILE
from seqloom.tasks.tag.task import Tag
from seqloom.tasks.task import Task
from seqloom.tasks.translate.task import Translate

PAGE = Path(__file__).resolve().parent / "models.md"

CHARACTERS, WORDS, LABELS, TAGS = 100, 20_000, 2, 17  # the sizes of the vocabularies
JOINT_TOKENS = 8000  # for both languages of translate together, and for caption


def supported(arch: str, task: str, size: str = "small") -> Experiment | None:
    """The experiment, or None if the task does not support the architecture."""
    try:
        return experiment({"task": task, "model": {"arch": arch, "size": size}})
    except ConfigError:
        return None


def names(count: int) -> list[str]:
    """Distinct names."""
    return [f"n{number}" for number in range(count)]


@cache
def characters() -> Tokenizer:
    alphabet = "".join(chr(ord("\u00c0") + number) for number in range(CHARACTERS))
    return train_tokenizer("character", [alphabet], vocabulary_size=0, min_count=1, lowercase=False, sample=CHARACTERS)


@cache
def words(count: int = WORDS) -> Tokenizer:
    """A tokenizer of `count` words, with that for unknown words among them."""
    text = " ".join(names(count))
    return train_tokenizer("word", [text], vocabulary_size=count, min_count=1, lowercase=False, sample=len(text))


def task_of(config: Experiment) -> Task:
    """The task with vocabularies of these sizes, without data."""
    if config.task == "language":
        return Language(config, characters())
    if config.task == "classify":
        return Classify(config, {TOKENIZER_FILE: words(), LABELS_FILE: Vocabulary(names(LABELS))})
    if config.task == "translate":
        joint = words(JOINT_TOKENS)
        return Translate(config, {SOURCE_FILE: joint, TARGET_FILE: joint})
    if config.task == "caption":
        return Caption(config, {TARGET_FILE: words(JOINT_TOKENS)})
    letters = Vocabulary([NO_LETTER, UNKNOWN, *names(CHARACTERS - 2)])
    forms = Vocabulary([UNKNOWN, *names(WORDS - 1)])
    return Tag(config, {WORDS_FILE: forms, LETTERS_FILE: letters, TAGS_FILE: Vocabulary(names(TAGS))})


def parameters(config: Experiment) -> int:
    """The number of parameters of the model, counted on the meta device."""
    with torch.device("meta"):
        return sum(weight.numel() for weight in task_of(config).build().parameters())


def brief(count: int) -> str:
    """The count with three significant digits.

    >>> brief(34_241), brief(1_234_567)
    ('34.2 k', '1.23 M')
    """
    thousand, unit = (1e6, "M") if count >= 999_500 else (1e3, "k")
    digits = 2 if count < 10 * thousand else 1 if count < 100 * thousand else 0
    return f"{count / thousand:.{digits}f} {unit}"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    header = list(header)
    lines = [header, ["---"] * len(header), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def matrix() -> str:
    """Architectures by tasks."""
    rows = []
    for arch, architecture in ARCHITECTURES.items():
        cells = ["yes" if supported(arch, task) else "no" for task in TASKS]
        rows.append([f"`{arch}`", *cells, architecture.summary, f"[{architecture.paper}]({architecture.url})"])
    return table(["`--model`", *TASKS, "description", "paper"], rows)


def sizes(task: str) -> str:
    """Parameters by architecture and size."""
    architectures = [arch for arch in ARCHITECTURES if supported(arch, task)]
    counts = [
        [parameters(config) for size in SIZES if (config := supported(arch, task, size))] for arch in architectures
    ]
    rows = ([f"`{arch}`", *map(brief, row)] for arch, row in zip(architectures, counts, strict=True))
    return table(["`--model`", *(f"`{size}`" for size in SIZES)], rows)


def update_tables(page: str) -> str:
    """The page with every table up to date; tables are between `<!-- begin NAME -->` and `<!-- end -->`."""

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- begin {name} -->\n{matrix() if name == 'matrix' else sizes(name)}\n<!-- end -->"

    return re.sub(r"<!-- begin (\w+) -->.*?<!-- end -->", replace, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(update_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
