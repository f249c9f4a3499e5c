"""What of a text a model has never seen: it can't know better, but the person may."""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from seqloom.nn.models import Writer
from seqloom.tasks.task import Task
from seqloom.views.text import clip, one_line

NAMED = 20  # characters or words


class Unseen:
    """Gathers what a task does not know of some texts."""

    def __init__(self, task: "Task[Writer, object]") -> None:
        self.task = task
        self.found: dict[str, None] = {}  # in the order in which they came
        self.more = False

    def look(self, texts: Iterable[str]) -> None:
        """At some more texts."""
        for text in texts:
            new = [each for each in self.task.unknown(text) if each not in self.found]
            room = NAMED - len(self.found)
            self.more = self.more or len(new) > room
            self.found.update(dict.fromkeys(new[:room]))

    def warn(self, console: Console) -> None:
        """One line, if there is something to say."""
        if self.found:
            named = ", ".join(clip(one_line(each), 40) for each in self.found)
            told = f"never seen by this model, so it can't know what they mean: {named}{' …' * self.more}"
            console.print(Text.assemble(("warning ", "bold yellow"), told))
