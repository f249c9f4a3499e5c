"""The report of translation."""

from typing import ClassVar

from seqloom.tasks.generation_report import GenerationReport
from seqloom.tasks.translate.config import Config


class TranslateReport(GenerationReport):
    source_key: ClassVar[str] = "text"
    answer_key: ClassVar[str] = Config.answer
    source_name: ClassVar[str] = "source"


REPORT = TranslateReport
