"""How a run went: what it writes, its scores, where it is, and what to do next."""

import re
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from seqloom.cli.answers import show_attention
from seqloom.cli.baseline import show_baseline
from seqloom.cli.console import block, command, is_live, say, say_exactly
from seqloom.cli.progress import Progress, place_in_words, scores_in_words
from seqloom.data.images import write_png
from seqloom.data.origin import Origin
from seqloom.lens.report import report
from seqloom.lens.report_figures import loss
from seqloom.runs.run import Run
from seqloom.spec.folder import ATTENTION, REPORT
from seqloom.tasks.caption.task import Caption
from seqloom.tasks.classify.task import Classify
from seqloom.tasks.generation_task import SHOWN, GenerationTask
from seqloom.tasks.language.task import Language
from seqloom.tasks.tag.task import Tag
from seqloom.training.session import Sitting
from seqloom.views import terminal
from seqloom.views.numbers import duration
from seqloom.views.text import cut, one_line, visible

CURVE_LINES = 7  # with its title, legend and foot: a dozen at most
NARROW = 60  # columns: below this a curve says little
SAMPLE, EXAMPLE = 600, 200  # characters
ARROW = "→"
ROWS = 40  # tokens that a map in the terminal has room for


def show_ending(console: Console, run: Run, sitting: Sitting, progress: Progress) -> None:
    """The lines after the last step."""
    show_curve(console, run.folder)
    for sample in progress.samples:
        written = cut(visible(sample.prompt + sample.text), SAMPLE)
        say(console, "sample", "")
        block(console, Text(written.strip("\n"), "bold"))
    scores = run.scores
    show_written(console, scores.get("details", {}))
    say(console, "best", best_words(run, progress))
    show_baseline(console, scores.get("valid", {}), scores.get("details", {}))
    if "test" in scores:
        say(console, "test", scores_in_words(scores["test"]))
    if progress.skipped:
        told = f"{progress.skipped:,} step{'s' * (progress.skipped > 1)} left out, not finite (see the report)"
        say(console, "skipped", told, "bold yellow")
    say(console, "took", cost_words(scores.get("cost", {})))
    drawn = [ATTENTION] if (run.folder / ATTENTION).exists() else []
    say_exactly(console, "wrote", f"{run.folder}   ({', '.join([REPORT, *drawn, str(run.manifest.model)])})")
    say_exactly(console, "next", next_command(run.folder, sitting))


def show_written(console: Console, details: dict[str, Any]) -> None:
    """Some of what a run that translates or describes wrote, beside what it read, and where it looked for one."""
    examples = details.get("examples", [])[:SHOWN]
    for each in examples:
        name = "translation" if "translation" in each else "caption"
        right = each.get("right", each[name] in each["references"])  # runs of old don't say
        told = Text(f"{cut(one_line(str(each.get('text', each.get('image', '')))), EXAMPLE)} {ARROW} ")
        told.append(cut(one_line(each[name]), EXAMPLE) or "(nothing)", "bold green" if right else "bold yellow")
        if not right:
            told.append(f" (expected: {one_line(each['references'][0])})", "dim")
        say(console, "examples" if each is examples[0] else "", told)
    if "attention" in details and len(details["attention"]["tokens"]) <= ROWS:
        form = "a picture" if "regions" in details["attention"] else "a row"
        say(console, "looked", f"where it looked for one of them: {form} for each token that it wrote")
        show_attention(console, details["attention"])


def show_curve(console: Console, folder: Path) -> None:
    """The loss, small, where there is a terminal to see it on."""
    figure = loss(report(folder))
    if figure is None or not is_live(console) or console.width < NARROW or len(figure.series[0].points) < 3:
        return
    using = terminal.characters(console.encoding)
    for line in terminal.draw(figure, min(console.width, 100), CURVE_LINES, using)[1:]:  # the legend names it already
        console.print(Text(line, "dim"), soft_wrap=True)


def best_words(run: Run, progress: Progress) -> str:
    """Which weights were kept, and how good they are on the part that they were chosen by."""
    scores = run.scores
    averaged = scores.get("averaged", {})
    step, best = scores.get("best_step", 0), progress.best
    place = place_in_words(best.epoch, step) if best is not None and best.step == step else f"step {step:,}"
    if averaged.get("kept"):
        place = f"the mean of {len(averaged['steps'])} validations"
    decode = run.experiment.decode
    if isinstance(run.task, GenerationTask) and decode is not None and decode.beam > 1:
        place += f", with a beam of {decode.beam}"  # validations are greedy
    return f"{place}: {scores_in_words(scores.get('valid', {}))}"


def cost_words(cost: dict[str, Any]) -> str:
    """Time and speed."""
    rate = cost.get("tokens_per_second")
    speed = f", {rate:,.0f} tokens/s" if isinstance(rate, int | float) else ""
    steps = int(cost.get("steps", 0))
    return f"{duration(float(cost.get('seconds', 0.0)))} for {steps:,} step{'s' * (steps != 1)}{speed}"


def next_command(folder: Path, sitting: Sitting) -> str:
    """A command that works with this run, on something that it may know."""
    if isinstance(sitting.task, Language):
        return command("generate", folder, "--prompt", example(sitting, folder))
    return command("predict", folder, example(sitting, folder))


def example(sitting: Sitting, folder: Path) -> str:
    """A short text, or a picture, from the validation part."""
    task = sitting.task
    if isinstance(task, Language):
        if task.experiment.decode is not None and task.experiment.decode.prompt:
            return task.experiment.decode.prompt
        text = task.tokeniser.decode(task.data.tokens["valid"][:200].tolist())
        words = re.findall(r"(?<=\s)[^\W\d_]{2,}", text)  # the part may begin in the middle of one
        return f"{words[0][:20]} " if words else "the "
    if isinstance(task, Classify):
        part = task.data.parts["valid"]
        texts = [bytes(part.texts[row]).decode(errors="replace") for row in range(min(20, len(part)))]
    elif isinstance(task, Tag):
        tagged = task.data.parts["valid"]
        texts = [" ".join(task.data.words(tagged.forms[row])) for row in range(min(20, len(tagged)))]
    elif isinstance(task, Caption):
        return str(scene(task, sitting.origin, folder))
    elif isinstance(task, GenerationTask):
        pairs = task.data.parts["valid"]
        texts = [bytes(pairs.source_texts[row]).decode(errors="replace") for row in range(min(20, len(pairs)))]
    else:
        texts = []
    short = [one_line(" ".join(text.split()[:8])) for text in texts if text.strip()]
    return min(short, key=lambda text: ("'" in text, abs(len(text) - 30)), default="a text")  # easily quoted, not long


def scene(task: Caption, origin: Origin, folder: Path) -> Path:
    """A picture that the run can be asked about: one of its own files; a drawn one is written beside the run first."""
    part = task.data.parts["valid"]
    table = origin.names()[part.files[part.file[0]].number]
    if table != origin.corpus:
        return Path(table).parent / str(part.images.name(int(part.image[0])))
    path = folder / "scene.png"
    write_png(path, part.images[int(part.image[0])])
    return path
