"""User-defined parts: each kind is registered, trained under its config key, and refused where it is invalid."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import seqloom
from seqloom import register
from seqloom.cli.main import main
from seqloom.core import names
from seqloom.core.config.section import Values, key
from seqloom.core.problem import ArgumentError, ConfigError, PartError, PartWarning, RunError
from seqloom.models.family import Family
from seqloom.models.registry import ARCHITECTURES
from seqloom.nn import GRU, Bidirectional, Cell, Layer, LayerNorm, Recurrent, Score
from seqloom.nn.activations import ACTIVATIONS
from seqloom.nn.cells import CELLS, LinearRNN
from seqloom.nn.dense import Linear
from seqloom.nn.heads import ClassHead, Loss, PerToken
from seqloom.nn.heads.head import check_class_target, count_steps, pad_predictions
from seqloom.nn.heads.per_token import HEADS
from seqloom.nn.layer import Pointwise, Traits
from seqloom.nn.normalization import NORMS
from seqloom.nn.scores import SCORES, SameSize
from seqloom.nn.state import State
from seqloom.runs.run import Run
from seqloom.tasks.registry import experiment, read_config
from seqloom.tasks.user_defined_parts import used_parts
from tests.temporary_parts import temporary_parts

TINY = {"steps": 2, "validate_every": 2, "checkpoint_every": 1, "device": "cpu"}
HERE = Path(__file__).name


def train_small(task: str, model: object, out: str) -> Run:
    """Two steps of a small model on few examples."""
    data = {"examples": 60} | ({"corpus": "brackets"} if task == "language" else {})
    decode = {"max_length": 4} if task in ("language", "translate") else None
    return seqloom.train(task, model=model, size="tiny", train=TINY, data=data, decode=decode, out=out)


@pytest.fixture(autouse=True)
def temporary_registries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Remove what a test registers."""
    monkeypatch.chdir(tmp_path)
    with temporary_parts():
        yield


# One of each kind ------------------------------------------------------------------------------------------------


class Mine(Cell):
    """A gated cell of one's own.

    z = σ(x W_xz + h W_hz);  h' = z ⊙ h + (1 − z) ⊙ tanh(x W_xc)
    """

    parts = ("update", "candidate")

    def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        hidden = state["hidden"]
        from_x, from_h = self.split(projected), self.split(self.recur(hidden))
        update = torch.sigmoid(from_x.update + from_h.update)
        hidden = update * hidden + (1 - update) * torch.tanh(from_x.candidate)
        return hidden, State(hidden=hidden)


class Halved(SameSize):
    """score = q · k / 2"""

    scale = 0.5


class MinMax(Score):
    """score = (U q) · (V k) through one number each."""

    def __init__(self, query_size: int, key_size: int, *, heads: int = 1, key_heads: int | None = None) -> None:
        super().__init__(query_size, key_size, heads=heads, key_heads=key_heads)
        self.mapped_size = 1

    def query(self, q: Tensor) -> Tensor:
        return q.mean(dim=3, keepdim=True)

    def key(self, k: Tensor) -> Tensor:
        return k.mean(dim=3, keepdim=True)


def sine(x: Tensor) -> Tensor:
    return torch.sin(x)


