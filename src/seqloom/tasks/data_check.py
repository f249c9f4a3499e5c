"""A check of data before training: what they are, what training would refuse, and what else is worth knowing."""

from seqloom.core.config.data import RowData
from seqloom.core.problem import UserError
from seqloom.data.inspection.report import Inspection
from seqloom.data.source import DataSource
from seqloom.data.split import SPLITS
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS


def check_data(experiment: Experiment) -> Inspection:
    """Everything found in an experiment's data; invalid data never raise an error.

    >>> from seqloom.tasks.registry import experiment
    >>> path = getfixture("tmp_path") / "reviews.tsv"
    >>> _ = path.write_text("good\\t1\\nbad\\t0\\tno\\n" * 10)
    >>> data = {"train": str(path), "text": "1", "label": "2"}
    >>> inspection = check_data(experiment({"task": "classify", "data": data}))
    >>> inspection.ok, inspection.findings[0].problem.message
    (False, '3 fields, expected 2 (text, label); 10 lines like this')
    """
    data = experiment.data
    skips = isinstance(data, RowData) and data.on_bad_line == "skip"
    inspection = Inspection(experiment.task, "warning" if skips else "error")
    if isinstance(data, RowData):
        data = data.model_copy(update={"on_bad_line": "skip"})  # reading continues after a bad line
    source = DataSource.resolve(data, experiment.data_spec, inspection.add_error)
    try:
        source = source.hashed()
    except UserError as error:
        inspection.add_error(error)
    if source.corpus:
        inspection.summarize("corpus", f"{source.corpus} (embedded)")
    for split in SPLITS:
        if files := source.files[split]:
            first = ", ".join(map(str, files[:3])) + (f", … ({len(files)} files)" if len(files) > 3 else "")
            format_of = {path: each.format.name for each in source.inputs if each.split == split for path in each.paths}
            formats = ", ".join(dict.fromkeys(format_of[path] for path in files))
            inspection.summarize(f"{split} files", f"{first} ({formats})")
    if source.columns is not None:
        inspection.summarize("columns", source.columns.describe())
    TASKS[experiment.task].check(source, inspection)
    return inspection
