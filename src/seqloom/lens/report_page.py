"""A run's report as a page and as lines for a terminal: a section for what there is, none for what is not."""

import json
from datetime import datetime
from textwrap import wrap

from seqloom.lens import report_figures as figures
from seqloom.lens.report import Report
from seqloom.lens.run_files import Sample
from seqloom.tasks.metrics.registry import readable
from seqloom.views import terminal
from seqloom.views.figure import Table
from seqloom.views.format import byte_size, duration, one_line, short
from seqloom.views.html import (
    Block,
    Collapsible,
    Facts,
    FullWidth,
    Paragraph,
    Preformatted,
    Row,
    Section,
    Status,
    page,
)
from seqloom.views.lenient import mapping, string
from seqloom.views.terminal_cells import fit

SHOWN_SAMPLES, SHOWN_SKIPS = 3, 50


def report_page(report: Report) -> str:
    """The whole page."""
    sections = (
        Section("Scores", _scores(report)),
        Section("Training", _training(report)),
        Section("Samples", _samples(report)),
        *report.details.sections(),
        Section("Cost", _cost(report)),
        Section("Config", (Collapsible("experiment.toml", (Preformatted(report.config),)),) if report.config else ()),
        Section("Versions", _versions(report)),
        Section("Notes", tuple(Paragraph(note) for note in (*report.problems, *report.history.notes))),
    )
    return page(report.name, lead(report), status(report), [section for section in sections if section.blocks])


def report_lines(report: Report, width: int) -> list[str]:
    """Title, ending, scores and the loss curve, in text; the sentence on how to continue is never cut."""
    ended = status(report)
    lines = [fit(line, width) for line in (report.name, lead(report))]
    lines += wrap(one_line(ended.text), width) if ended else []
    lines += [f"To continue: {one_line(ended.command)}"] if ended and ended.command else []
    shown = [figure for figure in (_score_table(report), figures.loss(report)) if figure is not None]
    for figure in shown:
        lines += ["", *terminal.draw(figure, width)]
    return lines


def lead(report: Report) -> str:
    """The run in a line: task, model, size, best score, date."""
    size = f"{report.parameters:,} parameters" if report.parameters is not None else ""
    parts = (report.task, report.arch, size, _best(report), day(report.created))
    return " · ".join(part for part in parts if part)


def status(report: Report) -> Status | None:
    """How it ended, and how to continue."""
    ending = report.ending
    if ending is None:
        return None
    seconds = report.cost.get("seconds")
    at = f"at step {ending.step:,}" + (f", after {duration(seconds)}" if seconds is not None else "")
    if ending.kind == "finished":
        return Status("good", f"Finished {at}.")
    if ending.kind == "stopped":
        why = f" ({ending.why})" if ending.why else ""
        return Status("warning", f"Stopped {at}{why}.", report.resume)
    return Status("open", f"Not finished: still running, or crashed; last seen {at}.", report.resume)


def day(written: str) -> str:
    """
    >>> day("2026-01-31T15:04:05+00:00"), day("yesterday")
    ('31 January 2026, 15:04', '')
    """
    try:
        when = datetime.fromisoformat(written)
    except ValueError:
        return ""
    return f"{when.day} {when:%B %Y, %H:%M}"


def _best(report: Report) -> str:
    name = report.outcome.chosen_by or "loss"
    found = next((score for score in report.scores if score.name == name and score.valid is not None), None)
    return f"validation {readable(name)} {short(found.valid)}" if found else ""


def _score_table(report: Report) -> Table | None:
    tested = any(score.test is not None for score in report.scores)
    header = ("score", "validation", "test") if tested else ("score", "validation")
    rows = tuple((readable(score.name), score.valid, score.test)[: len(header)] for score in report.scores)
    return Table("All scores", header, rows) if rows else None


