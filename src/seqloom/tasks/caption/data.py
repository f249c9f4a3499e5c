"""The rows of a captioner: the number of an image in its store, and a caption as tokens and as it was written."""

from seqloom.data.image_store import ImageOptions
from seqloom.data.schema import NumberColumn, Schema, TextColumn, TokenColumn, tokenizer_learner
from seqloom.tasks.caption.config import CaptionData
from seqloom.tasks.generation_task import TARGET_FILE

FOR_TEXTS = "pairs of texts are for 'seqloom train translate'"
IMAGE, CAPTION, NAME = 0, 1, 2  # which value of an example, once its image has a number


def schema(data: CaptionData) -> Schema:
    """The columns of a caption; all captions of an image are in one split."""
    return Schema(
        columns=(
            NumberColumn("image", IMAGE, dtype="int64"),
            TokenColumn("target", CAPTION, data.max_length, encoder=TARGET_FILE),
            TextColumn("target_texts", CAPTION),
        ),
        learners={TARGET_FILE: tokenizer_learner((CAPTION,), data, "word")},
        content=NAME,
    )


def image_options(data: CaptionData, features: int | None = None) -> ImageOptions:
    return ImageOptions(data.image_size, data.on_bad_image == "skip", features, FOR_TEXTS)
