"""User-defined parts, under names that work like the built-in ones: in Python, in a config file, in the help, in a run.

    @seqloom.register.cell("mine")            # as a decorator
    class Mine(Cell): ...

    seqloom.register.cell("mine", Mine)       # or as a plain call

A name that is taken, or a part that does not fit its kind, is refused with the reason (`PartError`).
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar, overload

from seqloom.core.part_origin import location_of
from seqloom.core.problem import PartError

if TYPE_CHECKING:
    from seqloom.tasks.experiment import Experiment
    from seqloom.tasks.report import TaskReport
    from seqloom.tasks.row_check import Check

MISSING = object()
Part = TypeVar("Part")
Options = ParamSpec("Options")


class Register(Protocol[Options]):
    """Registers a part and returns it; without a part, returns the decorator that does so."""

    @overload
    def __call__(self, name: str, *args: Options.args, **options: Options.kwargs) -> Callable[[Part], Part]: ...
    @overload
    def __call__(self, name: str, part: Part, *args: Options.args, **options: Options.kwargs) -> Part: ...


def also_decorator(register: Callable[Concatenate[str, object, Options], None]) -> Register[Options]:
    """Let a function that registers a part be called with the part, or be used as a decorator."""

    @wraps(register)
    def wrapper(name: object, part: object = MISSING, *args: Options.args, **options: Options.kwargs) -> object:
        if not isinstance(name, str):
            kind = register.__name__
            advice = f'Name it: @seqloom.register.{kind}("mine")'
            raise PartError(f"a {kind} without a name", advice, location=location_of(name), code="part-unnamed")

        def decorate(part: Part) -> Part:
            register(name, part, *args, **options)
            return part

        return decorate if part is MISSING else decorate(part)

    return wrapper  # type: ignore[return-value]


# Models ---------------------------------------------------------------------------------------------------------------


@also_decorator
def cell(name: str, part: object = MISSING, *, summary: str = "", paper: str = "", url: str = "") -> None:
    """A cell: a subclass of `seqloom.nn.Cell` that takes (input_size, hidden_size, *, bias); a name for `model.arch`.

    summary, paper, url: for `seqloom list models`, also of layers and families; by default, the docstring's first line
    """
    from seqloom.models.register_model_parts import register_cell

    register_cell(name, part, summary=summary, paper=paper, url=url)


@also_decorator
def layer(name: str, part: object = MISSING, *, summary: str = "", paper: str = "", url: str = "") -> None:
    """A function or class build(input_size, *, causal) that returns a layer; a name for `model.arch`.

    A model has `model.depth` of them, each over the output of the one before, with dropout between.
    """
    from seqloom.models.register_model_parts import register_layer

    register_layer(name, part, summary=summary, paper=paper, url=url)


@also_decorator
def family(name: str, part: object = MISSING, *, summary: str = "", paper: str = "", url: str = "") -> None:
    """A model family: a subclass of `seqloom.models.family.Family` with `sizes` and `build`, for `model.arch`."""
    from seqloom.models.register_model_parts import register_family

    register_family(name, part, summary=summary, paper=paper, url=url)


@also_decorator
def score(name: str, part: object = MISSING) -> None:
    """A score: a subclass of `seqloom.nn.Score` that takes (query_size, key_size, *, heads, key_heads); a name for
    `model.attention` and `model.score`.
    """
    from seqloom.models.register_model_parts import register_score

    register_score(name, part)


@also_decorator
def activation(name: str, part: object = MISSING) -> None:
    """An activation: a function of one tensor, or a class of `torch.nn.Module` that is built without arguments; a name
    for `model.activation`.
    """
    from seqloom.models.register_model_parts import register_activation

    register_activation(name, part)


@also_decorator
def norm(name: str, part: object = MISSING) -> None:
    """A norm: a function or class that is called with the width and returns a layer of it; a name for `model.norm`."""
    from seqloom.models.register_model_parts import register_norm

    register_norm(name, part)


@also_decorator
def head(name: str, part: object = MISSING) -> None:
    """A head: a subclass of `seqloom.nn.heads.ClassHead` that takes (size, classes, *, smoothing); a name for
    `model.head`.
    """
    from seqloom.models.register_model_parts import register_head

    register_head(name, part)


# Training and data ---------------------------------------------------------------------------------------------------


@also_decorator
def optimizer(name: str, part: object = MISSING) -> None:
    """An optimizer, for `train.optimizer`: a `torch.optim.Optimizer`, called as `part(groups, lr=train.lr)`, or a
    function of (groups, train) that returns one. Registration tries a step.

    seqloom.register.optimizer("adamax", torch.optim.Adamax)
    """
    from seqloom.training import optimization

    optimization.register_optimizer(name, part)


@also_decorator
def schedule(name: str, part: object = MISSING) -> None:
    """A learning rate schedule, for `train.schedule`: a function of (state, train) that returns a factor of `train.lr`.

    state: a `seqloom.training.optimization.ScheduleState`: step, total_steps, epoch, plateaus

    @seqloom.register.schedule("linear")
    def linear(state, train):
        return 1 - state.step / state.total_steps
    """
    from seqloom.training import optimization

    optimization.register_schedule(name, part)


@also_decorator
def metric(name: str, part: object = MISSING, *, higher_is_better: bool = True) -> None:
    """A metric, for `train.metrics`: a function of (answers, references) that returns a number for a whole split.

    It is called with two lists, an item of each for each example:

    classify: a label and a label; where a text may have several, a tuple of them
    tag: a list of tags and a list of tags
    translate, caption: a text and a list of the texts that would be right, one in translation

    @seqloom.register.metric("first-word")
    def first_word(answers, references):
        return sum(a.split()[:1] == r[0].split()[:1] for a, r in zip(answers, references)) / len(answers)
    """
    from seqloom.tasks.metrics import registry

    registry.register(name, part, higher_is_better=higher_is_better)


@also_decorator
def reader(
    name: str,
    part: object = MISSING,
    *,
    suffixes: Sequence[str] = (),
    kind: str = "table",
    separator: str = ", ",
    keyed: bool = False,
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
    from seqloom.data import formats
    from seqloom.tasks.registry import TASKS

    kinds = {kind for entry in TASKS.values() for kind in entry.data_spec.kinds}
    suffixes = [suffixes] if isinstance(suffixes, str) else suffixes
    formats.register(name, part, suffixes, kind, kinds, separator, keyed)


@also_decorator
def tokenizer(name: str, part: object = MISSING) -> None:
    """A tokenizer, for `data.tokenizer`: a class derived from `seqloom.data.tokenizers.Tokenizer`.

    A run has its name and its state, as JSON: to open the run, register it again.

    @seqloom.register.tokenizer("blanks")
    class Blanks(Tokenizer): ...
    """
    from seqloom.data.tokenizers import registry

    registry.register(name, part)


@also_decorator
def corpus(name: str, part: object = MISSING, *, task: str | Sequence[str], tokenizer: str | None = None) -> None:
    """A corpus that needs no file, for `data.corpus` of one task or several: a generator of (seed, length, examples).

    It yields a `Record(values, Location(name, number))` for each example, its values as the task has them; of the task
    language, its text in chunks. The same seed gives the same examples; length and examples are None where the config
    does not say them.

    tokenizer: the kind that suits it, where the task leaves that to the data, as classify does

    @seqloom.register.corpus("parity", task="classify")
    def parity(seed, length, examples):
        random = Random(seed)
        for number in range(examples or 1000):
            bits = random.choices("01", k=length or 8)
            label = "odd" if bits.count("1") % 2 else "even"
            yield Record((" ".join(bits), (label,)), Location("parity", number))
    """
    from seqloom.core.part_checks import misfit
    from seqloom.data.spec import register_corpus
    from seqloom.tasks.registry import TASKS

    tasks = [task] if isinstance(task, str) else list(task)
    for unlisted in (each for each in tasks if each not in TASKS):
        raise misfit("corpus", name, part, f"is for the task {unlisted!r}, which is not registered", "Name another")
    several = [TASKS[each].data_spec for each in tasks]
    register_corpus(name, part, several, tokenizer)


@also_decorator
def task(
    name: str,
    part: object = MISSING,
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
    from seqloom.tasks import register_task

    parts = {"config": config, "report": report, "check": check}
    register_task.register(name, part, summary, {key: value for key, value in parts.items() if value is not None})