class Scaled(Pointwise):
    """γ ⊙ x"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size = self.output_size = size
        self.weight = nn.Parameter(torch.ones(size))

    def transform(self, x: Tensor) -> Tensor:
        return self.weight * x


class Tempered(ClassHead):
    """Softmax at a temperature of 2."""

    def __init__(self, size: int, classes: int, *, smoothing: float = 0.0) -> None:
        super().__init__(Linear(size, classes))

    def check_target(self, where: str, target: Tensor, scores: Tensor, lengths: Tensor | None) -> Tensor:
        return check_class_target(where, target, scores, lengths)

    def loss_from_scores(self, scores: Tensor, target: Tensor, lengths: Tensor | None) -> Loss:
        flat = pad_predictions(target, lengths).flatten()
        total = F.cross_entropy(scores.flatten(0, 1) / 2, flat, ignore_index=-1, reduction="sum")
        return Loss(total, count_steps(scores, lengths))

    def predict_from_scores(self, scores: Tensor, lengths: Tensor | None) -> Tensor:
        return pad_predictions(scores.argmax(dim=2), lengths)

    def probabilities_from_scores(self, scores: Tensor, lengths: Tensor | None) -> Tensor:
        return (scores / 2).softmax(dim=2)


def gru(input_size: int, *, causal: bool) -> Layer:
    """GRUs of 24 units, bidirectional unless causal."""
    if causal:
        return Recurrent(GRU(input_size, 24))
    return Bidirectional(Recurrent(GRU(input_size, 12)), Recurrent(GRU(input_size, 12)))


class Tower(Family):
    """A family of one GRU."""

    sizes: ClassVar[Mapping[str, Values]] = {
        size: {"dim": width, "depth": 1} for size, width in (("tiny", 8), ("small", 16), ("base", 32))
    }

    def build(self, input_size: int, *, causal: bool) -> Layer:
        return Recurrent(GRU(input_size, self.dim))


PARTS: dict[str, tuple[Callable[..., Any], Any, str, dict[str, str]]] = {
    "cell": (register.cell, Mine, "classify", {"arch": "mine"}),
    "layer": (register.layer, gru, "language", {"arch": "mine"}),
    "family": (register.family, Tower, "tag", {"arch": "mine"}),
    "score": (register.score, Halved, "translate", {"attention": "mine"}),
    "score of a transformer": (register.score, MinMax, "classify", {"arch": "transformer", "score": "mine"}),
    "activation": (register.activation, sine, "classify", {"arch": "conv", "gate": "none", "activation": "mine"}),
    "norm": (register.norm, Scaled, "language", {"arch": "transformer", "norm": "mine"}),
    "head of classes": (register.head, Tempered, "classify", {"head": "mine"}),
    "head of tags": (register.head, Tempered, "tag", {"head": "mine"}),
    "head of tokens": (register.head, Tempered, "language", {"head": "mine"}),
    "head of a decoder": (register.head, Tempered, "translate", {"arch": "transformer", "head": "mine"}),
}


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_trains_under_its_name_and_its_run_loads(kind: str) -> None:
    add, part, task, model = PARTS[kind]
    assert add("mine", part) is part
    run = train_small(task, model, "run")
    config = seqloom.load("run").experiment
    [part] = used_parts(config)
    assert (part.kind, part.name, part.origin.file) == (kind.partition(" ")[0], "mine", HERE)
    assert run.predict(["one"])
    assert train_small(task, model, "again").manifest.model == run.manifest.model


def test_register_works_as_a_decorator() -> None:
    @register.cell("mine", paper="Me 2026")
    class Other(Mine):
        """Another one."""

    assert CELLS["mine"] is Other
    assert (ARCHITECTURES["mine"].summary, ARCHITECTURES["mine"].paper) == ("Another one", "Me 2026")


def test_the_command_line_knows_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    register.cell("mine", Mine)
    register.norm("mine", Scaled)
    assert main(["list", "models"]) == 0
    assert "A gated cell of one's own" in capsys.readouterr().out
    assert main(["train", "classify", "--model", "transformer", "--help"]) == 0
    assert "mine" in capsys.readouterr().out
    options = ["--size", "tiny", "--train.steps", "2", "--train.device", "cpu", "--data.examples", "60"]
    assert main(["train", "classify", "--model", "mine", *options, "--out", "run"]) == 0
    assert "mine, 1 layer of 64" in capsys.readouterr().out


def test_properties_of_a_part_are_known_to_the_config() -> None:
    register.score("halved", Halved)
    register.score("mean", MinMax)
    assert "halved" in names.SAME_WIDTH
    assert "halved" in names.ROTATABLE
    assert "mean" not in names.SAME_WIDTH
    assert "mean" not in names.ROTATABLE
    register.norm("over-time", lambda size: NORMS["instance"](size))
    register.norm("each", LayerNorm)
    assert "over-time" in names.NORMS_OVER_TIME
    assert "each" not in names.NORMS_OVER_TIME
    with pytest.raises(ConfigError, match=r"model\.norm over-time uses statistics of later tokens"):
        experiment({"task": "language", "model": {"arch": "transformer", "norm": "over-time"}})
    with pytest.raises(ConfigError, match="rotary goes with the scores dot, scaled-dot and halved, not with mean"):
        experiment({"task": "classify", "model": {"arch": "transformer", "score": "mean", "positions": "rotary"}})


def test_a_head_has_an_output_layer_of_its_own() -> None:
    register.head("mine", Tempered)
    assert experiment({"task": "translate", "model": {"arch": "transformer", "head": "mine"}}).model.tied is False
    for task in ("language", "translate"):
        with pytest.raises(
            ConfigError, match=r"model\.head mine has an output layer of its own, but model\.tied needs softmax"
        ):
            experiment({"task": task, "model": {"arch": "transformer", "head": "mine", "tied": True}})
    with pytest.raises(ConfigError, match=r"model\.head has no effect together with model\.crf"):
        experiment({"task": "tag", "model": {"head": "mine", "crf": True}})
    Path("texts.csv").write_text("text,label\n" + "a,x|y\nb,x\n" * 30, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"model\.head has no effect together with data\.label_separator"):
        seqloom.train("classify", "texts.csv", data={"label_separator": "|"}, model={"head": "mine"})


# Invalid parts ----------------------------------------------------------------------------------------------------


class NoStep(Cell):
    parts = ("candidate",)


class NoBias(Mine):
    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)


class NoSizes(Family):
    def build(self, input_size: int, *, causal: bool) -> Layer:
        return Recurrent(GRU(input_size, 4))


MISFITS: dict[str, tuple[Callable[..., Any], Any, str]] = {
    "no cell": (register.cell, GRU(3, 4), "the cell 'mine' is an object of type GRU. Derive a class from"),
    "no step": (register.cell, NoStep, r"the cell 'mine' has no step. Write it."),
    "no bias": (
        register.cell,
        NoBias,
        r"the cell 'mine' takes \(input_size.*\).*, not \(input_size, hidden_size, \*, bias\)",
    ),
    "no layer": (register.layer, lambda input_size, *, causal: 3, r"returned an object of type int, not a layer"),
    "no causal": (register.layer, lambda input_size: 3, r"can't be called as build\(input_size, causal=True\)"),
    "another width": (register.layer, lambda size, *, causal: Recurrent(GRU(3, 4)), "a layer of input_size 3. Return"),
    "no family": (register.family, Mine, "the family 'mine' is the class Mine. Derive a class from"),
    "no sizes": (register.family, NoSizes, "the family 'mine' has no depth and dim for the size tiny"),
    "no score": (register.score, sine, "the score 'mine' is an object of type function. Derive"),
    "no tensor": (register.activation, lambda x: 3, "the activation 'mine' returned 3 for a tensor"),
    "no function": (register.activation, 3, "the activation 'mine' is an object of type int. Give a function"),
    "raises": (register.activation, lambda x: x / "a", "the activation 'mine' raised TypeError: "),
    "no norm": (register.norm, lambda size: nn.LayerNorm(size), "the norm 'mine' built an object of type LayerNorm"),
    "a wider norm": (
        register.norm,
        lambda size: Recurrent(GRU(size, 9)),
        "from 32 to 9 for the width 32. Build one that",
    ),
    "no head": (register.head, nn.Linear, "the head 'mine' is the class Linear. Derive a class from"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_an_invalid_part_is_refused(case: str) -> None:
    add, part, sentence = MISFITS[case]
    with pytest.raises(PartError, match=sentence):
        add("mine", part)
    for registry in (CELLS, ARCHITECTURES, SCORES, ACTIVATIONS, NORMS, HEADS):
        assert "mine" not in registry
        assert "mine" not in registry.names


def test_the_error_of_an_invalid_part_has_its_location() -> None:
    with pytest.raises(PartError) as caught:
        register.cell("mine", NoStep)
    assert caught.value.problem.location.endswith(f"{HERE}:{line_of('class NoStep')}")


def line_of(start: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(start))


@pytest.mark.parametrize(("name", "message"), [("lstm", "cell 'lstm' is taken"), ("mixer", "cell 'mixer' is taken")])
def test_a_taken_name_leaves_nothing_registered(name: str, message: str) -> None:
    before = dict(CELLS), dict(ARCHITECTURES)
    with pytest.raises(PartError, match=message):
        register.cell(name, Mine)
    assert (dict(CELLS), dict(ARCHITECTURES)) == before
    for add, part in ((register.layer, gru), (register.family, Tower), (register.head, PerToken)):
        taken_name = "softmax" if part is PerToken else name
        with pytest.raises(PartError, match=r"is taken\. Give it another name"):
            add(taken_name, part)
    with pytest.raises(PartError, match="a word that has another meaning in a config"):
        register.layer("custom", gru)


# model=build ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classify", "tag", "language", "translate"])
def test_a_build_function_trains_resumes_and_loads(task: str) -> None:
    run = train_small(task, gru, "run")
    assert run.experiment.model.arch == "custom"
    assert run.predict(["one"])
    assert seqloom.load("run", model=gru).predict(["one"]) == run.predict(["one"])
    assert seqloom.resume("run", model=gru).manifest.model == run.manifest.model
    [part] = used_parts(run.experiment)
    assert (part.kind, part.name, part.origin.file) == ("model", "gru", HERE)
    with pytest.raises(RunError, match=r"run: its layers were built by the function .* of test_register\.py\. Pass"):
        seqloom.load("run").predict(["one"])


def test_a_build_function_works_with_other_keys() -> None:
    values = {"arch": gru, "dim": 16, "depth": 2, "attention": "dot", "encoder": "lstm"}
    model = experiment({"task": "translate", "model": values}).model
    assert (model.arch, model.dim, model.depth, model.encoder, model.output_width) == ("custom", 16, 2, "lstm", 24)


def test_an_invalid_build_function_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        PartError, match=r'Mine is a cell, .* seqloom\.register\.cell\("mine", Mine\), and give model="'
    ):
        seqloom.train("tag", model=Mine)
    with pytest.raises(PartError, match="an object of type GRU is not a function that builds layers"):
        seqloom.train("tag", model=GRU(3, 4))
    with pytest.raises(
        PartError, match=f"{HERE}:.* returned a layer of input_size 8. Return one that reads vectors of"
    ):
        seqloom.train("tag", model=lambda size, *, causal: Recurrent(GRU(8, 8)))
    with pytest.raises(ConfigError, match="reads a whole sequence at once, so it can't generate text token by token"):
        seqloom.train("language", model=lambda size, *, causal: gru(size, causal=False))
    assert main(["train", "tag", "--model", "custom"]) == 2
    assert "custom is for a model whose layers are built by a function" in capsys.readouterr().err
    seqloom.train("tag", size="tiny", train=TINY, data={"examples": 60}, out="run")
    with pytest.raises(
        RunError, match="run: model=gru is only for runs whose layers were built by a function; this one is 'ls"
    ):
        seqloom.load("run", model=gru).predict(["one"])


@pytest.mark.usefixtures("unchecked")
def test_another_build_function_than_that_of_the_run_is_refused() -> None:
    train_small("classify", gru, "run")

    def other(input_size: int, *, causal: bool) -> Layer:
        return Recurrent(LinearRNN(input_size, 24))

    with pytest.raises(
        RunError,
        match=rf"the model 'gru' of {HERE} .*, now '.*other' of {HERE}.*\. Pass the unchanged function that it",
    ):
        seqloom.resume("run", model=other)
    with pytest.warns(PartWarning, match=r"the model 'gru' of .*, now '.*other' of"):
        seqloom.load("run", model=other)
    for wrong in ("lstm", 3):
        with pytest.raises(PartError, match=r"an object of type \w+ is not a function that builds layers"):
            seqloom.load("run", model=cast("Any", wrong))


def test_a_build_function_is_called_again_for_each_training() -> None:
    """Its layers may depend on variables that change between two trainings, as in a notebook."""
    width = 16

    def build(input_size: int, *, causal: bool) -> Layer:
        return Recurrent(GRU(input_size, width))

    assert train_small("translate", build, "narrow").predict(["one"])
    width = 24
    assert train_small("translate", build, "wide").predict(["one"])


def test_a_build_object_need_not_be_hashable() -> None:
    @dataclass
    class Build:
        dim: int

        def __call__(self, input_size: int, *, causal: bool) -> Layer:
            return Recurrent(GRU(input_size, self.dim))

    assert train_small("classify", Build(8), "run").predict(["one"])


# Valid unusual parts ----------------------------------------------------------------------------------------------


class Leaky(Mine):
    """A cell with a constant and with random features, neither of which is a parameter."""

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size, bias=bias)
        self.decay = torch.linspace(0.1, 0.9, hidden_size).numpy().tolist()
        self.features = torch.randn(hidden_size)
        self.register_buffer("table", torch.rand(hidden_size), persistent=False)

    def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        y, next_state = super().step(projected, state)
        factor = y.new_tensor(self.decay) + self.features.to(y) + self.table
        return y, State(hidden=next_state["hidden"] * factor.tanh())


def test_a_part_may_have_constants_that_are_not_saved() -> None:
    register.cell("mine", Leaky)
    run = train_small("language", "mine", "run")
    torch.manual_seed(5)
    expected = run.predict(["(())"])
    assert seqloom.load("run").predict(["(())"]) == expected
    Path("corpus.txt").write_text("(())()" * 50, encoding="utf-8")
    assert run.evaluate("corpus.txt").scores == seqloom.load("run").evaluate("corpus.txt").scores


class InFloat32(Pointwise):
    """x / rms(x), computed in float32 for any dtype of x."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size = self.output_size = size

    def transform(self, x: Tensor) -> Tensor:
        x32 = x.float()
        return (x32 * torch.rsqrt(x32.square().mean(dim=-1, keepdim=True) + 1e-5)).to(x.dtype)


