"""A run's report as a page and as lines for a terminal, with a section for each kind of data that the run has."""

import json
from collections.abc import Mapping
from datetime import datetime
from textwrap import wrap

from seqloom.core.wording import counted, join_words
from seqloom.lens import report_figures
from seqloom.lens.report import Report
from seqloom.tasks.metrics.registry import readable
from seqloom.training.events import Sample
from seqloom.views import terminal
from seqloom.views.figure import Table
from seqloom.views.format import byte_size, duration, one_line, rounded
from seqloom.views.html import (
    Block,
    Collapsible,
    Facts,
    FullWidth,
    PageSection,
    Paragraph,
    Preformatted,
    SideBySide,
    Status,
    page,
)
from seqloom.views.lenient import mapping, string
from seqloom.views.terminal import fit

SHOWN_SAMPLES, SHOWN_SKIPS = 3, 50
COSTS = {  # by key of the report's cost: its name, and how it is formatted
    "seconds": ("time", duration),
    "tokens": ("tokens read", rounded),
    "tokens_per_second": ("tokens per second", rounded),
    "parameters": ("parameters", rounded),
    "peak_memory_bytes": ("peak memory", byte_size),
}


def report_page(report: Report) -> str:
    """The whole page."""
    config = (Collapsible("experiment.toml", (Preformatted(report.config),)),) if report.config else ()
    sections = (
        PageSection("Scores", _scores(report)),
        PageSection("Training", _training(report)),
        PageSection("Samples", _samples(report.history.samples)),
        *report.details.sections(),
        PageSection("Cost", _cost(report)),
        PageSection("Config", config),
        PageSection("Versions", _versions(report)),
        PageSection("Notes", tuple(map(Paragraph, (*report.problems, *report.history.notes)))),
    )
    return page(report.name, lead(report), status(report), [section for section in sections if section.blocks])


def report_lines(report: Report, width: int) -> list[str]:
    """Title, ending, selection, scores and the loss curve; the command that continues the run is never cut."""
    ending = status(report)
    lines = [fit(line, width) for line in (report.name, lead(report))]
    lines += wrap(one_line(ending.text), width) if ending else []
    lines += [f"To continue: {one_line(ending.command)}"] if ending and ending.command else []
    lines += [line for sentence in _selection(report) for line in wrap(sentence, width)] if report.scores else []
    for figure in (_score_table(report), report_figures.loss_figure(report)):
        lines += ["", *terminal.draw(figure, width)] if figure is not None else []
    return lines


def lead(report: Report) -> str:
    """The run in a line: task, model, size, best score, date."""
    size = f"{report.parameters:,} parameters" if report.parameters is not None else ""
    name = report.chosen_by or "loss"
    values = [score.valid for score in report.scores if score.name == name and score.valid is not None]
    best = f"validation {readable(name)} {rounded(values[0])}" if values else ""
    return " · ".join(part for part in (report.task, report.arch, size, best, day(report.created)) if part)


def status(report: Report) -> Status | None:
    """How the run ended, and how to continue it."""
    ending, seconds = report.history.ending, report.cost.get("seconds")
    if ending is None:
        return None
    at = f"at step {ending.step:,}" + (f", after {duration(seconds)}" if seconds is not None else "")
    if ending.kind == "finished":
        return Status("good", f"Finished {at}.")
    if ending.kind == "stopped":
        reason = f" ({ending.reason})" if ending.reason else ""
        return Status("warning", f"Stopped {at}{reason}.", report.resume_command)
    return Status("open", f"Not finished: still running, or crashed; last seen {at}.", report.resume_command)


def day(time: str) -> str:
    """
    >>> day("2026-01-31T15:04:05+00:00"), day("yesterday")
    ('31 January 2026, 15:04', '')
    """
    try:
        when = datetime.fromisoformat(time)
    except ValueError:
        return ""
    return f"{when.day} {when:%B %Y, %H:%M}"


def _score_table(report: Report) -> Table | None:
    has_test = any(score.test is not None for score in report.scores)
    header = ("score", "validation", "test") if has_test else ("score", "validation")
    rows = tuple((readable(score.name), score.valid, score.test)[: len(header)] for score in report.scores)
    return Table("All scores", header, rows) if rows else None


