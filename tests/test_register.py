"""Parts of one's own: each kind is registered, trained under its config key, and refused where it does not fit."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import seqloom
from seqloom import register
from seqloom.cli.main import main
from seqloom.models.family import Family
from seqloom.models.registry import ARCHITECTURES
from seqloom.nn import GRU, Bidirectional, Cell, Layer, LayerNorm, Recurrent, Score
from seqloom.nn.activations import ACTIVATIONS
from seqloom.nn.cells import CELLS
from seqloom.nn.heads import ClassHead, Loss, PerPosition
from seqloom.nn.heads.head import pad_beyond, real_steps
from seqloom.nn.heads.registry import HEADS
from seqloom.nn.heads.targets import class_target
from seqloom.nn.layer import Pointwise
from seqloom.nn.linear import Linear
from seqloom.nn.normalisation import NORMS
from seqloom.nn.scores import SCORES, SameSize
from seqloom.nn.state import State
from seqloom.runs.run import Run
from seqloom.spec import names
from seqloom.spec.config.section import Values
from seqloom.spec.errors import ConfigError, PartError, RunError
from seqloom.tasks.parts import used_parts
from seqloom.tasks.registry import experiment

TINY = {"steps": 2, "validate_every": 2, "checkpoint_every": 1, "device": "cpu"}
HERE = Path(__file__).name


def train_little(task: str, model: object, out: str) -> Run:
    """Two steps of a small model on few examples."""
    data = {"examples": 60} | ({"corpus": "brackets"} if task == "language" else {})
    decode = {"length": 4} if task in ("language", "translate") else None
    return seqloom.train(task, model=model, size="tiny", train=TINY, data=data, decode=decode, out=out)


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """What a test registers is forgotten after it."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        for registry in (CELLS, ARCHITECTURES, SCORES, ACTIVATIONS, NORMS, HEADS):
            stack.enter_context(registry.temporarily())
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

    def each(self, x: Tensor) -> Tensor:
        return self.weight * x


class Tempered(ClassHead):
    """Softmax at a temperature of 2."""

    def __init__(self, size: int, classes: int, *, smoothing: float = 0.0) -> None:
        super().__init__(Linear(size, classes))

    def check_target(self, where: str, target: Tensor, scores: Tensor, lengths: Tensor | None) -> Tensor:
        return class_target(where, target, scores, lengths)

    def measure(self, scores: Tensor, target: Tensor, lengths: Tensor | None) -> Loss:
        flat = pad_beyond(target, lengths).flatten()
        total = F.cross_entropy(scores.flatten(0, 1) / 2, flat, ignore_index=-1, reduction="sum")
        return Loss(total, real_steps(scores, lengths))

    def decide(self, scores: Tensor, lengths: Tensor | None) -> Tensor:
        return pad_beyond(scores.argmax(dim=2), lengths)

    def weigh(self, scores: Tensor, lengths: Tensor | None) -> Tensor:
        return (scores / 2).softmax(dim=2)


def gru(input_size: int, *, causal: bool) -> Layer:
    """GRUs of 24, in both directions where that may be."""
    if causal:
        return Recurrent(GRU(input_size, 24))
    return Bidirectional(Recurrent(GRU(input_size, 12)), Recurrent(GRU(input_size, 12)))


class Tower(Family):
    """GRUs one over the other."""

    sizes: ClassVar[Mapping[str, Values]] = {
        size: {"width": width, "depth": 1} for size, width in (("tiny", 8), ("small", 16), ("base", 32))
    }

    def build(self, input_size: int, *, causal: bool) -> Layer:
        return Recurrent(GRU(input_size, self.width))


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
def test_a_part_trains_under_its_name_and_its_run_opens(kind: str) -> None:
    add, part, task, model = PARTS[kind]
    assert add("mine", part) is part
    run = train_little(task, model, "run")
    config = seqloom.load("run").experiment
    [(used, name, origin)] = used_parts(config)
    assert (used, name, origin.file) == (kind.partition(" ")[0], "mine", HERE)
    assert run.predict(["one"])
    assert train_little(task, model, "again").manifest.model == run.manifest.model


def test_as_a_decorator() -> None:
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


def test_what_a_config_must_know_of_a_part_is_recorded() -> None:
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
    with pytest.raises(ConfigError, match=r"model\.norm over-time takes its means over later tokens too"):
        experiment({"task": "language", "model": {"arch": "transformer", "norm": "over-time"}})
    with pytest.raises(ConfigError, match="rotary goes with the scores dot and scaled-dot and halved, not with mean"):
        experiment({"task": "classify", "model": {"arch": "transformer", "score": "mean", "positions": "rotary"}})


