"""Corpora that need no download: made from a seed, or from what Python brings along."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

from seqloom.data.corpora import brackets, copy, numbers, python, scenes
from seqloom.data.corpora.scenes import Scene
from seqloom.data.examples import Labelled, Pair, Sentence
from seqloom.spec.config.data import FAMILIAR
from seqloom.spec.errors import UserError
from seqloom.spec.registry import Registry

Example = TypeVar("Example")
Maker = Callable[[int, int | None, int | None], Iterator[Example]]
"""From a seed, a length and a number of examples (None: as the corpus likes) to the examples, one by one."""
InLanguages = Callable[[int, int | None, int | None, Sequence[str]], Iterator[Labelled]]
"""The same, in these languages."""
Between = Callable[[int, int | None, int | None, str, str], Iterator[Pair]]
"""The same, from one language into another."""
SomeMaker = TypeVar("SomeMaker")


@dataclass(frozen=True)
class Corpus:
    """An embedded corpus, and how it makes the examples of each task that it has."""

    name: str
    summary: str
    language: Maker[str] | None = None
    classify: InLanguages | None = None
    tag: Maker[Sentence] | None = None
    translate: Between | None = None
    caption: Maker[Scene] | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that it has examples for."""
        makers = {
            "language": self.language,
            "classify": self.classify,
            "tag": self.tag,
            "translate": self.translate,
            "caption": self.caption,
        }
        return tuple(task for task, maker in makers.items() if maker is not None)

    def text(self, seed: int, length: int | None = None, examples: int | None = None) -> Iterator[str]:
        """Text in chunks, for a language model."""
        return self._maker("language", self.language)(seed, length, examples)

    def labelled(
        self, seed: int, length: int | None = None, examples: int | None = None, languages: Sequence[str] = FAMILIAR
    ) -> Iterator[Labelled]:
        """Texts with a label, for a classifier."""
        return self._maker("classify", self.classify)(seed, length, examples, languages)

    def sentences(self, seed: int, length: int | None = None, examples: int | None = None) -> Iterator[Sentence]:
        """Words with their tags, for a tagger."""
        return self._maker("tag", self.tag)(seed, length, examples)

    def pairs(
        self,
        seed: int,
        length: int | None = None,
        examples: int | None = None,
        source_language: str = "en",
        target_language: str = "fr",
    ) -> Iterator[Pair]:
        """Texts with their translations."""
        return self._maker("translate", self.translate)(seed, length, examples, source_language, target_language)

    def scenes(self, seed: int, length: int | None = None, examples: int | None = None) -> Iterator[Scene]:
        """Images with a caption."""
        return self._maker("caption", self.caption)(seed, length, examples)

    def _maker(self, task: str, maker: SomeMaker | None) -> SomeMaker:
        if maker is None:
            others = " or ".join(name for name, corpus in CORPORA.items() if task in corpus.tasks)
            raise UserError(
                f"the corpus {self.name} has nothing for {task} (it has {', '.join(self.tasks)}). Use {others}."
            )
        return maker


def summary(module: ModuleType) -> str:
    """A module's docstring as one line."""
    return " ".join((module.__doc__ or "").split())


def in_no_language(maker: Maker[Pair]) -> Between:
    """A maker of pairs that are the same whatever the languages."""

    def make(seed: int, length: int | None, examples: int | None, _source: str, _target: str) -> Iterator[Pair]:
        return maker(seed, length, examples)

    return make


CORPORA: Registry[Corpus] = Registry(
    "corpus",
    {
        "numbers": Corpus("numbers", summary(numbers), classify=numbers.labelled, translate=numbers.pairs),
        "python": Corpus("python", summary(python), language=python.text, tag=python.sentences),
        "copy": Corpus(
            "copy", summary(copy), language=copy.text, tag=copy.sentences, translate=in_no_language(copy.pairs)
        ),
        "brackets": Corpus("brackets", summary(brackets), language=brackets.text, tag=brackets.sentences),
        "scenes": Corpus("scenes", summary(scenes), caption=scenes.captioned),
    },
)

DEFAULTS: Registry[str] = Registry(
    "task",
    {"language": "python", "classify": "numbers", "tag": "python", "translate": "numbers", "caption": "scenes"},
)


def default_corpus(task: str) -> str:
    """The corpus that a task is shown on where no file is given.

    >>> default_corpus("classify")
    'numbers'
    """
    return DEFAULTS[task]
