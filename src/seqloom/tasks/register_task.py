"""User-defined tasks: what is checked before one has a name."""

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

from seqloom.core.part_checks import first_line, misfit, raised_error, require_class
from seqloom.core.part_origin import Origin
from seqloom.core.problem import PartError, SeqloomError
from seqloom.core.registry import Registry, undo_on_error
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, TaskEntry, experiment
from seqloom.tasks.row_task import RowTask
from seqloom.tasks.task import Task

OF_CONFIGS = ("data_spec", "help", "architecture", "use")
OF_ROW_TASKS = ("items", "made_of", "rows")


def register(name: str, part: object, summary: str | None, parts: Mapping[str, object]) -> None:
    """Add a user-defined task.

    part: its class, whose `parts` are config and perhaps report and check; or the name of the module or package that
        has all of them, as the folder of a task has
    """
    if isinstance(part, str):
        module = import_task(name, part)
        config, task = find(name, module, "config", "Config"), find(name, module, "task", "TASK")
        entry = TaskEntry(part, summary or summary_of(config))
    else:
        config, task = parts.get("config"), part
        entry = TaskEntry(getattr(part, "__module__", ""), summary or summary_of(config), {"task": part, **parts})
    check_task(name, task)
    check_config(name, task, config)
    with undo_on_error():
        TASKS.register(name, entry, Origin.registered(task))
        try:
            experiment({"task": name})
        except PartError:
            raise
        except SeqloomError as error:
            message = f"has a config that does not work: {error.template.message}"
            raise misfit("task", name, config, message, error.template.advice or "Correct it") from None
        except Exception as error:
            raise raised_error("task", name, config, error) from error


def import_task(name: str, module: str) -> ModuleType:
    """The module or package of a task."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and imports one that is not
        message = f"the task {name!r} is to be in the module {module}, and there is none"
        raise PartError(message, "Give the name of a module that can be imported", code="task-module") from None


def find(name: str, module: ModuleType, part: str, constant: str) -> object:
    """What the module or package of a task exports."""
    try:
        found: object = TaskEntry(module.__name__, "").part(part, constant)
    except (SeqloomError, ModuleNotFoundError):
        where = f"{module.__name__}.{part}" if hasattr(module, "__path__") else module.__name__
        raise PartError(
            f"the task {name!r} has no {constant} in {where}",
            "Define it under that name, above the registration",
            location=module.__file__ or module.__name__,
            code="part-misfit",
        ) from None
    return found


def summary_of(config: object) -> str:
    """What the docstring of a config says, as the list of tasks has it.

    >>> class Config:
    ...     '''Count the words of a text.'''
    >>> summary_of(Config)
    'count the words of a text'
    """
    line = first_line(config)
    return line[:1].lower() + line[1:]


def check_task(name: str, task: object) -> None:
    """Refuse a class that is not a whole task."""
    task = require_class("task", name, task, Task, "Derive a class from RowTask or Task")
    refuse_missing(name, task, ("higher_is_better", *(OF_ROW_TASKS if issubclass(task, RowTask) else ())))


def check_config(name: str, task: object, config: object) -> None:
    """Refuse a config that does not say what a task needs."""
    if not (isinstance(config, type) and issubclass(config, Experiment)):
        advice = "Pass config=Config, a class derived from Experiment"
        raise misfit("task", name, task, "has no config", advice)
    refuse_missing(name, config, OF_CONFIGS)
    if config.data_spec.task != name:
        advice = f"Begin it with DataSpec({name!r}, ...)"
        raise misfit("task", name, config, f"has a config whose data_spec is that of {config.data_spec.task!r}", advice)
    if not isinstance(config.data_spec.corpora, Registry):
        raise misfit("task", name, config, "has corpora that are no Registry", 'Write Registry("corpus", {...})')
    if config.architecture not in ARCHITECTURES:
        reason = f"has the architecture {config.architecture!r}, which is not registered"
        raise misfit("task", name, config, reason, "Name one of `seqloom list models`")


def refuse_missing(name: str, part: type, wanted: tuple[str, ...]) -> None:
    """Refuse a class without one of these class variables."""
    missing = [each for each in wanted if not hasattr(part, each)]
    if missing:
        advice = f"Define {'it' if len(missing) == 1 else 'them'} in {part.__name__}"
        raise misfit("task", name, part, f"has no {', '.join(missing)}", advice)
