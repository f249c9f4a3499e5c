"""Registration of user-defined tasks, and of the readers and corpora that tasks use."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from seqloom.core.part import Part, first_line, register_function
from seqloom.core.part_origin import Origin
from seqloom.core.problem import PartError, SeqloomError
from seqloom.core.registry import Registry
from seqloom.data import formats, spec
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, TaskEntry, experiment

if TYPE_CHECKING:
    from seqloom.tasks.data_check import Check
    from seqloom.tasks.task_report import TaskReport

CONFIG_VARIABLES = ("data_spec", "help", "architecture", "use")
TASK_VARIABLES = ("higher_is_better",)
ROW_TASK_VARIABLES = (*TASK_VARIABLES, "row_noun", "length_unit", "length_column")


@register_function("reader")
def register_reader(
    part: Part, *, suffixes: Sequence[str] = (), kind: str = "table", separator: str = ", ", keyed: bool = False
) -> None:
    """A file format, for `data.format`: a function of (paths, data, on_bad_line) that yields pairs (location, cells).

    Each pair is a row of a table; the first may be a header. A line that can't be read is passed to `on_bad_line`, as a
    DataError.

    suffixes: of files in this format
    kind: of what it reads (table, folder, parallel text, conll), which decides the tasks that can use it
    separator: between cells, in messages
    keyed: whether it yields mappings from column names to values, instead of cells

    @seqloom.register.reader("bars", suffixes=(".bars",))
    def bars(paths, data, on_bad_line):
        for path in paths:
            for number, line in read_lines(path, data.max_characters, on_bad_line):
                yield Location(str(path), number), line.split("|")
    """
    kinds = {kind for entry in TASKS.values() for kind in entry.data_spec.kinds}
    suffixes = [suffixes] if isinstance(suffixes, str) else suffixes
    formats.register(part, suffixes, kind, kinds, separator, keyed)


@register_function("corpus")
def register_corpus(part: Part, *, task: str | Sequence[str], tokenizer: str | None = None) -> None:
    """A corpus that needs no file, for `data.corpus` of one task or several: a generator of (seed, length, examples).

    It yields a `Record(values, Location(name, number))` for each example, with the values that the task reads; for the
    task language, its text in chunks. The same seed gives the same examples; length and examples are None if the config
    does not set them.

    tokenizer: the kind that suits it, if the task leaves that to the data, as classify does

    @seqloom.register.corpus("parity", task="classify")
    def parity(seed, length, examples):
        random = Random(seed)
        for number in range(examples or 1000):
            bits = random.choices("01", k=length or 8)
            label = "odd" if bits.count("1") % 2 else "even"
            yield Record((" ".join(bits), (label,)), Location("parity", number))
    """
    tasks = [task] if isinstance(task, str) else list(task)
    if unlisted := [name for name in tasks if name not in TASKS]:
        raise part.misfit(f"is for the task {unlisted[0]!r}, which is not registered", "Name another")
    spec.register_corpus(part, [TASKS[name].data_spec for name in tasks], tokenizer)


@register_function("task")
def register_task(
    part: Part,
    *,
    config: "type[Experiment] | None" = None,
    report: "type[TaskReport] | None" = None,
    check: "Check | None" = None,
    summary: str | None = None,
) -> None:
    """A task: a class derived from Task, with its config; or a module or package that has both, by its name.

    A module has `Config` and `TASK`, and may have `REPORT` and `check`; a package has them in its modules `config`,
    `task`, `report` and `check`.

    report: what people see of its runs; the default is the scores
    check: what `seqloom check` looks for; the default is what it looks for in any rows
    summary: what it learns, in one line of the help; the default is the docstring of its config

    @seqloom.register.task("count", config=Config)
    class CountWords(RowTask): ...

    seqloom.register.task("count", __name__)
    """
    from seqloom.tasks.row_task import RowTask
    from seqloom.tasks.task import Task

    definitions: dict[str, object] = {}
    if isinstance(part.value, str):
        folder, task_config = part.value, import_constant(part.name, part.value, "config", "Config")
        task = import_constant(part.name, folder, "task", "TASK")
        part = replace(part, value=task, origin=Origin.registered(task))
    else:
        folder, task_config = getattr(part.value, "__module__", ""), config
        definitions = {"task": part.value, "config": config, "report": report, "check": check}
    task_class = part.as_class(Task, "RowTask or Task")
    require_variables(part, task_class, ROW_TASK_VARIABLES if issubclass(task_class, RowTask) else TASK_VARIABLES)
    if not (isinstance(task_config, type) and issubclass(task_config, Experiment)):
        raise part.misfit("has no config", "Pass config=Config, a class derived from Experiment")
    config_part = replace(part, value=task_config, origin=Origin.registered(task_config))
    check_config(config_part, task_config)
    line, defined = first_line(task_config), {name: value for name, value in definitions.items() if value is not None}
    TASKS.register(part.name, TaskEntry(folder, summary or f"{line[:1].lower()}{line[1:]}", defined), part.origin)
    with config_part.errors():
        try:
            experiment({"task": part.name})
        except PartError:
            raise
        except SeqloomError as error:
            message = f"has a config that does not work: {error.template.message}"
            raise config_part.misfit(message, error.template.advice or "Correct it") from None


def import_constant(name: str, path: str, module_name: str, constant: str) -> object:
    """What the module of a task, or a module of its package, defines under a name."""
    try:
        module = import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise  # the module exists, and imports one that does not
        message = f"the task {name!r} is to be in the module {path}, which does not exist"
        raise PartError(message, "Give the name of a module that can be imported", code="task-module") from None
    try:
        value: object = TaskEntry(path, "").definition(module_name, constant)
    except (SeqloomError, ModuleNotFoundError):
        where = f"{path}.{module_name}" if hasattr(module, "__path__") else path
        message, advice = f"the task {name!r} has no {constant} in {where}", "Define it under that name"
        location = module.__file__ or path
        raise PartError(message, f"{advice}, above the registration", location=location, code="part-misfit") from None
    return value


def check_config(part: Part, config: type[Experiment]) -> None:
    require_variables(part, config, CONFIG_VARIABLES)
    if config.data_spec.task != part.name:
        reason = f"has a config whose data_spec is that of {config.data_spec.task!r}"
        raise part.misfit(reason, f"Begin it with DataSpec({part.name!r}, ...)")
    if not isinstance(config.data_spec.corpora, Registry):
        raise part.misfit("has corpora that are no Registry", 'Write Registry("corpus", {...})')
    if config.architecture not in ARCHITECTURES:
        reason = f"has the architecture {config.architecture!r}, which is not registered"
        raise part.misfit(reason, "Name one of `seqloom list models`")


def require_variables(part: Part, defining: type, variables: Sequence[str]) -> None:
    if missing := [variable for variable in variables if not hasattr(defining, variable)]:
        advice = f"Define {'it' if len(missing) == 1 else 'them'} in {defining.__name__}"
        raise part.misfit(f"has no {', '.join(missing)}", advice)