def _scores(report: Report) -> tuple[Block, ...]:
    table, chosen_by = _score_table(report), report.chosen_by
    if table is None:
        return ()
    facts = []
    for score in sorted(report.scores, key=lambda score: score.name != chosen_by)[:4]:
        split, value = ("test", score.test) if score.test is not None else ("validation", score.valid)
        more = f"test; validation {rounded(score.valid)}" if split == "test" and score.valid is not None else split
        facts.append((readable(score.name), rounded(value), more))
    blocks: list[Block] = [Facts(tuple(facts))]
    if len(report.scores) > 4:
        blocks.append(table)
    blocks += map(Paragraph, _selection(report))
    return (*blocks, *report.details.score_notes())


def _selection(report: Report) -> list[str]:
    """Which weights were selected and by which rule, and what to know about that."""
    sentences, by = [], f", selected {report.selection}" if report.selection else ""
    if report.final.averaged:
        steps = ", ".join(f"{step:,}" for step in report.final.averaged)
        sentences.append(f"Average of the weights of steps {steps}{by}.")
    elif report.best_step is not None:
        sentences.append(f"Weights of step {report.best_step:,}{by}.")
    decode = report.settings.get("decode")
    beam = decode.get("beam_size") if isinstance(decode, Mapping) else None
    if isinstance(beam, int) and beam > 1 and report.final.valid:
        sentences.append(f"The scores are with a beam of {beam}; the curves are with greedy search.")
    if report.history.disqualified:
        steps = join_words([f"{e.former:,} (loss {rounded(e.former_loss)})" for e in report.history.disqualified])
        sentences.append(f"Disqualified by a later, lower loss: the weights of step {steps}.")
    if report.greedy_note:
        sentences.append(f"{report.greedy_note}.")
    return sentences


def _training(report: Report) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if (loss := report_figures.loss_figure(report)) is not None:
        blocks.append(FullWidth(loss))
    if small := (*report_figures.validation_figures(report), *report_figures.training_figures(report)):
        blocks.append(SideBySide(small))
    if report.history.skipped:
        count, shown = report.history.skip_count, report.history.skipped[:SHOWN_SKIPS]
        note = f" ({len(shown)} of them)" if count > len(shown) else ""
        rows = tuple((float(skip.step), skip.what, str(skip.value)) for skip in shown)
        table = Table("Skipped steps", ("step", "not finite", "value"), rows)
        blocks.append(Collapsible(f"{counted(count, 'step')} skipped{note}", (table,)))
    return tuple(blocks)


def _samples(samples: tuple[Sample, ...]) -> tuple[Block, ...]:
    blocks = []
    for sample in samples:
        prompt = f", prompt {json.dumps(sample.prompt, ensure_ascii=False)}" if sample.prompt else ""
        blocks.append(Preformatted(sample.text, f"Step {sample.step:,}{prompt}"))
    if len(blocks) <= SHOWN_SAMPLES:
        return tuple(blocks)
    more = Collapsible(f"{len(blocks)} samples over the run", tuple(blocks))
    return (blocks[0], blocks[len(blocks) // 2], blocks[-1], more)


def _cost(report: Report) -> tuple[Block, ...]:
    cost, epoch = report.cost, report.history.epoch
    facts = [(name, form(cost[key]), "") for key, (name, form) in COSTS.items() if key in cost]
    if epoch is not None:
        facts.insert(min(1, len(facts)), ("epochs", rounded(round(epoch, 2)), ""))
    speed = report_figures.speed_figure(report)
    return (*([Facts(tuple(facts))] if facts else []), *([SideBySide((speed,))] if speed else []))


def _versions(report: Report) -> tuple[Block, ...]:
    versions = list(mapping(report.manifest.get("versions")).items())[:20]
    rows = [(string(name, 40), string(version, 80)) for name, version in versions]
    rows.append(("format", string(report.manifest.get("format"), 80)))
    rows += [("device", string(report.history.start.get("device"), 200)), ("created", report.created)]
    rows = [(name, value) for name, value in rows if value]
    files = list(mapping(report.manifest.get("files")).items())
    digests = tuple((string(name, 200), string(digest, 80)) for name, digest in files[:200])
    blocks: list[Block] = [Table("Made by", ("what", "version"), tuple(rows))] if rows else []
    if digests:
        blocks.append(Collapsible(f"{len(files)} files", (Table("Files", ("file", "SHA-256"), digests),)))
    return tuple(blocks)
