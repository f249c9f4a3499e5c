"""What a run would be and cost, before it is begun."""

import re

from rich.console import Console
from rich.text import Text

from seqloom.cli.console import block, say
from seqloom.spec.config.toml import written
from seqloom.training.estimate import Estimate
from seqloom.training.session import Sitting
from seqloom.views.numbers import duration, memory
from seqloom.views.terminal import characters, fit


def show_estimate(console: Console, sitting: Sitting, found: Estimate) -> None:
    """The cost, the first batch as a person would read it, and the config."""
    say(console, "steps", f"{found.steps:,}, about {found.tokens:,} tokens")
    say(console, "time", f"about {duration(found.seconds)}")
    say(console, "memory", f"about {memory(found.memory)}")
    say(console, "batch", "the first one begins with")
    using, width = characters(console.encoding), console.width - 9 if console.is_terminal else 200
    for row in found.first:
        block(console, Text(fit(row, width, using), "dim"))
    say(console, "config", "with every default:")
    console.print()
    for line in written(sitting.experiment).splitlines():
        key = re.match(r"(\[?\w+\]?)(.*)", line)
        console.print(Text.assemble((key[1], "cyan"), key[2]) if key else Text(line), soft_wrap=True)
    console.print()
    say(console, "wrote", "nothing: this was a dry run")
