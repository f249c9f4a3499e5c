"""The report of captioning."""

from typing import ClassVar

from seqloom.tasks.caption.config import Config
from seqloom.tasks.generation_report import GenerationReport


class CaptionReport(GenerationReport):
    source_key: ClassVar[str] = "image"
    answer_key: ClassVar[str] = Config.answer
    source_name: ClassVar[str] = "image"


REPORT = CaptionReport
