"""A look at the data before training: what they are, what training would refuse, what else a person should know."""

from seqloom.data.inspection.captioned import look_at_captioned
from seqloom.data.inspection.findings import Finding, Inspection, Kind, ordered
from seqloom.data.inspection.gathered import Gathered
from seqloom.data.inspection.labelled import look_at_labelled
from seqloom.data.inspection.paired import look_at_paired
from seqloom.data.inspection.sources import sources
from seqloom.data.inspection.tagged import look_at_tagged
from seqloom.data.inspection.text import look_at_text
from seqloom.spec.config.experiment import Experiment

__all__ = ["Finding", "Inspection", "inspect"]

LOOKS = {
    "language": look_at_text,
    "classify": look_at_labelled,
    "tag": look_at_tagged,
    "translate": look_at_paired,
    "caption": look_at_captioned,
}


def inspect(experiment: Experiment) -> Inspection:
    """All that there is to find in an experiment's data; nothing in them makes this raise.

    >>> from seqloom.spec.config.experiment import experiment
    >>> path = getfixture("tmp_path") / "reviews.tsv"
    >>> _ = path.write_text("good\\t1\\nbad\\t0\\tno\\n" * 10)
    >>> found = inspect(experiment({"task": "classify", "data": {"train": str(path), "text": "1", "label": "2"}}))
    >>> found.ok, found.findings[0].what
    (False, '3 fields, expected 2 (text, label); 10 lines like this')
    """
    found = Gathered()
    what = sources(experiment, found)
    LOOKS[experiment.task](what, found)
    findings = [*found.bad.findings(bad_lines(experiment)), *found.findings]
    return Inspection(experiment.task, tuple(found.summary), tuple(ordered(findings)))


def bad_lines(experiment: Experiment) -> Kind:
    """What a bad line is: no error where it would be skipped."""
    return "warning" if experiment.data.on_bad_line == "skip" else "error"