def test_a_head_has_an_output_layer_of_its_own() -> None:
    register.head("mine", Tempered)
    assert experiment({"task": "translate", "model": {"arch": "transformer", "head": "mine"}}).model.tied is False
    for task in ("language", "translate"):
        with pytest.raises(
            ConfigError, match=r"model\.head mine has an output layer of its own, and model\.tied is for"
        ):
            experiment({"task": task, "model": {"arch": "transformer", "head": "mine", "tied": True}})
    with pytest.raises(ConfigError, match=r"model\.head has no use together with model\.crf"):
        experiment({"task": "tag", "model": {"head": "mine", "crf": True}})
    Path("texts.csv").write_text("text,label\n" + "a,x|y\nb,x\n" * 30, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"model\.head has no use together with data\.label_separator"):
        seqloom.train("classify", "texts.csv", data={"label_separator": "|"}, model={"head": "mine"})


# What does not fit ------------------------------------------------------------------------------------------------


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
    "no sizes": (register.family, NoSizes, "the family 'mine' has no depth and width for the size tiny"),
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
def test_a_part_that_does_not_fit_is_refused(case: str) -> None:
    add, part, sentence = MISFITS[case]
    with pytest.raises(PartError, match=sentence):
        add("mine", part)
    for registry in (CELLS, ARCHITECTURES, SCORES, ACTIVATIONS, NORMS, HEADS):
        assert "mine" not in registry
        assert "mine" not in registry.names


def test_the_location_of_a_misfit_is_that_of_the_part() -> None:
    with pytest.raises(PartError) as caught:
        register.cell("mine", NoStep)
    assert caught.value.problem.location.endswith(f"{HERE}:{line_of('class NoStep')}")


def line_of(start: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(start))


@pytest.mark.parametrize(("name", "what"), [("lstm", "cell 'lstm' is taken"), ("mixer", "cell 'mixer' is taken")])
def test_a_taken_name_leaves_nothing_registered(name: str, what: str) -> None:
    before = dict(CELLS), dict(ARCHITECTURES)
    with pytest.raises(PartError, match=what):
        register.cell(name, Mine)
    assert (dict(CELLS), dict(ARCHITECTURES)) == before
    for add, part in ((register.layer, gru), (register.family, Tower), (register.head, PerPosition)):
        taken = "softmax" if part is PerPosition else name
        with pytest.raises(PartError, match=r"is taken\. Give it another name"):
            add(taken, part)
    with pytest.raises(PartError, match="a word that a config gives another meaning"):
        register.layer("custom", gru)


# model=build ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classify", "tag", "language", "translate"])
def test_a_function_that_builds_trains_resumes_and_opens(task: str) -> None:
    run = train_little(task, gru, "run")
    assert run.experiment.model.arch == "custom"
    assert run.predict(["one"])
    assert seqloom.load("run", model=gru).predict(["one"]) == run.predict(["one"])
    assert seqloom.resume("run", model=gru).manifest.model == run.manifest.model
    [(kind, name, origin)] = used_parts(run.experiment)
    assert (kind, name, origin.file) == ("model", "gru", HERE)
    with pytest.raises(RunError, match=r"run: its layers were built by the function .* of test_register\.py\. Pass"):
        seqloom.load("run").predict(["one"])


def test_keys_go_with_it() -> None:
    values = {"arch": gru, "width": 16, "depth": 2, "attention": "dot", "encoder": "lstm"}
    model = experiment({"task": "translate", "model": values}).model
    assert (model.arch, model.width, model.depth, model.encoder, model.output_width) == ("custom", 16, 2, "lstm", 24)


def test_what_is_no_such_function_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        PartError, match=r'Mine is a cell, .* seqloom\.register\.cell\("mine", Mine\), and give model="'
    ):
        seqloom.train("tag", model=Mine)
    with pytest.raises(PartError, match="an object of type GRU is no function that builds layers"):
        seqloom.train("tag", model=GRU(3, 4))
    with pytest.raises(
        PartError, match=f"{HERE}:.* returned a layer of input_size 8. Return one that reads vectors of"
    ):
        seqloom.train("tag", model=lambda size, *, causal: Recurrent(GRU(8, 8)))
    with pytest.raises(ConfigError, match="reads a whole sequence at once, so it can't write one token after another"):
        seqloom.train("language", model=lambda size, *, causal: gru(size, causal=False))
    assert main(["train", "tag", "--model", "custom"]) == 2
    assert "custom is for a model whose layers a function builds" in capsys.readouterr().err
    seqloom.train("tag", size="tiny", train=TINY, data={"examples": 60}, out="run")
    with pytest.raises(
        RunError, match="run: model=gru is for a run whose layers a function built, and this one is 'ls"
    ):
        seqloom.load("run", model=gru).predict(["one"])