class Grouped(Pointwise):
    """Group norm of each step, in 16 groups."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.input_size = self.output_size = size
        self.norm = nn.GroupNorm(16, size)

    def transform(self, x: Tensor) -> Tensor:
        return self.norm(x.flatten(0, -2)).view_as(x)


@pytest.mark.parametrize("norm", [InFloat32, Grouped])
def test_a_norm_may_compute_in_float32_or_have_many_groups(norm: type[Pointwise]) -> None:
    register.norm("mine", norm)
    assert train_small("classify", {"arch": "transformer", "norm": "mine"}, "run").predict(["one"])


class Tenth(PerToken):
    """A tenth of the usual loss."""

    def loss_from_scores(self, scores: Tensor, target: Tensor, lengths: Tensor | None) -> Loss:
        loss = super().loss_from_scores(scores, target, lengths)
        return Loss(loss.total / 10, loss.count)


def test_only_a_loss_that_is_a_likelihood_gives_a_perplexity() -> None:
    register.head("mine", PerToken)
    register.head("tenth", Tenth)
    assert {"softmax", "mine"} == names.LIKELIHOODS
    for head, is_likelihood in (("mine", True), ("tenth", False)):
        for task, model in (("language", {"head": head}), ("translate", {"arch": "transformer", "head": head})):
            run = train_small(task, model, f"{task}-{head}")
            assert "loss" in run.scores["valid"]
            assert ("perplexity" in run.scores["valid"]) == is_likelihood
            assert ("bits_per_character" in run.scores["valid"]) == (is_likelihood and task == "language")
            assert run.predict(["a"])


def test_a_layer_with_a_maximum_length_gets_no_longer_sequences() -> None:
    class Short(Pointwise):
        traits = Traits(causal=True, max_length=4)

        def __init__(self, size: int) -> None:
            super().__init__()
            self.input_size = self.output_size = size

        def transform(self, x: Tensor) -> Tensor:
            return x.tanh()

    register.layer("mine", lambda size, *, causal: Short(size))
    assert experiment({"task": "classify", "model": {"arch": "mine"}}).data.model_dump()["max_length"] == 4
    with pytest.raises(ConfigError, match=r"data\.max_length is 5, more than the 4 positions that the model's layers"):
        experiment({"task": "classify", "data": {"max_length": 5}, "model": {"arch": "mine"}})
    with pytest.raises(ConfigError, match=r"train\.bptt is 64, more than the 4 positions"):
        experiment({"task": "language", "model": {"arch": "mine"}})


def test_a_registration_needs_a_name() -> None:
    with pytest.raises(PartError, match=rf"{HERE}:{line_of('class Mine')}: a cell without a name\. Name it: @seq"):
        register.cell(cast("Any", Mine))
    with pytest.raises(PartError, match="the cell 'mine' is an object of type NoneType"):
        register.cell("mine", cast("Any", None))


def test_a_definition_may_be_registered_again() -> None:
    first = register.cell("mine", Mine)
    assert register.cell("mine", Mine) is first
    with pytest.raises(PartError, match="the cell 'mine' is taken"):
        register.cell("mine", Leaky)


LATE = """
import seqloom
from seqloom.nn import GRU

