"""Captioning: a text about an image."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self

from seqloom.core.config.section import keys
from seqloom.data.image_store import ImageReader, ImageStore, fill_store, store_images
from seqloom.data.images import write_png
from seqloom.data.prepare import Dataset, prepare, prepare_test
from seqloom.data.schema import Schema
from seqloom.data.source import DataSource
from seqloom.data.split import VALID
from seqloom.tasks.caption.config import CaptionData
from seqloom.tasks.caption.data import image_options, schema
from seqloom.tasks.caption.image_source import Pictures, image_of
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.generation_task import GenerationTask
from seqloom.tasks.metrics.text_overlap import CaptionOverlap, TextOverlap
from seqloom.tasks.text_source import Source

DRAWN = "scene.png"  # in a run folder: a picture of an embedded corpus, to ask the run about


class Caption(GenerationTask):
    """p(caption | image), a text about an image or a grid of features."""

    items: ClassVar[str] = "captions"
    sources: ClassVar[type[Source]] = Pictures
    metrics: ClassVar[type[TextOverlap]] = CaptionOverlap
    chosen_by = "bleu_4"  # long babble has a good chrF beside short captions

    @classmethod
    def schema(cls, experiment: Experiment) -> Schema:
        return schema(keys(experiment.data, CaptionData))

    @classmethod
    def prepare(cls, experiment: Experiment, source: DataSource) -> Self:
        experiment = experiment.model_copy(update={"data": source.data})
        store = store_images(source, image_options(keys(experiment.data, CaptionData)))
        key = {"images": store.state, "sha256": store.sha256}
        data = noting(prepare(source, cls.schema(experiment), store.examples, key), store)
        reads = cls.sources.learned(experiment, data, store.images)
        return cls(experiment, data.encoders, data, source, reads=reads)

    def read(self, files: Sequence[str], folder: Path) -> None:
        assert isinstance(self.source, Pictures)
        self._data_source = source = self.source_to_test(files)
        examples = ImageReader(source)
        fill_store(examples, folder, image_options(keys(self.experiment.data, CaptionData), self.source.features))
        store = ImageStore.open(folder, examples, "")
        data = prepare_test(source, self.schema(self.experiment), self.encoders, folder, store.examples)
        self._data = noting(data, store)
        self.source.look_at(store.images, data, source.names())

    def example_input(self, folder: Path) -> str:
        """One of the run's own files; a picture that was drawn is written beside the run first."""
        assert isinstance(self.source, Pictures)
        part, source, images = self.data.splits[VALID], self.data_source, self.source.images
        table, image = source.names()[part.files[part.file[0]].number], image_of(part, 0)
        if table != source.corpus:
            return str(Path(table).parent / images.name(image))
        path = folder / DRAWN
        write_png(path, images[image])
        return str(path)


def noting(data: Dataset, store: ImageStore) -> Dataset:
    """The data, with the number of images that could not be read among their notes."""
    return replace(data, notes={**data.notes, "bad_images": store.skipped})


TASK = Caption
