"""How people use a run of a task: what the command line must know of it before torch is imported."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Interaction:
    """Of a task whose config does not say it: it takes texts, and generates none.

    generates: text that continues a prompt (`Task.stream`), or answers about a source (`Task.answer`), both as the
        options of `decode` say; None for neither
    input_advice: to who gave an empty input
    file_advice: to who gave a file without an input; a line is an input
    """

    generates: Literal["continuation", "answer"] | None = None
    input_advice: str = "Give at least one word"
    file_advice: str = "Give one text per line"