@seqloom.register.cell("late")
class Late(GRU):
    calls = 0

    def step(self, projected, state):
        Late.calls += 1
        if Late.calls > 2000 and len(projected) > 4:       # more rows than in the check before training
            raise ValueError("too late")
        return super().step(projected, state)
"""


@pytest.mark.usefixtures("forget_parts")
def test_an_exception_of_a_part_in_training_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    Path("late.py").write_text(LATE, encoding="utf-8")
    tiny = ["--size", "tiny", "--data.examples", "60", "--train.steps", "300", "--device", "cpu"]
    words = ["train", "classify", "--model", "late", *tiny, "--code", "late.py"]
    assert main([*words, "--out", "run"]) == 2
    assert capsys.readouterr().err == "seqloom: late.py:12: ValueError: too late. Correct it.\n"
    assert Path("run/report.html").exists()
    assert main([*words, "--dry-run"]) == 2
    assert capsys.readouterr().err == "seqloom: late.py:12: ValueError: too late. Correct it.\n"
    sys.modules["late"].Late.calls = 0
    assert main(["resume", "run", "--code", "late.py"]) == 2
    with pytest.raises(PartError, match="ValueError: too late") as caught:
        seqloom.load("run").predict(["one"] * 8)
    assert isinstance(caught.value.__cause__, ValueError)


GAINS = {"train": 1.0}


class Keyed(Mine):
    """It reads a mapping outside the cell."""

    def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        return super().step(projected * GAINS["other"], state)


class Constant(Mine):
    """It has a constant that is no buffer."""

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True) -> None:
        super().__init__(input_size, hidden_size, bias=bias)
        self.mix = torch.eye(hidden_size)

    def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
        return super().step(projected, State(hidden=state["hidden"] @ self.mix))


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (Keyed, r"raised KeyError: 'other'\. Correct it"),
        (Constant, r"computes in float32 alone: .*\. Keep constants as buffers \(self\.register_buffer\)"),
    ],
)
def test_a_cell_that_fails_before_training_is_refused(cell: type[Cell], sentence: str) -> None:
    register.cell("mine", cell)
    with pytest.raises(PartError, match=rf"{HERE}:[0-9]+: the cell 'mine' {sentence}"):
        train_small("classify", "mine", "run")


@pytest.mark.parametrize("parts", ["candidate", ("input gate",), (None,), ("a", "a"), ()])
def test_the_parts_of_a_cell_are_names(parts: object) -> None:
    with pytest.raises(ArgumentError, match=r"Bad: parts is .*; expected a tuple of different names, such as parts = "):
        type("Bad", (Mine,), {"parts": parts})


def test_out_of_memory_is_not_an_error_of_the_part(capsys: pytest.CaptureFixture[str]) -> None:
    class Hungry(Mine):
        def step(self, projected: Tensor, state: State) -> tuple[Tensor, State]:
            if len(projected) > 4:
                raise MemoryError
            return super().step(projected, state)

    register.cell("mine", Hungry)
    words = ["--size", "tiny", "--data.examples", "60", "--train.steps", "9", "--device", "cpu"]
    assert main(["train", "classify", "--model", "mine", *words]) == 1
    advice = "Lower --train.batch-tokens (or --train.batch-size), or pass a smaller --size"
    assert capsys.readouterr().err == f"seqloom: out of memory. {advice}.\n"


def test_a_cell_that_can_not_be_built_with_a_size_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    class Small(Mine):
        def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True) -> None:
            if hidden_size > 100:
                raise ValueError("at most 100 units")
            super().__init__(input_size, hidden_size, bias=bias)

    register.cell("mine", Small)
    words = ["--data.examples", "60", "--train.steps", "9", "--device", "cpu"]
    assert main(["train", "classify", "--model", "mine", *words, "--model.hidden", "200"]) == 2
    assert f"{HERE}:" in (errors := capsys.readouterr().err)
    assert "ValueError: at most 100 units. Correct it.\n" in errors


@pytest.mark.usefixtures("forget_parts")
def test_the_resume_command_of_a_run_names_its_code_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("late.py").write_text(LATE, encoding="utf-8")
    tiny = ["--size", "tiny", "--data.examples", "60", "--train.steps", "300", "--device", "cpu"]
    main(["train", "classify", "--model", "late", *tiny, "--code", "late.py", "--out", "runs/one"])
    capsys.readouterr()
    for code in ([], ["--code", "late.py"]):
        assert main(["runs", *code]) == 0
        assert capsys.readouterr().out.endswith("seqloom resume runs/one --code late.py\n")


def test_registered_parts_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "parts"]) == 0
    assert capsys.readouterr().out.startswith("none     --code FILE.py registers parts of your own")
    register.cell("mine", Mine)
    register.norm("mine", Scaled)
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert "mine  cell  " in listed
    assert f"{HERE}:{line_of('class Scaled')}" in listed


def test_for_an_unknown_name_the_error_explains_code(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--model"], ["--model", "conv", "--model.activation"], ["--train.schedule"]):
        assert main(["train", "classify", *words, "frobnicator"]) == 2
        assert (
            "A user-defined part must be registered first: pass its file with --code FILE.py" in capsys.readouterr().err
        )
    assert main(["train", "classify", "--model", "lsmt"]) == 2
    assert "--code" not in capsys.readouterr().err


def test_a_key_of_a_family_may_have_an_older_name_of_another_key(tmp_path: Path) -> None:
    """`model.context` is the older name of a key of Transformers; here it is a key of the family."""
    config = tmp_path / "experiment.toml"
    config.write_text('task = "classify"\n[model]\narch = "mine"\ncontext = 5\n', encoding="utf-8")

    class WithContext(Tower):
        context: int = key(3, "The family's own key.")

    register.family("mine", WithContext)
    assert read_config(config)["model"] == {"arch": "mine", "context": 5}
    assert experiment(read_config(config)).model.context == 5  # type: ignore[attr-defined]
