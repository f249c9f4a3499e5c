"""Parts of one's own, under names that work like the built-in ones: in Python, in a config file, in the help, in a run.

    @seqloom.register.cell("mine")            # as a decorator
    class Mine(Cell): ...

    seqloom.register.cell("mine", Mine)       # or as a plain call

A name that is taken, or a part that does not fit its kind, is refused with the reason (`PartError`).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from seqloom.tasks.experiment import Experiment
    from seqloom.tasks.report import TaskReport
    from seqloom.tasks.row_check import Check

Part = TypeVar("Part")


@overload
def registered(add: Callable[[Part], None], part: None) -> Callable[[Part], Part]: ...
@overload
def registered(add: Callable[[Part], None], part: Part) -> Part: ...
def registered(add: Callable[[Part], None], part: Part | None) -> Part | Callable[[Part], Part]:
    """Both forms of a registration: the part that was given is added; without one, the decorator that adds it."""

    def decorate(part: Part) -> Part:
        add(part)
        return part

    return decorate if part is None else decorate(part)


# Models ---------------------------------------------------------------------------------------------------------------


@overload
def cell(name: str, *, summary: str = "", paper: str = "", url: str = "") -> Callable[[Part], Part]: ...
@overload
def cell(name: str, part: Part, *, summary: str = "", paper: str = "", url: str = "") -> Part: ...
def cell(
    name: str, part: Part | None = None, *, summary: str = "", paper: str = "", url: str = ""
) -> Part | Callable[[Part], Part]:
    """A cell: a subclass of `seqloom.nn.Cell` that takes (input_size, hidden_size, *, bias); a name for `model.arch`.

    summary, paper, url: what `seqloom list models` says of it; its docstring's first line, unless given
    """
    from seqloom.models.registration import register_cell

    return registered(lambda part: register_cell(name, part, summary=summary, paper=paper, url=url), part)


@overload
def layer(name: str, *, summary: str = "", paper: str = "", url: str = "") -> Callable[[Part], Part]: ...
@overload
def layer(name: str, part: Part, *, summary: str = "", paper: str = "", url: str = "") -> Part: ...
def layer(
    name: str, part: Part | None = None, *, summary: str = "", paper: str = "", url: str = ""
) -> Part | Callable[[Part], Part]:
    """A function or class build(input_size, *, causal) that gives a layer; a name for `model.arch`.

    A model has `model.depth` of them, each over what the last one gives, with dropout between.

    summary, paper, url: what `seqloom list models` says of it; its docstring's first line, unless given
    """
    from seqloom.models.registration import register_layer

    return registered(lambda part: register_layer(name, part, summary=summary, paper=paper, url=url), part)


@overload
def family(name: str, *, summary: str = "", paper: str = "", url: str = "") -> Callable[[Part], Part]: ...
@overload
def family(name: str, part: Part, *, summary: str = "", paper: str = "", url: str = "") -> Part: ...
def family(
    name: str, part: Part | None = None, *, summary: str = "", paper: str = "", url: str = ""
) -> Part | Callable[[Part], Part]:
    """A model family: a subclass of `seqloom.models.family.Family` with `sizes` and `build`; a name for `model.arch`.

    summary, paper, url: what `seqloom list models` says of it; its docstring's first line, unless given
    """
    from seqloom.models.registration import register_family

    return registered(lambda part: register_family(name, part, summary=summary, paper=paper, url=url), part)


@overload
def score(name: str) -> Callable[[Part], Part]: ...
@overload
def score(name: str, part: Part) -> Part: ...
def score(name: str, part: Part | None = None) -> Part | Callable[[Part], Part]:
    """A score: a subclass of `seqloom.nn.Score` that takes (query_size, key_size, *, heads, key_heads); a name for
    `model.attention` and `model.score`.
    """
    from seqloom.models.registration import register_score

    return registered(lambda part: register_score(name, part), part)


@overload
def activation(name: str) -> Callable[[Part], Part]: ...
@overload
def activation(name: str, part: Part) -> Part: ...
def activation(name: str, part: Part | None = None) -> Part | Callable[[Part], Part]:
    """An activation: a function of one tensor, or a class of `torch.nn.Module` that is built without arguments; a name
    for `model.activation`.
    """
    from seqloom.models.registration import register_activation

    return registered(lambda part: register_activation(name, part), part)


@overload
def norm(name: str) -> Callable[[Part], Part]: ...
@overload
def norm(name: str, part: Part) -> Part: ...
def norm(name: str, part: Part | None = None) -> Part | Callable[[Part], Part]:
    """A norm: a function or class that is called with the width and gives a layer of it; a name for `model.norm`."""
    from seqloom.models.registration import register_norm

    return registered(lambda part: register_norm(name, part), part)


@overload
def head(name: str) -> Callable[[Part], Part]: ...
@overload
def head(name: str, part: Part) -> Part: ...
def head(name: str, part: Part | None = None) -> Part | Callable[[Part], Part]:
    """A head: a subclass of `seqloom.nn.heads.ClassHead` that takes (size, classes, *, smoothing); a name for
    `model.head`.
    """
    from seqloom.models.registration import register_head

    return registered(lambda part: register_head(name, part), part)


# Training and data ---------------------------------------------------------------------------------------------------


@overload
def optimizer(name: str) -> Callable[[Part], Part]: ...
@overload
def optimizer(name: str, part: Part) -> Part: ...
def optimizer(name: str, part: Part | None = None) -> Part | Callable[[Part], Part]:
    """An optimizer, for `train.optimizer`: a `torch.optim.Optimizer`, called as `part(groups, lr=train.lr)`, or a
    function of (groups, train) that returns one. Registration tries a step.

    seqloom.register.optimizer("adamax", torch.optim.Adamax)
    """
    from seqloom.training import optimisers

    return registered(lambda part: optimisers.register(name, part), part)


@overload
def schedule(name: str) -> Callable[[Part], Part]: ...
@overload
def schedule(name: str, part: Part) -> Part: ...
def schedule(name: str, part: Part | None = None) -> Part | Callable[[Part], Part]:
    """A learning rate schedule, for `train.schedule`: a function of (at, train) that returns a factor of `train.lr`.

    at: a `seqloom.training.schedules.Standing`: step, total, epoch, plateaus

    @seqloom.register.schedule("linear")
    def linear(at, train):
        return 1 - at.step / at.total
    """
    from seqloom.training import schedules

    return registered(lambda part: schedules.register(name, part), part)


@overload
def metric(name: str, *, higher_is_better: bool = True) -> Callable[[Part], Part]: ...
@overload
def metric(name: str, part: Part, *, higher_is_better: bool = True) -> Part: ...
def metric(name: str, part: Part | None = None, *, higher_is_better: bool = True) -> Part | Callable[[Part], Part]:
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

    return registered(lambda part: registry.register(name, part, higher_is_better=higher_is_better), part)


@overload
def reader(
    name: str, *, suffixes: Sequence[str] = ..., kind: str = ..., separator: str = ..., keyed: bool = ...
) -> Callable[[Part], Part]: ...
@overload
def reader(
    name: str, part: Part, *, suffixes: Sequence[str] = ..., kind: str = ..., separator: str = ..., keyed: bool = ...
) -> Part: ...
def reader(
    name: str,
    part: Part | None = None,
    *,
    suffixes: Sequence[str] = (),
    kind: str = "table",
    separator: str = ", ",
    keyed: bool = False,
) -> Part | Callable[[Part], Part]:
    """A file format, for `data.format`: a function of (paths, data, bad) that yields (Place(file, line), cells).

    Of a table it yields the cells of each row, of which the first may be a header. A line that can't be read goes to
    `bad`, as a DataError.

    suffixes: of the files that are written so
    kind: which tasks can read it: those that read a table, a folder, parallel text, conll
    separator: what stands between two cells, for messages
    keyed: whether it yields a mapping instead, from the names of columns to values

    @seqloom.register.reader("bars", suffixes=(".bars",))
    def bars(paths, data, bad):
        for path in paths:
            for number, line in read_lines(path, data.max_characters, bad):
                yield Place(str(path), number), line.split("|")
    """
    from seqloom.data import formats
    from seqloom.tasks.registry import TASKS

    kinds = {each for entry in TASKS.values() for each in entry.reads.kinds}

    def add(part: Part) -> None:
        several = [suffixes] if isinstance(suffixes, str) else suffixes
        formats.register(name, part, several, kind, kinds, separator, keyed)

    return registered(add, part)


@overload
def tokenizer(name: str) -> Callable[[Part], Part]: ...
@overload
def tokenizer(name: str, part: Part) -> Part: ...
def tokenizer(name: str, part: Part | None = None) -> Part | Callable[[Part], Part]:
    """A tokenizer, for `data.tokenizer`: a class derived from `seqloom.data.tokenisers.Tokeniser`.

    A run keeps its name and its state as JSON; who opens the run registers it again.

    @seqloom.register.tokenizer("blanks")
    class Blanks(Tokeniser): ...
    """
    from seqloom.data.tokenisers import reading

    return registered(lambda part: reading.register(name, part), part)


@overload
def corpus(name: str, *, task: str | Sequence[str], tokenizer: str | None = None) -> Callable[[Part], Part]: ...
@overload
def corpus(name: str, part: Part, *, task: str | Sequence[str], tokenizer: str | None = None) -> Part: ...
def corpus(
    name: str, part: Part | None = None, *, task: str | Sequence[str], tokenizer: str | None = None
) -> Part | Callable[[Part], Part]:
    """A corpus that needs no file, for `data.corpus` of one task or several: a generator of (seed, length, examples).

    It yields a `Record(values, Place(name, number))` for each example, its values as the task has them; of the task
    language, its text in chunks. The same seed gives the same examples; length and examples are None where the config
    does not say them.

    tokenizer: the kind that suits it, where the task leaves that to the data, as classify does

    @seqloom.register.corpus("parity", task="classify")
    def parity(seed, length, examples):
        random = Random(seed)
        for number in range(examples or 1000):
            bits = random.choices("01", k=length or 8)
            label = "odd" if bits.count("1") % 2 else "even"
            yield Record((" ".join(bits), (label,)), Place("parity", number))
    """
    from seqloom.data.reads import register_corpus
    from seqloom.tasks.registry import TASKS

    several = [TASKS[each].reads for each in ([task] if isinstance(task, str) else task)]
    return registered(lambda part: register_corpus(name, part, several, tokenizer), part)


@overload
def task(
    name: str,
    part: None = None,
    *,
    config: "type[Experiment]",
    report: "type[TaskReport] | None" = None,
    check: "Check | None" = None,
    summary: str | None = None,
) -> Callable[[Part], Part]: ...
@overload
def task(
    name: str,
    part: Part,
    *,
    config: "type[Experiment] | None" = None,
    report: "type[TaskReport] | None" = None,
    check: "Check | None" = None,
    summary: str | None = None,
) -> Part: ...
def task(
    name: str,
    part: Part | None = None,
    *,
    config: "type[Experiment] | None" = None,
    report: "type[TaskReport] | None" = None,
    check: "Check | None" = None,
    summary: str | None = None,
) -> Part | Callable[[Part], Part]:
    """A task: a class derived from Task, with its config; or a module or package that has both, by its name.

    A module has `Config` and `TASK`, and may have `REPORT` and `check`; a package has them in its modules `config`,
    `task`, `report` and `check`.

    report: what people see of its runs; unless said, the scores
    check: what `seqloom check` looks for; unless said, what it looks for in any rows
    summary: what it learns, in one line of the help; unless said, the docstring of its config

    @seqloom.register.task("count", config=Config)
    class CountWords(RowTask): ...

    seqloom.register.task("count", __name__)
    """
    from seqloom.tasks import registration

    given = {"config": config, "report": report, "check": check}
    parts = {key: value for key, value in given.items() if value is not None}
    return registered(lambda part: registration.register(name, part, summary, parts), part)
