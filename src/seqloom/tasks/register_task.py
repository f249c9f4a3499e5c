"""Registration of user-defined tasks: what is checked before one has a name."""

from collections.abc import Mapping
from importlib import import_module

from seqloom.core.part_checks import first_line, misfit, raised_error, require_class
from seqloom.core.part_origin import Origin
from seqloom.core.problem import PartError, SeqloomError
from seqloom.core.registry import Registry, undo_on_error
from seqloom.models.registry import ARCHITECTURES
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, TaskEntry, experiment
from seqloom.tasks.row_task import RowTask
from seqloom.tasks.task import Task

CONFIG_VARIABLES = ("data_spec", "help", "architecture", "use")
TASK_VARIABLES = ("higher_is_better",)
ROW_TASK_VARIABLES = (*TASK_VARIABLES, "row_noun", "length_unit", "length_column")


def register(name: str, part: object, summary: str | None, parts: Mapping[str, object]) -> None:
    """Add a user-defined task.

    part: its class, whose `parts` are config and optionally report and check; or the name of the module or package
        that defines all of them
    """
    if isinstance(part, str):
        config, task = import_constant(name, part, "config", "Config"), import_constant(name, part, "task", "TASK")
        entry = TaskEntry(part, summary or summarize(config))
    else:
        config, task = parts.get("config"), part
        entry = TaskEntry(getattr(part, "__module__", ""), summary or summarize(config), {"task": part, **parts})
    task_class = require_class("task", name, task, Task, "Derive a class from RowTask or Task")
    check_variables(name, task_class, ROW_TASK_VARIABLES if issubclass(task_class, RowTask) else TASK_VARIABLES)
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


def import_constant(name: str, path: str, part: str, constant: str) -> object:
    try:
        module = import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise  # the module exists, and imports one that does not
        message = f"the task {name!r} is to be in the module {path}, and there is none"
        raise PartError(message, "Give the name of a module that can be imported", code="task-module") from None
    try:
        value: object = TaskEntry(path, "").part(part, constant)
    except (SeqloomError, ModuleNotFoundError):
        where = f"{path}.{part}" if hasattr(module, "__path__") else path
        message, advice = f"the task {name!r} has no {constant} in {where}", "Define it under that name"
        location = module.__file__ or path
        raise PartError(message, f"{advice}, above the registration", location=location, code="part-misfit") from None
    return value


def summarize(config: object) -> str:
    """The first line of a config's docstring, as the list of tasks has it.

    >>> class Config:
    ...     '''Count the words of a text.'''
    >>> summarize(Config)
    'count the words of a text'
    """
    line = first_line(config)
    return line[:1].lower() + line[1:]


def check_config(name: str, task: object, config: object) -> None:
    if not (isinstance(config, type) and issubclass(config, Experiment)):
        raise misfit("task", name, task, "has no config", "Pass config=Config, a class derived from Experiment")
    check_variables(name, config, CONFIG_VARIABLES)
    if config.data_spec.task != name:
        message = f"has a config whose data_spec is that of {config.data_spec.task!r}"
        raise misfit("task", name, config, message, f"Begin it with DataSpec({name!r}, ...)")
    if not isinstance(config.data_spec.corpora, Registry):
        raise misfit("task", name, config, "has corpora that are no Registry", 'Write Registry("corpus", {...})')
    if config.architecture not in ARCHITECTURES:
        message = f"has the architecture {config.architecture!r}, which is not registered"
        raise misfit("task", name, config, message, "Name one of `seqloom list models`")


def check_variables(name: str, part: type, variables: tuple[str, ...]) -> None:
    missing = [variable for variable in variables if not hasattr(part, variable)]
    if missing:
        advice = f"Define {'it' if len(missing) == 1 else 'them'} in {part.__name__}"
        raise misfit("task", name, part, f"has no {', '.join(missing)}", advice)
