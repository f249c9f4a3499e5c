"""Captioning: a text about an image."""

from typing import Any, ClassVar

from seqloom.tasks.generation_task import GenerationTask
from seqloom.tasks.image_source import Pictures
from seqloom.tasks.metrics.translation import Captions, Translations
from seqloom.tasks.text_source import Source


class Caption(GenerationTask):
    """p(caption | image), a text about an image or a grid of features."""

    name: ClassVar[str] = "caption"
    summary: ClassVar[str] = (
        "Describe a picture. Reads TSV, CSV or JSONL with an image's path and its caption; or .npy grids of features."
    )
    items: ClassVar[str] = "captions"
    sources: ClassVar[type[Source[Any]]] = Pictures
    metrics: ClassVar[type[Translations]] = Captions
    chosen_by = "bleu_4"  # long babble has a good chrF beside short captions


TASK = Caption
