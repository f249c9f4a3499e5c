"""Translation: a text into another one."""

from typing import Any, ClassVar

from seqloom.tasks.generation_task import GenerationTask
from seqloom.tasks.metrics.translation import Translations
from seqloom.tasks.text_source import Source, Texts


class Translate(GenerationTask):
    """p(target | source), a text about a text."""

    name: ClassVar[str] = "translate"
    summary: ClassVar[str] = (
        "Turn a text into another: translate it. Reads pairs: TSV, CSV, JSONL, or two text files line by line."
    )
    items: ClassVar[str] = "pairs"
    sources: ClassVar[type[Source[Any]]] = Texts
    metrics: ClassVar[type[Translations]] = Translations
    chosen_by = "chrf"  # BLEU is 0 until four words in a row are right


TASK = Translate
