"""Translation: a text into another one."""

from typing import ClassVar

from seqloom.core.config.section import keys
from seqloom.data.schema import Schema
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.generation_task import GenerationTask
from seqloom.tasks.metrics.text_overlap import TextOverlap
from seqloom.tasks.text_source import Source, Texts
from seqloom.tasks.translate.config import TranslateData
from seqloom.tasks.translate.data import schema


class Translate(GenerationTask):
    """p(target | source), a text about a text."""

    items: ClassVar[str] = "pairs"
    sources: ClassVar[type[Source]] = Texts
    metrics: ClassVar[type[TextOverlap]] = TextOverlap
    chosen_by = "chrf"  # BLEU is 0 until four words in a row are right

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        return schema(keys(experiment.data, TranslateData))


TASK = Translate