def _scores(report: Report) -> tuple[Block, ...]:
    all_scores = _score_table(report)
    if all_scores is None:
        return ()
    chosen = [score for score in report.scores if score.name == report.outcome.chosen_by]
    others = [score for score in report.scores if score not in chosen]
    facts = []
    for score in (chosen + others)[:4]:
        data, value = ("test", score.test) if score.test is not None else ("validation", score.valid)
        more = f"test; validation {short(score.valid)}" if data == "test" and score.valid is not None else data
        facts.append((readable(score.name), short(value), more))
    by = f", chosen by {readable(report.outcome.chosen_by)}" if report.outcome.chosen_by else ""
    steps = [f"Weights of step {report.best_step:,}{by}."] if report.best_step is not None else []
    if report.outcome.averaged:
        steps = [f"The mean of the weights at steps {', '.join(f'{step:,}' for step in report.outcome.averaged)}{by}."]
    blocks: list[Block] = [Facts(tuple(facts))]
    if len(report.scores) > 4:
        blocks.append(all_scores)
    return (*blocks, *map(Paragraph, steps), *report.details.score_notes())


def _training(report: Report) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if (loss := figures.loss(report)) is not None:
        blocks.append(FullWidth(loss))
    small = (*figures.validation(report), *figures.training(report))
    if small:
        blocks.append(Row(small))
    if report.skipped:
        count = report.history.skip_count
        shown = report.skipped[:SHOWN_SKIPS]
        some = f" ({len(shown)} of them)" if count > len(shown) else ""
        rows = tuple((float(skip.step), skip.what, skip.value) for skip in shown)
        listed = Table("Skipped steps", ("step", "not finite", "value"), rows)
        blocks.append(Collapsible(f"{count:,} step{'s' * (count > 1)} skipped{some}", (listed,)))
    return tuple(blocks)


def _samples(report: Report) -> tuple[Block, ...]:
    samples = report.samples
    if len(samples) <= SHOWN_SAMPLES:
        return tuple(map(_sample, samples))
    shown = (samples[0], samples[len(samples) // 2], samples[-1])
    return (*map(_sample, shown), Collapsible(f"{len(samples)} samples over the run", tuple(map(_sample, samples))))


def _sample(sample: Sample) -> Preformatted:
    prompt = f", prompt {json.dumps(sample.prompt, ensure_ascii=False)}" if sample.prompt else ""
    return Preformatted(sample.text, f"Step {sample.step:,}{prompt}")


def _cost(report: Report) -> tuple[Block, ...]:
    cost = report.cost
    told = (
        ("time", "seconds", duration),
        ("tokens read", "tokens", short),
        ("tokens a second", "tokens_per_second", short),
        ("parameters", "parameters", short),
        ("peak memory", "peak_memory_bytes", byte_size),
    )
    epoch = report.history.epoch
    facts = [(name, form(cost[key]), "") for name, key, form in told if key in cost]
    if epoch is not None:
        facts.insert(min(1, len(facts)), ("epochs", short(round(epoch, 2)), ""))
    speed = figures.speed(report)
    return (*([Facts(tuple(facts))] if facts else []), *([Row((speed,))] if speed else []))


def _versions(report: Report) -> tuple[Block, ...]:
    versions = mapping(report.manifest.get("versions"))
    told = [(string(name, 40), string(number, 80)) for name, number in list(versions.items())[:20]]
    told.append(("format", string(report.manifest.get("format"), 80)))
    told += [("device", string(report.history.start.get("device"), 200)), ("created", report.created)]
    rows = tuple((name, value) for name, value in told if value)
    files = tuple(
        (string(name, 200), string(digest, 80)) for name, digest in mapping(report.manifest.get("files")).items()
    )
    blocks: list[Block] = [Table("Made by", ("what", "version"), rows)] if rows else []
    if files:
        blocks.append(Collapsible(f"{len(files)} files", (Table("Files", ("file", "SHA-256"), files[:200]),)))
    return tuple(blocks)
